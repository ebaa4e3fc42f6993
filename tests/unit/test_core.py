"""What the core passes to Python stays valid: text that outlives its writer, results that threads share, memory that is
given back, and numbers in any locale."""

import gc
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import eventfile as ef
import pyarrow as pa
import pytest

import tbq
from tbq import _core
from tbq.export.options import ExportOptions
from tbq.export.rows import blocks, csv_rows

ROOT = Path(__file__).parents[2]


def decoded(path: Path, kinds: list[str] | None = None) -> _core.Result:
    return _core.decode(
        [os.fsencode(path)], [0], kinds or ["scalars"], None, -(2**63), 2**63 - 1, "keep", 2, 1 << 18, 1 << 24,
        False, None, None,
    )  # fmt: skip


def log_of_scalars(folder: Path, rows: int) -> Path:
    path = folder / "events.out.tfevents.1.host"
    path.write_bytes(ef.event_file([ef.version(), *(ef.scalar("loss", i, i / 8) for i in range(rows))]))
    return path


def test_text_stays_as_it_is_while_more_is_written() -> None:
    table = pa.table({"step": range(200_000)})
    want = "".join(f"{i}\n" for i in range(200_000)).encode()
    held = list(blocks(table, csv_rows(table.column_names, ",", ExportOptions()), ExportOptions()))
    assert len(held) > 2 and b"".join(held) == want
    first = held[0]
    assert first.readonly and first.format == "B" and first.contiguous
    again = b"".join(
        bytes(block) for block in blocks(table, csv_rows(["step"], ",", ExportOptions()), ExportOptions())
    )
    assert again == want  # each copied before the next is written


def test_text_outlives_its_writer() -> None:
    table = pa.table({"word": ["a" * 50, "b" * 50] * 2000})
    text = list(blocks(table, csv_rows(["word"], ",", ExportOptions()), ExportOptions()))
    gc.collect()
    noise = [bytes(1 << 18) for _ in range(64)]  # would reuse freed memory
    assert b"".join(text) == ("a" * 50 + "\n" + "b" * 50 + "\n").encode() * 2000
    assert len(noise) == 64


def test_scalars_are_taken_once(tmp_path: Path) -> None:
    result = decoded(log_of_scalars(tmp_path, 100))
    assert pa.table(result.scalars(["run"])).num_rows == 100
    with pytest.raises(ValueError, match="already moved out"):
        result.scalars(["run"])


def test_scalars_are_taken_by_one_thread(tmp_path: Path) -> None:
    path = log_of_scalars(tmp_path, 50_000)
    for _ in range(20):
        result = decoded(path)
        barrier = threading.Barrier(4)
        rows: list[int] = []
        refused: list[str] = []

        def take(result: _core.Result = result, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            try:
                rows.append(pa.table(result.scalars(["run"])).num_rows)  # noqa: B023
            except ValueError as error:
                refused.append(str(error))  # noqa: B023

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert rows == [50_000] and len(refused) == 3


def test_a_stream_is_taken_once(tmp_path: Path) -> None:
    stream = decoded(log_of_scalars(tmp_path, 3)).series(["run"])
    assert pa.table(stream).num_rows == 1
    with pytest.raises(ValueError, match="already consumed"):
        pa.table(stream)


@pytest.mark.long
def test_memory_is_given_back_on_request(tmp_path: Path) -> None:
    path = log_of_scalars(tmp_path, 200_000)
    tbq.release_memory()
    table = pa.table(decoded(path).scalars(["run"]))
    kept = tbq.release_memory()
    assert table["step"].to_numpy()[-1] == 199_999  # what is in use is not touched
    del table
    gc.collect()
    assert tbq.release_memory() >= 200_000 * 24 - kept
    assert tbq.release_memory() == 0


def hparams_of_lists() -> bytes:
    value = ef.bytes_field(
        6, [ef.bytes_field(1, ef.double_field(2, each)) for each in (0.5, 1.0, 1e-7, -1234.25)]
    )
    entry = ef.bytes_field(1, [ef.bytes_field(1, "list"), ef.bytes_field(2, value)])
    plugin = ef.bytes_field(1, [ef.bytes_field(1, "hparams"), ef.bytes_field(2, ef.bytes_field(3, entry))])
    return ef.event(ef.summary(ef.value("_hparams_/session_start_info", ef.bytes_field(9, plugin))))


PRINT_LISTS = """
import locale, sys, tbq
if sys.argv[2]:
    locale.setlocale(locale.LC_ALL, sys.argv[2])
    assert locale.localeconv()["decimal_point"] == ","
print(tbq.open(sys.argv[1]).hparams().to_arrow()["string"].to_pylist()[0])
"""


def comma_locale(folder: Path) -> dict[str, str] | None:
    """A locale with a decimal comma, and the environment in which it is known."""
    name = "de_DE.UTF-8"
    if shutil.which("localedef") and os.name == "posix":
        made = subprocess.run(
            ["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / name)], capture_output=True, check=False
        )
        if made.returncode == 0:
            return {"LOCPATH": str(folder), "NAME": name}
    probe = "import locale; locale.setlocale(locale.LC_ALL, 'de_DE.UTF-8')"
    known = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=False).returncode == 0
    return {"NAME": name} if known else None


def printed_lists(folder: Path, environment: dict[str, str], name: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", PRINT_LISTS, str(folder), name],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip


@pytest.mark.long
def test_lists_of_hparams_are_json_in_any_locale(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    (log / "events.out.tfevents.1.host").write_bytes(ef.event_file([ef.version(), hparams_of_lists()]))
    assert printed_lists(log, {}, "") == "[0.5, 1, 1e-07, -1234.25]"
    comma = comma_locale(tmp_path)
    if comma is None:
        pytest.skip("no locale with a decimal comma here; the test below still holds")
    assert printed_lists(log, comma, comma["NAME"]) == "[0.5, 1, 1e-07, -1234.25]"


def test_the_core_asks_no_locale() -> None:
    """The core does not format or parse numbers with the C library.

    Exempt is the only parser of decimals: where std::from_chars reads none, it uses the classic locale.
    """
    asks = re.compile(r"\b(?:v?s?n?printf|strto(?:d|f|ld)|atof|stod|stof|[io]?stringstream|setlocale)\b")
    stages = [folder for folder in (ROOT / "cpp").iterdir() if folder.name not in ("tests", "fuzz")]
    sources = [path for folder in stages for path in folder.rglob("*.?pp") if path.name != "json_number.cpp"]
    found = [path.name for path in sources if asks.search(path.read_text("utf-8"))]
    assert sources and not found
