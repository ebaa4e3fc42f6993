"""Damaged places of files, by their cause: what was lost, between which steps, and what is still there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq._core import Fault, FileReport
    from tbq.doctor.finding import Finding, Rule
    from tbq.doctor.look import Look

# Held against TensorBoard in tests/differential/test_doctor_tensorboard.py.
_EFFECTS = {"bad_payload": "TensorBoard shows what the damaged bytes say, or stops there (--load_fast=false)"}
_LARGEST = 64 << 20  # a longer stretch is not one record whose header was hit


def damage(look: Look, rule: Rule, cause: str, words: str) -> Iterator[Finding]:
    """One finding a file for all of its damage of this cause."""
    for index in look.rows((look.files["faults"] > 0) & (look.files["state"] == 0)):
        if index in look.overwritten and cause != "bad_event":
            continue
        report = look.reports[index]
        mine = [fault for fault in report.faults if _cause(report, fault) == cause]
        if not mine:
            continue
        lost = sum(fault.length for fault in mine)
        places = f" at {len(mine):,} places" if len(mine) > 1 else ""
        more = f" ({report.more_faults:,} more damaged places are not listed)" if report.more_faults else ""
        yield rule.finding(
            f"{words}{places}: {lost:,} bytes lost {_steps(mine)}; {report.records:,} records are sound{more}",
            run=look.run_of_file(index),
            path=look.paths[index],
            offset=mine[0].offset,
            hint=f"{_EFFECTS.get(cause, 'TensorBoard stops there')}; to save the rest: "
            "tbq rewrite LOGDIR -o NEW --repair",
        )


def _cause(report: FileReport, fault: Fault) -> str:
    """The cause, told apart further than the reader needs to: one record that was hit, or bytes that are none."""
    if fault.code == "torn":
        return "garbage"
    if fault.code not in ("bad_length", "bad_payload") or report.compressed:
        return fault.code
    data = _bytes(report, fault)
    if data is None:
        return fault.code
    if fault.code == "bad_payload":  # all of the record that its header announces, or a part of it
        return "bad_payload" if int.from_bytes(data[:8], "little") + 16 == fault.length else "garbage"
    return "bad_length" if len(data) >= 16 and _masked(data[12:-4]) == data[-4:] else "garbage"


def _bytes(report: FileReport, fault: Fault) -> bytes | None:
    try:
        with open(report.path, "rb") as file:
            file.seek(fault.offset)
            return file.read(fault.length if fault.code == "bad_length" and fault.length <= _LARGEST else 8)
    except OSError:
        return None


def _masked(data: bytes) -> bytes:
    from tbq import _core

    crc = _core.crc32c(data)
    return ((((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def _steps(faults: list[Fault]) -> str:
    first, last = faults[0].step_before, faults[-1].step_after
    if first is not None and last is not None:
        return f"between step {first:,} and step {last:,}"
    if first is not None:
        return f"behind step {first:,}"
    return f"before step {last:,}" if last is not None else "with no step on either side"
