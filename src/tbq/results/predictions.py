"""Predictions beside their labels as a table: arrays at once, or batches as they come."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from tbq.arguments import bad, choice
from tbq.errors import TbqWarning, UsageError
from tbq.results.arrays import numbers
from tbq.results.rows import Rows

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tbq.table import Table

    Array = NDArray[Any]

Task = Literal["multiclass", "binary", "multilabel", "regression"]
Activation = Literal["softmax", "sigmoid"]


def predictions(
    outputs: Any,
    labels: Any = None,
    classes: Sequence[str] | None = None,
    ids: Any = None,
    *,
    task: Task | None = None,
    activation: Activation | None = None,
    threshold: float = 0.5,
) -> Table | Rows:
    """A row an example: `id, label, predicted, confidence`, then one column a class.

    If the outputs are not probabilities, as logits without `activation`, the column is called `score` instead of
    `confidence`.

    `outputs` is an array or tensor, or an iterator of batches: arrays, or tuples `(outputs, labels)` or
    `(outputs, labels, ids)`. Arrays give a `Table`; an iterator gives `Rows` that are made as they are
    written, in bounded memory. `classes` names the classes; `label` and `predicted` are their names then,
    else numbers.

    The task is taken from the shapes, or from `task`:

    - `multiclass`: outputs (n, classes), labels class numbers, names or one-hot rows. `confidence` is the
      largest output. One integer an example is taken as the predicted class itself.
    - `binary`: outputs (n,) or (n, 1) with labels 0 and 1. Class 1 from `threshold` on.
    - `multilabel`: outputs (n, classes), labels rows of 0 and 1. `label` and `predicted` are lists of all
      classes from `threshold` on, `confidence` the largest output.
    - `regression`: any other numbers: `id, label, predicted, error`, numbered where an example has several.

    Outputs are taken as they are; for logits `activation="softmax"` or `"sigmoid"` makes probabilities. `threshold`
    is compared with the result. Binary logits have no columns for the classes, only the score.

    >>> table = predictions([[0.1, 0.9], [0.8, 0.2]], labels=[1, 0], classes=["cat", "dog"])
    >>> table.to_arrow().to_pylist()[0]
    {'id': 0, 'label': 'dog', 'predicted': 'dog', 'confidence': 0.9, 'cat': 0.1, 'dog': 0.9}
    """
    if task is not None:
        choice("task", task, get_args(Task))
    if activation is not None:
        choice("activation", activation, get_args(Activation))
    if isinstance(classes, str):
        raise bad("classes", classes, "a list of names")
    layout = _Layout(list(classes) if classes is not None else None, task, activation, threshold)
    if not is_stream(outputs):
        from tbq.table import Table

        batch = _Batch("", outputs, labels, ids)
        import pyarrow as pa

        return Table(pa.Table.from_batches([layout.record(batch)]), kind="predictions")
    stream = _stream(outputs, labels, ids)
    used = False

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal used
        if used:
            raise UsageError(
                "the batches were used up: an iterator gives them once",
                hint="call predictions() again, or keep to_table()",
            )
        used = True
        for batch in stream:
            yield layout.record(batch)
        if layout.width is None:
            raise UsageError("no batch came", hint="give at least one batch of outputs")

    return Rows("predictions", batches)


def is_stream(outputs: Any) -> bool:
    """Whether outputs come in batches: iterators and loaders do, arrays and lists of numbers do not."""
    return not (hasattr(outputs, "shape") or isinstance(outputs, Sequence | Mapping)) and hasattr(
        outputs, "__iter__"
    )


@dataclass
class _Batch:
    """One batch as it was given, with how a message calls it."""

    name: str
    given: Any
    given_labels: Any = None
    given_ids: Any = None
    start: int = 0

    outputs: Array = field(init=False)
    labels: Array | None = field(init=False)
    ids: Array = field(init=False)

    def __post_init__(self) -> None:
        self.outputs = self._array("outputs", self.given)
        if self.outputs.ndim == 0:
            raise UsageError(f"{self.name}outputs are one number, want an array of them")
        size = len(self.outputs)
        self.labels = None if self.given_labels is None else self._array("labels", self.given_labels)
        if self.given_ids is None:
            self.ids = np.arange(self.start, self.start + size)
        else:
            self.ids = self._array("ids", self.given_ids)
        for what, found in (("labels", self.labels), ("ids", self.ids)):
            if found is not None and (found.ndim == 0 or len(found) != size):
                other = len(found) if found.ndim else 1
                raise UsageError(f"{self.name}{size} outputs and {other} {what}, want as many of both")

    def _array(self, what: str, given: Any) -> Array:
        try:
            found = numbers(given)
        except ValueError:
            raise UsageError(
                f"{self.name}the rows of {what} differ in length", hint="want as many columns in every row"
            ) from None
        if found.dtype == object:
            texts = found.ndim == 1 and all(isinstance(item, str) for item in found)
            if not texts:
                raise UsageError(
                    f"{self.name}{what} hold Python objects, want numbers", hint="pass plain arrays"
                )
            found = found.astype(str)
        return found


def _stream(outputs: Iterable[Any], labels: Any, ids: Any) -> Iterator[_Batch]:
    beside = [None if each is None else iter(each) for each in (labels, ids)]
    start = 0
    for number in itertools.count():
        name = f"batch {number}: "
        if number == 0:
            source = iter(outputs)
        found = next(source, None)
        if found is None:
            for what, more in zip(("labels", "ids"), beside, strict=True):
                if more is not None and next(more, None) is not None:
                    raise UsageError(f"more batches of {what} than the {number} of outputs")
            return
        parts = found if isinstance(found, tuple) else (found,)
        if not 1 <= len(parts) <= 3:
            raise UsageError(
                f"{name}a tuple of {len(parts)}, want (outputs, labels) or (outputs, labels, ids)"
            )
        given: list[Any] = [*parts, *[None] * (3 - len(parts))]
        for place, (what, more) in enumerate(zip(("labels", "ids"), beside, strict=True), 1):
            if more is not None:
                if given[place] is not None:
                    raise UsageError(f"{name}{what} both in the batch and beside it")
                given[place] = next(more, None)
                if given[place] is None:
                    raise UsageError(f"{number} batches of {what}, fewer than of outputs")
        batch = _Batch(name, given[0], given[1], given[2], start)
        start += len(batch.outputs)
        yield batch


@dataclass
class _Layout:
    """How batches become rows; what the first one decides holds for all."""

    classes: list[str] | None
    task: Task | None
    activation: Activation | None
    threshold: float
    width: int | None = None
    probable: bool | None = None  # whether outputs are probabilities, as the first batch says
    labelled: bool = False
    schema: pa.Schema | None = None

    def record(self, batch: _Batch) -> pa.RecordBatch:
        """The rows of one batch."""
        import pyarrow as pa

        outputs = batch.outputs
        if outputs.dtype.kind not in "biuf":
            raise UsageError(f"{batch.name}outputs are {outputs.dtype}, want numbers")
        if outputs.ndim > 2:
            raise UsageError(
                f"{batch.name}outputs have shape {outputs.shape}, want a number or a row an example",
                hint="reshape to (examples, classes) first",
            )
        if self.width is None:
            self.task = self.task or _task(outputs, batch.labels, self.classes)
        flat = outputs if outputs.ndim == 2 else outputs[:, None]
        self._agree(batch, flat.shape[1])
        if self.activation is not None:
            flat = _activated(flat, self.activation)
        self._judge(batch, flat)
        if self.task == "regression":
            columns = self._regression(batch, flat)
        elif self.task == "binary":
            columns = self._binary(batch, flat)
        elif self.task == "multilabel":
            columns = self._multilabel(batch, flat)
        else:
            columns = self._multiclass(batch, flat, outputs)
        table = {"id": batch.ids, **columns}
        if self.schema is None:
            record = pa.RecordBatch.from_pydict({name: _arrow(values) for name, values in table.items()})
            self.schema = record.schema
            return record
        try:
            arrays = [
                _arrow(values).cast(f.type) for values, f in zip(table.values(), self.schema, strict=True)
            ]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            raise UsageError(f"{batch.name}its types differ from the batches before") from None
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _agree(self, batch: _Batch, width: int) -> None:
        if self.width is None:
            self.width, self.labelled = width, batch.labels is not None
            named = 2 if self.task == "binary" else width
            scores = not (self.task == "multiclass" and batch.outputs.dtype.kind in "iu" and width == 1)
            if self.classes is not None and scores and len(self.classes) != named:
                raise UsageError(f"{len(self.classes)} classes for {named} columns of outputs")
            if self.classes is not None and len(set(self.classes)) != len(self.classes):
                raise UsageError("a class stands twice among the classes")
        elif width != self.width:
            raise UsageError(
                f"{batch.name}{width} columns of outputs, the batches before have {self.width}",
                hint="every batch must have the same classes",
            )
        if self.labelled != (batch.labels is not None):
            raise UsageError(
                f"{batch.name}labels {'missing' if self.labelled else 'given'}, unlike the batches before"
            )

    def _judge(self, batch: _Batch, flat: Array) -> None:
        """Find out whether outputs are probabilities; the first batch decides what the columns are called."""
        codes = self.task == "multiclass" and flat.dtype.kind in "iu" and flat.shape[1] == 1
        if self.task == "regression" or codes:
            return
        known = flat[~np.isnan(flat).any(axis=1)] if flat.dtype.kind == "f" else flat
        found = _probabilities(known) and (
            self.task != "multiclass" or self.activation is not None or _sum_to_one(known)
        )
        if self.probable is None:
            self.probable = found
            if not found and self.task in ("binary", "multilabel"):
                warnings.warn(
                    f"the outputs are not probabilities, but are compared with threshold={self.threshold:g}; "
                    "for logits add activation='sigmoid' (--activation sigmoid)",
                    TbqWarning,
                    stacklevel=4,
                )
        elif self.probable and not found:
            raise UsageError(
                f"{batch.name}the outputs are not probabilities, but those before are",
                hint="for logits add activation='softmax' or 'sigmoid' (--activation)",
            )

    @property
    def _surety(self) -> str:
        """What the column is called that says how sure a prediction is."""
        return "confidence" if self.probable else "score"

    def _names(self, count: int) -> list[str]:
        return self.classes if self.classes is not None else [f"class_{n}" for n in range(count)]

    def _multiclass(self, batch: _Batch, flat: Array, outputs: Array) -> dict[str, Any]:
        if outputs.dtype.kind in "iu" and flat.shape[1] == 1:  # the classes themselves, no scores
            best, scores = flat[:, 0], {}
            confidence: Any = None
            count = len(self.classes) if self.classes is not None else None
        else:
            count = flat.shape[1]
            best = flat.argmax(axis=1) if count else np.zeros(0, np.int64)
            confidence = flat.max(axis=1) if count else np.zeros(0)
            scores = dict(zip(self._names(count), flat.T, strict=True))
        columns: dict[str, Any] = {}
        if batch.labels is not None:
            columns["label"] = self._class(batch, self._label_codes(batch, count), count)
        columns["predicted"] = self._class(batch, best, count, "predicted classes")
        if confidence is not None:
            columns[self._surety] = confidence
        return self._free(columns, scores)

    def _label_codes(self, batch: _Batch, count: int | None) -> Array:
        labels = batch.labels
        assert labels is not None
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim == 2:
            if labels.shape[1] != count or not _one_hot(labels):
                raise UsageError(
                    f"{batch.name}labels have shape {labels.shape} and are not one-hot in {count} classes",
                    hint="for several classes an example use task='multilabel' (--task multilabel)",
                )
            return np.asarray(labels.argmax(axis=1))
        if labels.ndim > 2:
            raise UsageError(f"{batch.name}labels have shape {labels.shape}, want a class an example")
        return labels

    def _class(self, batch: _Batch, codes: Array, count: int | None, what: str = "labels") -> Any:
        """Class numbers as names where there are names; names as they are, when they are known."""
        if codes.dtype.kind in "US":
            if self.classes is not None:
                strange = sorted(set(codes.tolist()) - set(self.classes))
                if strange:
                    raise UsageError(
                        f"{batch.name}label {strange[0]!r} is none of the classes {self.classes[:10]}"
                    )
            return codes.tolist()
        if codes.dtype.kind == "f":
            if not np.array_equal(codes, np.floor(codes)):
                raise UsageError(
                    f"{batch.name}{what} are not whole numbers, want class numbers",
                    hint="or task='regression'",
                )
            codes = codes.astype(np.int64)
        codes = codes.astype(np.int64)
        if count is not None and codes.size and (codes.min() < 0 or codes.max() >= count):
            wrong = int(codes.min()) if codes.min() < 0 else int(codes.max())
            raise UsageError(f"{batch.name}{what} hold {wrong}, want 0 to {count - 1} for {count} classes")
        return [self.classes[code] for code in codes] if self.classes is not None else codes

    def _binary(self, batch: _Batch, flat: Array) -> dict[str, Any]:
        if flat.shape[1] != 1:
            raise UsageError(f"{batch.name}{flat.shape[1]} outputs an example, want one for task='binary'")
        score = flat[:, 0].astype(np.float64) if flat.dtype.kind != "f" else flat[:, 0]
        chosen = score >= self.threshold
        columns: dict[str, Any] = {}
        if batch.labels is not None:
            columns["label"] = self._class(batch, self._label_codes(batch, 2), 2)
        columns["predicted"] = self._class(batch, chosen.astype(np.int64), 2)
        if not self.probable:
            return columns | {self._surety: score}
        columns[self._surety] = np.where(chosen, score, 1 - score)
        return self._free(columns, dict(zip(self._names(2), (1 - score, score), strict=True)))

    def _multilabel(self, batch: _Batch, flat: Array) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        count = flat.shape[1]
        if batch.labels is not None:
            labels = batch.labels
            if labels.shape != flat.shape or not np.isin(labels, (0, 1)).all():
                raise UsageError(
                    f"{batch.name}labels of shape {labels.shape}, want rows of 0 and 1 of shape {flat.shape}"
                )
            columns["label"] = self._sets(labels != 0)
        columns["predicted"] = self._sets(flat >= self.threshold)
        columns[self._surety] = flat.max(axis=1) if count else np.zeros(len(flat))
        return self._free(columns, dict(zip(self._names(count), flat.T, strict=True)))

    def _sets(self, chosen: Array) -> pa.Array:
        """Each row's chosen classes as a list."""
        import pyarrow as pa

        offsets = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]).astype(np.int32)
        codes = pa.array(np.nonzero(chosen)[1])
        names = codes if self.classes is None else pa.array(self.classes, pa.string()).take(codes)
        return pa.ListArray.from_arrays(pa.array(offsets), names)

    def _regression(self, batch: _Batch, flat: Array) -> dict[str, Any]:
        count = flat.shape[1]
        names = (
            [""] if count == 1 and self.classes is None else [f"_{n}" for n in self.classes or range(count)]
        )
        columns: dict[str, Any] = {}
        labels = None
        if batch.labels is not None:
            labels = batch.labels if batch.labels.ndim == 2 else batch.labels[:, None]
            if labels.shape != flat.shape or labels.dtype.kind not in "biuf":
                raise UsageError(
                    f"{batch.name}labels of shape {batch.labels.shape} and {batch.labels.dtype}, "
                    f"want numbers of shape {batch.outputs.shape}"
                )
            columns |= {f"label{name}": column for name, column in zip(names, labels.T, strict=True)}
        columns |= {f"predicted{name}": column for name, column in zip(names, flat.T, strict=True)}
        if labels is not None:
            error = flat.astype(np.float64) - labels.astype(np.float64)
            columns |= {f"error{name}": column for name, column in zip(names, error.T, strict=True)}
        return columns

    def _free(self, columns: dict[str, Any], scores: Mapping[str, Any]) -> dict[str, Any]:
        """Scores beside the other columns; a class called `label` becomes `class.label`."""
        taken = {"id", "label", "predicted", "confidence", "score"}
        return columns | {
            f"class.{name}" if name in taken else name: values for name, values in scores.items()
        }


def _task(outputs: Array, labels: Array | None, classes: Sequence[str] | None) -> Task:
    """What the shapes and types say; `task=` is for where they cannot."""
    single = outputs.ndim == 1 or outputs.shape[1] == 1
    if labels is not None and labels.dtype.kind in "US":
        return "binary" if single and outputs.dtype.kind == "f" else "multiclass"
    if single:
        if outputs.dtype.kind in "iub":
            return "multiclass"
        truths = labels is not None and np.isin(labels, (0, 1)).all() and bool(labels.size)
        if (truths and _probabilities(outputs)) or (classes is not None and len(classes) == 2):
            return "binary"
        return "regression"
    if labels is None or labels.ndim == 1 or labels.shape[1] == 1:
        whole = labels is None or labels.dtype.kind in "biu" or np.array_equal(labels, np.floor(labels))
        return "multiclass" if whole else "regression"
    if labels.size and np.isin(labels, (0, 1)).all():
        return "multiclass" if _one_hot(labels) else "multilabel"
    return "regression"


def _probabilities(outputs: Array) -> bool:
    return not outputs.size or bool((outputs >= 0).all() and (outputs <= 1).all())


def _sum_to_one(outputs: Array) -> bool:
    """Whether the rows are distributions; a float16 of many classes sums to one within a hundredth."""
    return not outputs.size or bool(np.allclose(outputs.sum(axis=1, dtype=np.float64), 1, atol=1e-2))


def _one_hot(labels: Array) -> bool:
    return bool(np.isin(labels, (0, 1)).all() and (labels.sum(axis=1) == 1).all())


def _activated(flat: Array, activation: Activation) -> Array:
    values = flat.astype(np.float64) if flat.dtype.kind != "f" else flat
    with np.errstate(over="ignore", invalid="ignore"):
        if activation == "sigmoid":
            return np.asarray(1 / (1 + np.exp(-values)))
        raised = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _arrow(values: Any) -> pa.Array:
    import pyarrow as pa

    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "US":
            return pa.array(values.tolist(), pa.string())
        if values.dtype == np.float16:
            values = values.astype(np.float32)
        if values.dtype.kind == "u" or values.dtype.kind == "i":
            values = values.astype(np.int64)
        return pa.array(np.ascontiguousarray(values))
    return pa.array(values, pa.string())
