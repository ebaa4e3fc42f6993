"""JAX arrays: scalars that are still being computed, and histograms counted by jax.numpy."""

from __future__ import annotations

import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tbq
from tbq.errors import UsageError
from tbq.write import histogram, jax_values, tally

EDGES = histogram.default_edges()


def scalars(events):
    return [(value.tag, event.step, value.simple_value) for event in events for value in event.summary.value]


def test_values_that_are_still_computed(tmp_path, read_events):
    @jax.jit
    def slow(x):
        return jax.lax.fori_loop(0, 300, lambda i, y: jnp.tanh(y @ y) + 0.1, x).sum()

    with tbq.SummaryWriter(tmp_path) as writer:
        value = slow(jnp.ones((200, 200)))
        waits = not value.is_ready()
        writer.add_scalar("a", value, 1)
        assert bool(writer._waiting) == waits
        writer.add_scalar("b", jnp.float32(2.5), 1)
        writer.log({"c": value, "d": jnp.int32(3), "e": jnp.bfloat16(0.5)}, 2)
        writer.add_scalars("m", {"x": value}, 3, run_name=".")
    rows = {row[0]: row[2] for row in scalars(read_events(tmp_path))}
    assert rows["a"] == rows["c"] == rows["m/x"] == float(value)
    assert (rows["b"], rows["d"], rows["e"]) == (2.5, 3, 0.5)


def test_unready_values_keep_the_order(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", 0.0, 0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(jnp.zeros(1)), "is_ready", lambda self: False)
            for step in range(1, 20):
                writer.add_scalar("a", jnp.asarray([float(step)]) if step % 2 else float(step), step)
            assert len(writer._waiting) == 19
        writer.add_scalar("a", 20.0, 20)
    assert scalars(read_events(tmp_path)) == [("a", step, step) for step in range(21)]


def test_wrong_arrays(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path) as writer:
        with pytest.raises(UsageError, match="shape"):
            writer.add_scalar("a", jnp.ones(2), 1)
        with pytest.raises(UsageError, match="JAX is tracing"):
            jax.jit(lambda x: writer.add_scalar("a", x, 1))(1.0)
        deleted = jnp.ones(())
        deleted.delete()
        with pytest.raises(UsageError, match="deleted"):
            writer.add_scalar("a", deleted, 1)
        writer.add_scalar("good", jnp.ones(()), 1)
    assert scalars(read_events(tmp_path)) == [("good", 1, 1)]


def test_values_that_are_donated_later(tmp_path, read_events):
    """Training donates its state to the next step, which deletes the logged arrays."""

    @functools.partial(jax.jit, donate_argnums=0)
    def train(state):
        product = state["w"] @ state["w"]
        return {"w": product * 1e-3 + 1, "count": state["count"] + 1, "loss": product.sum()}

    state = {"w": jnp.ones((600, 600)), "count": jnp.array(0), "loss": jnp.array(0.0)}
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(6):
            state = train(state)
            writer.add_scalar("count", state["count"], step)
            writer.log({"again": state["count"], "loss": state["loss"]}, step)
            writer.add_histogram("w", state["w"], step)
    rows = scalars(read_events(tmp_path))
    for tag in ("count", "again"):
        assert [row for row in rows if row[0] == tag] == [(tag, step, step + 1) for step in range(6)]
    assert len([row for row in rows if row[0] == "w"]) == 6


@pytest.mark.parametrize("piece", [7, 1 << 23])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "bool"])
def test_histograms_are_those_of_the_host(monkeypatch, dtype, piece):
    monkeypatch.setattr(jax_values, "PIECE", piece)
    near = EDGES[::40] if piece == 7 else EDGES
    up = np.nextafter(near.astype(np.float32), np.float32(np.inf))
    near = np.concatenate([near, up, [np.nan, np.inf, -np.inf, -0.0]])
    if not dtype.startswith(("float", "bfloat")):
        near = np.clip(np.nan_to_num(near), -100, 100)
    array = jnp.asarray(near.astype(np.float32)).astype(dtype).reshape(2, -1)
    got = tally.encode(tally.tally(np.asarray(jax_values.vector(array))), array.size, None, "values")
    want = histogram.encode(np.asarray(array.astype("float32")), "tensorflow", None)
    from tensorboard.compat.proto.summary_pb2 import HistogramProto

    got, want = HistogramProto.FromString(got), HistogramProto.FromString(want)
    assert list(got.bucket) == list(want.bucket) and list(got.bucket_limit) == list(want.bucket_limit)
    np.testing.assert_equal([got.min, got.max, got.num], [want.min, want.max, want.num])
    np.testing.assert_allclose([got.sum, got.sum_squares], [want.sum, want.sum_squares], rtol=1e-11)


def test_a_histogram_that_is_still_computed(tmp_path, read_events):
    values = jnp.arange(100.0)
    with tbq.SummaryWriter(tmp_path) as writer:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jax_values, "is_countable", jax_values.is_array)
            writer.add_histogram("h", values, 3)
            assert len(writer._waiting) == 1
            with pytest.raises(UsageError, match="tag 'h', step 4"):
                writer.add_histogram("h", jnp.ones(0), 4)
        writer.add_histogram("h", values, 5)
    first, second = (event.summary.value[0].histo for event in read_events(tmp_path)[1:])
    assert first == second
    assert jnp.asarray(1.0).dtype == jnp.float32  # float64 stays off in the program


def test_a_program_without_jax_does_not_import_it(tmp_path):
    program = (
        "import sys, tbq; w = tbq.SummaryWriter(sys.argv[1]); w.add_scalar('a', 1.0, 1); w.close(); "
        "assert not {'jax', 'torch', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=120)
