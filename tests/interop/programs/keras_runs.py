"""Short Keras programs with our callback and Keras' own side by side: `python keras_runs.py OUT`."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

import tbq
from tbq.errors import UsageError
from tbq.integrations.keras import TbqCallback

OUT = Path(sys.argv[1])
warnings.filterwarnings("error", category=tbq.errors.TbqWarning)
X, Y = np.random.rand(32, 3), np.random.rand(32, 1)


def model(with_input=True):
    keras.utils.set_random_seed(1)
    first = [keras.Input((3,))] if with_input else []
    made = keras.Sequential([*first, keras.layers.Dense(2, name="first"), keras.layers.Dense(1)])
    made.compile(keras.optimizers.SGD(0.01), "mse", metrics=["mae"])
    return made


def both(name, *arguments, **options):
    theirs = keras.callbacks.TensorBoard(str(OUT / name / "theirs"), *arguments, **options)
    return [TbqCallback(str(OUT / name / "ours"), *arguments, **options), theirs]


def positional_histograms(name):
    model().fit(X, Y, 8, 3, 0, both(name, 1), validation_split=0.25)


def all_positional(name):
    model().fit(X, Y, 8, 2, 0, both(name, 1, False, False, False, "batch", 0, 0, None))


def no_input(name):
    model(with_input=False).fit(X, Y, 8, 2, 0, both(name))


def second_fit(name):
    made, callbacks = model(), both(name)
    made.fit(X, Y, 8, 2, 0, callbacks)
    made.fit(X, Y, 8, 4, 0, callbacks, initial_epoch=2)


def evaluate_only(name):
    made = model()
    callbacks = both(name)
    made.evaluate(X, Y, verbose=0, callbacks=callbacks)


def every_second_batch(name):
    model().fit(X, Y, 8, 2, 0, both(name, update_freq=2))


def fails(name):
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                raise KeyError

    callbacks = both(name)
    with contextlib.suppress(KeyError):
        model().fit(X, Y, 8, 3, 0, [*callbacks, Stop()])
    for writer in callbacks[1]._writers.values():
        writer.flush()


PROGRAMS = [
    positional_histograms,
    all_positional,
    no_input,
    second_fit,
    evaluate_only,
    every_second_batch,
    fails,
]

if __name__ == "__main__":
    for program in PROGRAMS:
        program(program.__name__)
    for name, value in {"write_images": True, "profile_batch": 2, "embeddings_freq": 1, "flush": 3}.items():
        try:
            TbqCallback("logs", **{name: value})
        except UsageError as error:
            assert name in str(error)
        else:
            raise AssertionError(name)
