"""`tbq board`: the real TensorBoard program and page, with every point of the log, read by tbq."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Sequence
from pathlib import Path

from tbq.errors import DependencyError, SourceError, TbqError, installer, missing
from tbq.termination import leave

#: The versions of TensorBoard whose internals tbq knows.
KNOWN = ("2.16", "2.17", "2.18", "2.19", "2.20", "2.21")


def board(logdir: str | None = None, *, flags: Sequence[str] = ()) -> int:
    """Serve a log directory with TensorBoard's program and page until interrupted; returns the exit code.

    `flags` are those of `tensorboard`, such as `["--port", "0", "--samples_per_plugin", "scalars=0"]`; 0 keeps every
    point. By default the page gets every image and clip, and 1,000 points of each curve, including its peaks. Needs the
    extra "board".

    >>> tbq.board("runs", flags=["--port", "0"])  # doctest: +SKIP
    """
    check_version()
    if words := dashboards_lost():
        print(f"tbq board: {words}", file=sys.stderr)
    # TensorBoard imports TensorFlow if it is installed, which takes seconds; nothing here needs it.
    sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("tensorboard.compat.notf"))
    from tbq.tensorboard.program import execute

    return execute([*([logdir] if logdir is not None else []), *flags])


def main() -> None:
    """The program `tbq-board`, which accepts the command line of `tensorboard`."""
    try:
        code = board(flags=sys.argv[1:])
    except TbqError as failure:
        print(f"tbq-board: {failure}", file=sys.stderr)
        code = failure.exit_code
    leave(code)


def binary() -> str:
    """The path of a program with the command line of `tensorboard`, for the variable TENSORBOARD_BINARY."""
    import shutil
    import sysconfig

    check_version()
    beside = str(Path(sys.argv[0]).absolute().parent)
    places = [sysconfig.get_path("scripts"), beside, os.environ.get("PATH", "")]
    program = shutil.which("tbq-board", path=os.pathsep.join(places))
    if program is None:
        raise SourceError("the program tbq-board is not in Python's folder", hint="install tbq with pip")
    return program


def check_version() -> None:
    """Raise if TensorBoard is not installed, or if tbq does not know its version."""
    import importlib.util
    from importlib import metadata

    if importlib.util.find_spec("tensorboard") is None:
        raise missing("tensorboard", needed_for="tbq board", extra="board")
    version = metadata.version("tensorboard")
    if not version.startswith(tuple(f"{known}." for known in KNOWN)):
        raise DependencyError(
            f"tbq board does not support TensorBoard {version} (want {KNOWN[0]} to {KNOWN[-1]})",
            hint=f"{installer()} 'tensorboard>={KNOWN[0]},<2.22', or use plain tensorboard",
        )
    numpy = metadata.version("numpy")
    if version.startswith("2.16.") and int(numpy.split(".")[0]) > 1:
        raise DependencyError(
            f"TensorBoard {version} does not work with NumPy {numpy}",
            hint=f"{installer()} 'tensorboard>=2.17', or 'numpy<2'",
        )


def dashboards_lost() -> str:
    """A warning if TensorBoard cannot show some dashboards with the installed protobuf; otherwise empty."""
    from importlib import metadata

    version, protobuf = metadata.version("tensorboard"), metadata.version("protobuf")
    if not version.startswith("2.16.") or int(protobuf.split(".")[0]) < 5:
        return ""
    return (
        f"TensorBoard {version} cannot show hparams and custom scalars with protobuf {protobuf} "
        f"(hint: {installer()} 'protobuf<5', or 'tensorboard>=2.17')"
    )
