"""The writer's methods for scalars; the common case goes straight to the native buffer."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

from tbq import wire
from tbq.arguments import described
from tbq.errors import UsageError
from tbq.write import device
from tbq.write.arguments import as_tag, bad
from tbq.write.core import Core, _stamps
from tbq.write.pending import CONVERT, ScalarsEvent, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Held while the writer of a line is created, so that two threads do not create two. A fork replaces it.
_creating = threading.Lock()


def _in_child() -> None:
    global _creating
    _creating = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)

# Styles of the native buffer.
SIMPLE, TENSOR_FLOAT, TENSOR_DOUBLE, EXACT = range(4)


class Scalars(Core):
    """`add_scalar`, `add_scalars`, `log`."""

    _exact: bool
    _scalar: Callable[..., int]
    _lines: dict[str, Any]

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: Any = None,
        new_style: bool = False,
        double_precision: bool = False,
        *,
        exact: bool | None = None,
        display_name: str = "",
        summary_description: str = "",
    ) -> None:
        """Add one number under `tag`.

        It is stored as float32, as in torch. `exact=True` stores a float as float64 and an int as int64, which
        TensorBoard shows with `--load_fast=false`. `new_style` and `double_precision` are torch's,
        `display_name` and `summary_description` tensorboardX's.

        >>> writer.add_scalar("loss", 0.25, 1)
        """
        if new_style or exact or self._exact or display_name or summary_description:
            style = SIMPLE
            if exact or (exact is None and self._exact):
                style = EXACT
            elif new_style:
                style = TENSOR_DOUBLE if double_precision else TENSOR_FLOAT
            plugin = "" if style == SIMPLE else "scalars"
            metadata = wire.metadata(plugin, b"", display_name, summary_description)
            self._add_number(tag, scalar_value, global_step, walltime, style, metadata)
            return
        if _stamps.get() is not None:
            global_step, walltime = self._stamp(global_step, walltime)
        if not self._waiting:
            status = self._scalar(tag, scalar_value, global_step, walltime)
        elif device.is_on_device(scalar_value):
            status = CONVERT
        else:
            status = self._file.pending.scalar(tag, scalar_value, global_step, walltime)
        if status & CONVERT:
            self._add_number(tag, scalar_value, global_step, walltime)
        elif status:
            self._attend(status)

    def log(
        self, metrics: Mapping[str, Any], step: Any = None, walltime: Any = None, *, exact: bool | None = None
    ) -> None:
        """Add many numbers at one step, as one event.

        >>> writer.log({"loss": 0.25, "accuracy": 0.9}, step=1)
        """
        style = EXACT if exact or (exact is None and self._exact) else SIMPLE
        if _stamps.get() is not None:
            step, walltime = self._stamp(step, walltime)
        if type(metrics) is dict:
            status = self._sink.scalars(metrics, step, walltime, style)
            if not status:
                return
            if not status & CONVERT:
                self._attend(status)
                return
        if not hasattr(metrics, "items"):
            raise bad("metrics", f"got {described(metrics)}, want a mapping of tags to numbers")
        device.step_aside()
        numbers = device.captured_together(
            {as_tag(tag, "metrics"): value for tag, value in metrics.items()}, "metrics"
        )
        self._log(numbers, *self._stamp(step, walltime), style)

    def _log(self, numbers: dict[str, Any], step: int | None, walltime: float | None, style: int) -> None:
        """Add one event with many scalars. Some of them may still be on a device."""
        if any(isinstance(number, Value) for number in numbers.values()):
            plain = {tag: 0.0 if isinstance(number, Value) else number for tag, number in numbers.items()}
            status = self._file.pending.check(plain, step, walltime, style)
            if not status:
                arguments = (numbers, step, time.time() if walltime is None else walltime, style)
                status = self._file.pending.add(ScalarsEvent(self._file.buffer.scalars, arguments))
        else:
            status = self._sink.scalars(numbers, step, walltime, style)
        if status & CONVERT:
            raise UsageError(
                f"metrics: a number that does not fit a scalar, in {described(numbers)}", code="argument"
            )
        self._attend(status)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: Any = None,
        *,
        run_name: str | None = None,
    ) -> None:
        """Add several lines of a chart.

        As in torch, each line is a separate run, `<main_tag>_<name>`, so that TensorBoard draws them in the same
        chart. With `run_name='.'` they stay in this run, as the tags `<main_tag>/<name>`.

        >>> writer.add_scalars("loss", {"train": 0.25, "val": 0.3}, 100, run_name=".")
        """
        main_tag = as_tag(main_tag, "main_tag")
        if not hasattr(tag_scalar_dict, "items"):
            raise bad(
                "tag_scalar_dict", f"got {described(tag_scalar_dict)}, want a mapping of names to numbers"
            )
        if run_name not in (None, "."):
            raise bad("run_name", f"got {run_name!r}, want None (one run per line) or '.' (this run)")
        device.step_aside()
        lines = {as_tag(name, "tag_scalar_dict"): value for name, value in tag_scalar_dict.items()}
        numbers = device.captured_together(lines, "tag_scalar_dict")
        step, walltime = self._stamp(global_step, walltime)
        if run_name == ".":
            named = {f"{main_tag}/{name}": number for name, number in numbers.items()}
            self._log(named, step, walltime, EXACT if self._exact else SIMPLE)
            return
        if walltime is None:
            walltime = time.time()
        for name, number in numbers.items():
            self._line(main_tag, name).add_scalar(main_tag, number, step, walltime)

    def _line(self, main_tag: str, name: str) -> Any:
        """The writer of a line's run."""
        run = main_tag.replace("/", "_") + "_" + name.replace("/", os.sep)
        line = self._lines.get(run)
        if line is None:
            with _creating:
                line = self._lines.get(run)
                if line is None:
                    line = self._lines[run] = self._sub_writer(run)
        return line
