"""`python -m tbq.run --patch train.py`: runs an unchanged program with tbq's writers, its readers, or both."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

USAGE = """\
Usage: python -m tbq.run [--patch] [--compat | --protobuf] SCRIPT [ARGUMENT]...
       python -m tbq.run [--patch] [--compat | --protobuf] -m MODULE [ARGUMENT]...

Run a program, unchanged, on tbq's engine.

  --patch     write with tbq: replaces the SummaryWriter of torch, tensorboardX and tensorboard.summary
              (TensorFlow's tf.summary and Keras' TensorBoard callback keep their own writer)
  --compat    read with tbq: replaces EventAccumulator, EventMultiplexer, the event file loaders,
              summary_iterator and tbparse
  --protobuf  as --compat, but return messages of the tensorboard package, which must be installed

Examples: python -m tbq.run --patch train.py --lr 0.1
          python -m tbq.run --compat plot_losses.py runs/
"""
OPTIONS = {"--patch", "--compat", "--protobuf"}


def main(arguments: list[str]) -> int:
    """Run the script or module; returns the exit code if nothing was run."""
    options: set[str] = set()
    while arguments[:1] and arguments[0] in OPTIONS:
        options.add(arguments[0])
        arguments = arguments[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    module = arguments[:1] == ["-m"]
    if module:
        arguments = arguments[1:]
    if not options or not arguments or (arguments[0].startswith("-") and not module):
        print(USAGE, end="", file=sys.stderr)
        return 2
    if not module and not Path(arguments[0]).exists():
        print(f"tbq: no such script: {arguments[0]!r}", file=sys.stderr)
        return 2
    if "--patch" in options:
        from tbq.write.patch import patch

        patch()
    if options & {"--compat", "--protobuf"}:
        from tbq.compat import install

        install(protobuf="--protobuf" in options)
    sys.argv = arguments
    if module:
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(arguments[0]).absolute().parent))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
