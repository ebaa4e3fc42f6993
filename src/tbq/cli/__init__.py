"""The `tbq` command: its subcommands and its help. Importing this module imports nothing else."""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False  # instead of typing's, whose import takes as long as Python's start
if TYPE_CHECKING:
    from typing import NoReturn

PURPOSE = "jq for training logs, TensorBoard's first: tables, fast and complete."

MORE = "tbq help COMMAND explains a command. To begin: tbq demo runs, then tbq ls runs."

# Subcommand -> (module in tbq.cli, one line of help): the help is here, so `tbq --help` imports no command.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "Write a sample logdir to try tbq on."),
    "ls": ("ls", "List the runs: files, size, events, last step, duration, age, state, health."),
    "tags": ("tags", "List the tags of each run, with kind, count and steps."),
    "export": ("export", "Write scalars, or any kind of data, as a table in any layout and format."),
    "show": ("show", "Show one value: a text, a tensor, a histogram as bars, an image."),
    "media": ("media", "Write images, audio, texts, tensors, meshes and graphs as files."),
    "sql": ("sql", "Query the tables in SQL."),
    "follow": ("follow", "Show new rows as they are written; raise an alarm if something goes wrong."),
    "watch": ("watch", "Watch runs and curves live, full screen in the terminal."),
    "plot": ("plot", "Plot curves, bands over seeds and every other kind, in the terminal or to a file."),
    "serve": ("serve", "Serve a live page: runs, curves, media, SQL and health in the browser."),
    "report": ("report", "Write the page with its data to one HTML file, to send to someone."),
    "board": ("board", "Run TensorBoard's own page with every point, read by tbq."),
    "mcp": ("mcp", "Answer the questions of AI assistants about a log, by the Model Context Protocol."),
    "summary": ("summary", "Show the leaderboard: one row per run or configuration, best first."),
    "reduce": ("reduce", "Compute mean, std and more over seeds, step by step."),
    "compare": ("compare", "Show what differs between two runs."),
    "diagnose": ("diagnose", "Say what happened to one run, and why."),
    "weights": ("weights", "Tabulate a checkpoint's weights and biases: statistics, elements, differences."),
    "predictions": ("predictions", "Tabulate a model's outputs beside their labels, with scores."),
    "sync": ("sync", "Keep Delta tables of a growing log directory up to date."),
    "doctor": ("doctor", "Explain why nothing shows up, what was lost, and what to do."),
    "rewrite": (
        "rewrite",
        "Write new event files: merged, repaired, pruned, renamed; otherwise byte for byte.",
    ),
    "completion": ("completion", "Print the script for Tab completion in bash, zsh or fish."),
}

_OPTIONS = {"-V, --version": "Show the version.", "-h, --help": "Show this message and exit."}


def main(args: list[str] | None = None) -> NoReturn:
    """Run `tbq` with these arguments (default: those of the process); without any, show the help."""
    arguments = (sys.argv[1:] if args is None else args) or ["--help"]
    if arguments in (["--help"], ["-h"], ["help"]) and sys.stdout is not None:
        try:
            print(help_text(), flush=True)
        except OSError:
            pass  # the pipe is closed (`| head`) or the disk is full: `run` meets the same error and reports it
        else:
            sys.exit(0)
    if arguments[0] == "completion" and arguments[2:3] == [
        "--"
    ]:  # the Tab key, through the script of a shell
        from tbq.cli.candidates import answer

        answer(arguments[1], arguments[3:])
        sys.exit(0)
    # Imports create lasting objects only. Collecting them would cost a tenth of a short command's time.
    gc.set_threshold(100_000, 20, 20)
    try:
        from tbq.cli.app import run

        run(arguments)
    except KeyboardInterrupt:  # caught here, because Ctrl-C may arrive while tbq is being imported
        if sys.stderr is not None:
            print("tbq: interrupted", file=sys.stderr)
        sys.exit(130)


def help_text() -> str:
    """The text of `tbq --help`, as click would write it, without importing click."""
    sections = {"Options": _OPTIONS, "Commands": {name: text for name, (_, text) in COMMANDS.items()}}
    lines = ["Usage: tbq [OPTIONS] COMMAND [ARGS]...", "", f"  {PURPOSE}"]
    for title, entries in sections.items():
        width = max(map(len, entries)) + 2
        lines += ["", f"{title}:", *(f"  {name:<{width}}{text}" for name, text in entries.items())]
    return "\n".join([*lines, "", f"  {MORE}"])
