"""`python -m tbq.compat script.py`: runs a script with tbq in place of TensorBoard's readers and of tbparse."""

from __future__ import annotations

import os
import runpy
import sys

from tbq.compat import install

USAGE = """\
Usage: python -m tbq.compat [--protobuf] SCRIPT [ARGUMENT]...
       python -m tbq.compat [--protobuf] -m MODULE [ARGUMENT]...

Run a script that reads TensorBoard logs, unchanged, on tbq's engine: its imports of EventAccumulator,
EventMultiplexer, the event file loaders, summary_iterator and tbparse load tbq's.

  --protobuf  return messages of the tensorboard package, which must be installed

Example: python -m tbq.compat plot_losses.py runs/
"""


def main(arguments: list[str]) -> int:
    """Run the script or module; returns the exit code if nothing was run."""
    protobuf = arguments[:1] == ["--protobuf"]
    rest = arguments[1:] if protobuf else arguments
    if rest[:1] in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    module = rest[:1] == ["-m"]
    rest = rest[1:] if module else rest
    if not rest or (rest[0].startswith("-") and not module):
        print(USAGE, end="", file=sys.stderr)
        return 2
    if not module and not os.path.exists(rest[0]):
        print(f"tbq: no such script: {rest[0]!r}", file=sys.stderr)
        return 2
    install(protobuf=protobuf)
    sys.argv = rest
    if module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(rest[0])))
        runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
