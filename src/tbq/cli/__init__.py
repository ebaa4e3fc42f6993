"""The `tbq` command: what it offers, and its help, which imports nothing."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as typing has it, which takes as long to import as Python to start
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

PURPOSE = "jq for TensorBoard logs: event files to tables, fast and complete."

# Subcommand -> (module in tbq.cli, one line of help): the help is here so that `tbq --help` imports no command.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "Write a sample logdir to try tbq on."),
    "ls": ("ls", "The runs: files, size, events, last step, duration, age, health."),
    "tags": ("tags", "What was logged: tags by run, with kind, count and steps."),
    "export": ("export", "Scalars, or any kind of data, as a table in any layout and format."),
    "show": ("show", "One value: a text, a tensor, a histogram as bars, what an image is."),
    "media": ("media", "Images, audio, texts, tensors, meshes and graphs as files."),
    "sql": ("sql", "Ask the tables in SQL."),
    "follow": ("follow", "New rows as they are written, and an alarm if something goes wrong."),
    "watch": ("watch", "Runs and curves live, on the whole terminal."),
    "plot": ("plot", "Pictures: curves, bands over seeds, every other kind; in the terminal or as a file."),
    "serve": ("serve", "The page: runs, curves, media, SQL and health in the browser, live."),
    "report": ("report", "The page with its data in one HTML file, to send to someone."),
    "board": ("board", "TensorBoard's own page with every point, read by this engine."),
    "summary": ("summary", "The leaderboard: one row per run, the best first, with its hyperparameters."),
    "reduce": ("reduce", "Mean, std and more over seeds, step by step."),
    "compare": ("compare", "What differs between two runs."),
    "weights": ("weights", "Weights and biases of a checkpoint: statistics, elements, differences."),
    "predictions": ("predictions", "Outputs of a model beside their labels, and their scores."),
    "sync": ("sync", "A growing log directory as Delta tables, kept up to date."),
    "doctor": ("doctor", "Why nothing shows up, what was lost, and what to do."),
    "rewrite": ("rewrite", "New event files: merged, repaired, pruned, renamed; else byte for byte."),
}

_OPTIONS = {"--version": "Show the version.", "-h, --help": "Show this message and exit."}


def main(args: list[str] | None = None) -> NoReturn:
    """Run `tbq` with these arguments, else those of the process."""
    given = sys.argv[1:] if args is None else args
    if given in (["--help"], ["-h"]) and sys.stdout is not None:
        try:
            print(help_text(), flush=True)
        except OSError:
            pass  # the reader has gone (`| head`) or the disk is full: `run` meets the same, and says so
        else:
            sys.exit(0)
    from tbq.cli.app import run

    run(args)


def program() -> NoReturn:
    """`tbq` as a program: a command, and then the end of the process at once.

    Python would take every module apart first, which is a tenth of a short command's time.
    """
    try:
        main()
    except SystemExit as stop:
        if _is_outermost(sys._getframe(1)):
            _end(stop.code)
        raise


def _is_outermost(caller: FrameType | None) -> bool:
    """Whether this is all that the process runs: a profiler, a debugger or `python -i` has more to do after us."""
    while caller is not None:
        module, name = caller.f_globals.get("__name__"), caller.f_code.co_name
        if module != "runpy" and (module, name) != ("__main__", "<module>"):
            return False
        caller = caller.f_back
    return not sys.flags.inspect


def _end(code: object) -> None:
    """End the process if nothing is left to do but to leave; return if that is for Python to do."""
    import atexit
    import os

    threads = sys.modules.get("threading")
    if not isinstance(code, int) or (threads and any(not t.daemon for t in threads.enumerate()[1:])):
        return
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:  # Python tells of it in its own way
        return
    os._exit(code)


def help_text() -> str:
    """What `tbq --help` shows: the text that click would make of it, without importing click."""
    sections = {"Options": _OPTIONS, "Commands": {name: text for name, (_, text) in COMMANDS.items()}}
    lines = ["Usage: tbq [OPTIONS] COMMAND [ARGS]...", "", f"  {PURPOSE}"]
    for title, entries in sections.items():
        width = max(map(len, entries)) + 2
        lines += ["", f"{title}:", *(f"  {name:<{width}}{text}" for name, text in entries.items())]
    return "\n".join(lines)
