"""Text logs of other trackers: the same bytes give the same events and problems, in however many pieces they come."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from tbq import _core
from tbq.errors import SourceError
from tbq.source.formats.interface import Format, Log, ReplacedError
from tbq.source.formats.recognise import format_of
from tbq.source.formats.sink import Sink
from tbq.source.formats.steps import number, step
from tbq.source.formats.text_rows import parsed

CELLS = (
    "1", "0.5", "", "nan", "-inf", "1e999", "0x10", "abc", '"1,5"', '"a\nb"', '"a""b"', '"', "true", " 2 ", "+3",
    "1_000", "9007199254740993", "-9223372036854775809", "1" * 400, "10:00:00", "2024-01-01", "None", "é", "-0.0",
    ".5", "5.",
)  # fmt: skip
VALUES = (
    "1", "0.5", "null", "NaN", '"NaN"', '"abc"', "true", "-1e999", "9223372036854775808", "1" * 400, "[1]",
    '{"a": {"b": 1}}',
)  # fmt: skip
KEYS = ("step", "epoch", "loss", "acc", "timestamp", "wall_time", "é")
COLUMNS = ("epoch", "step", "loss", "timestamp")
steps = st.integers(0, 9).map(str)


@st.composite
def csv_logs(draw: st.DrawFn) -> str:
    columns = (steps | st.sampled_from(CELLS), steps, st.sampled_from(CELLS), st.sampled_from(CELLS))
    rows = draw(st.lists(st.tuples(*columns), min_size=1, max_size=6))
    lines = [",".join(row[: draw(st.sampled_from([4, 4, 4, 3]))]) for row in rows]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join([",".join(COLUMNS), *lines]) + draw(st.sampled_from(["", end]))


@st.composite
def json_logs(draw: st.DrawFn) -> str:
    lines = ['{"step": 0, "loss": 1}']
    for _ in range(draw(st.integers(1, 6))):
        row = draw(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=4))
        fields = [f"{json.dumps(key)}: {value}" for key, value in row.items()]
        lines.append(draw(st.sampled_from(["{%s}"] * 9 + ["{%s"])) % ", ".join(fields))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(lines) + draw(st.sampled_from(["", end]))


class Growing:
    """Reads a log as often as asked, and anew if it has to."""

    def __init__(self, log: Log, out: Path) -> None:
        self._log, self._out = log, out
        self._format: Format = format_of(log)
        self._begin()

    def _begin(self) -> None:
        self._out.unlink(missing_ok=True)
        self._reader = self._format.translator(self._log)
        self._sink = Sink(self._out, self._log.writer, 1 << 30)

    def read(self) -> tuple[bytes, list[str]] | str:
        try:
            try:
                self._reader.read(self._sink)
            except ReplacedError:
                self._begin()
                self._reader.read(self._sink)
        except SourceError as failure:
            self._begin()
            return str(failure)
        self._sink.flush()
        return self._out.read_bytes(), list(map(str, self._reader.problems))


@given(
    st.lists(
        st.sampled_from(CELLS) | st.text("0123456789+-.eE naif", max_size=24) | st.floats().map(repr),
        min_size=1,
    )
)
@examples(100)
def test_the_core_reads_cells_by_the_rule_of_rows(cells: list[str]) -> None:
    cells = [cell for cell in cells if '"' not in cell]
    reader = _core.CsvReader(2, [0])
    data = "".join(f"{cell},x\n" for cell in cells).encode()
    assert reader.read(data) == len(data) and not reader.bad_lines
    values, present, kinds, whole, _, _ = reader.take(0)
    for cell, value, is_number, kind, exact in zip(cells, values, present, kinds, whole, strict=True):
        known = parsed(cell)
        want = number(known)
        assert is_number == (want is not None)
        assert repr(float(value)) == repr(0.0 if want is None else want)
        assert kind == (
            0 if known is None else 3 if isinstance(known, str) else 2 if step(known) is None else 1
        )
        assert kind != 1 or exact == step(known)


@pytest.mark.parametrize("writer", ["lightning", "csv", "jsonl"])
@given(st.data(), st.lists(st.integers(1, 40), min_size=1, max_size=5))
@examples(60)
def test_pieces_do_not_show(writer: str, data: st.DataObject, sizes: Sequence[int]) -> None:
    text = data.draw(json_logs() if writer == "jsonl" else csv_logs()).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.jsonl" if writer == "jsonl" else "metrics.csv")
        log = Log(writer, str(path))
        path.write_bytes(b"")
        grown = Growing(log, Path(folder, "grown"))
        at = piece = 0
        while at < len(text):
            size = sizes[piece % len(sizes)]
            with path.open("ab") as file:
                file.write(text[at : at + size])
            at, piece = at + size, piece + 1
            assert grown.read() == Growing(log, Path(folder, f"whole{piece}")).read()
