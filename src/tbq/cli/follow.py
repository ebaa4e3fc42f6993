"""`tbq follow`: prints new rows as they are written, with an exit code that a job script can use."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tbq.cli import options as shared
from tbq.errors import UsageError
from tbq.export.stream import FORMATS
from tbq.schema import KINDS as _TABLES

if TYPE_CHECKING:
    import tbq
    from tbq.cli.lines import Lines, RowPrinter
    from tbq.cli.watchdog import FailedCheck, Watchdog

KINDS = tuple(
    name for name in _TABLES if name not in ("media", "projector", "runs", "tags", "files", "problems")
)
FAILED = 3  # the exit code of --fail-on

_EXAMPLES = """\b
Examples:
  tbq follow runs --idle 0
  tbq follow runs --run 'lr=*' --tag 'val/*' --timeout 1s --format jsonl
  tbq follow runs --run 'lr=0.1' --until-step 190 --timeout 8h --fail-on 'train/loss>1e3'
  tbq follow runs --from now --idle 0 --fail-on nan --fail-on stall=30m --exec 'echo "$TBQ_RUN: $TBQ_EVENT" >> alarms'
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@shared.select_options
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    multiple=True,
    default=("scalars",),
    metavar="KIND",
    help=f"The kind of rows; may be repeated with jsonl.  [default: scalars]  One of: {', '.join(KINDS)}.",
)
@click.option(
    "--from",
    "begin",
    type=click.Choice(("start", "now")),
    default="start",
    show_default=True,
    help="Show what is already logged too, or only what comes from now on.",
)
@shared.interval_option("0.2, or 30 for a URL")
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    help="The format of rows.  [default: lines on a terminal, csv in a pipe]",
)
@click.option(
    "--time",
    type=click.Choice(shared.TIMES),
    default="unix",
    show_default=True,
    help="Write wall times as seconds, dates, or seconds since the run began; not for lines.",
)
@shared.json_nan_option
@click.option("--until-step", type=int, metavar="N", help="Stop once every run has reached step N.")
@click.option("--timeout", metavar="TIME", help="Stop after this time, e.g. 90, 10m, 2h.")
@click.option("--idle", metavar="TIME", help="Stop after this time without new data.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="CHECK",
    help="Exit with 3 on nan, inf, stall=10m (no new data) or 'loss>10'. May be repeated.",
)
@click.option(
    "--exec",
    "command_line",
    metavar="CMD",
    help="Run this shell command if a check fails, with TBQ_EVENT, TBQ_RUN, TBQ_TAG, TBQ_STEP and TBQ_VALUE set.",
)
@shared.live_options
def command(
    logdir: tuple[str, ...],
    selection: dict[str, Any],
    kind: tuple[str, ...],
    begin: str,
    format: str | None,
    time: str,
    json_nan: str,
    until_step: int | None,
    timeout: str | None,
    idle: str | None,
    fail_on: tuple[str, ...],
    command_line: str | None,
    **options: Any,
) -> None:
    """Show new rows as they are written, until Ctrl-C or one of the ends below.

    Waits for LOGDIR to appear. Exits with 0 if it ends as asked, with 1 if --timeout or --idle ends it
    before --until-step is reached, and with 3 if a check of --fail-on fails.
    """
    import tbq
    from tbq.cli.watchdog import Watchdog, seconds
    from tbq.export import ExportOptions, output
    from tbq.export.stream import RowStream
    from tbq.select import steps

    kinds = list(dict.fromkeys(kind))
    plain = format is None and sys.stdout.isatty()
    format = format or "csv"
    if len(kinds) > 1 and format != "jsonl" and not plain:
        raise UsageError(
            f"{format} output has one kind of rows, got {', '.join(kinds)}", hint="use --format jsonl"
        )
    first_step, last_step = steps(selection["steps"])
    if until_step is not None:
        _refuse_unreachable(until_step, selection["steps"], last_step)
        # A run that logs no step from N to the last selected one reaches N by a later step.
        selection = selection | {"steps": (first_step, None)}
    watchdog = Watchdog(fail_on, selection["tag"])
    if command_line is not None and not watchdog:
        raise UsageError("--exec needs a check", hint="add --fail-on, e.g. --fail-on nan")
    session = Session(
        watchdog=watchdog,
        command=command_line,
        shown=kinds,
        tags=selection["tag"],
        last_step=last_step,
        waiting_for=_described(selection["run"]),
        closest=shared.closest(logdir),
        from_start=begin == "start",
        until_step=until_step,
        timeout=None if timeout is None else seconds(timeout, "--timeout"),
        idle=None if idle is None else seconds(idle, "--idle"),
    )
    read = [
        *kinds,
        *(["scalars"] if watchdog.reads_values else []),
        *(KINDS if until_step is not None else []),
    ]
    options |= {**selection, "tag": watchdog.tags}
    try:
        with tbq.follow(shared.source(logdir), kinds=list(dict.fromkeys(read)), **options) as follower:
            if plain:
                from tbq.cli.lines import Lines

                colour = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
                code = session.run(follower, Lines(colour))
            else:
                from tbq.cli.lines import RowPrinter

                with output("-") as stream:
                    rows = RowStream(stream, ExportOptions(format=format, time=time, json_nan=json_nan))  # type: ignore[arg-type]
                    code = session.run(follower, RowPrinter(rows, kinds, format == "jsonl"))
    except KeyboardInterrupt:
        code = 0
    if code:
        click.get_current_context().exit(code)


@dataclass(kw_only=True)
class Session:
    """One run of the command: shows updates, and decides when to end."""

    watchdog: Watchdog
    command: str | None
    shown: list[str]
    tags: list[str] | None
    last_step: int
    waiting_for: str
    closest: str  # what may have been meant instead of a path that does not exist
    from_start: bool
    until_step: int | None
    timeout: float | None
    idle: float | None

    def __post_init__(self) -> None:
        from tbq.cli.changes import ChangeTracker

        self._kinds: dict[str, str] = {}  # shown kind → its name in retracted rows
        self._tracker = ChangeTracker()
        self._sizes: dict[str, int] = {}  # the bytes of each run when it last changed
        self._reached: dict[str, int] = {}  # the last step of each run
        self._last_run = ""  # the run that wrote last
        self._knows_tags = False  # has rows of them, or has told that there are none

    def run(self, follower: tbq.Follower, printer: Lines | RowPrinter) -> int:
        """Follow until an end condition holds; return the exit code."""
        from tbq.cli.emit import tell

        self._kinds = {kind: follower.core_kind(kind) for kind in self.shown}
        started = active = time.monotonic()
        first, waiting = True, False
        while True:
            update = follower.poll()
            if first:
                printer.begin({kind: update.table(kind).head(0) for kind in self.shown})
            if update:
                self._note_steps(follower, update)
                event, rows = self._take(update, printer, first and not self.from_start)
                if event is not None:
                    return self._fail(event)
                if self._has_resized(follower, update) or rows or update.runs.new or update.runs.grown:
                    active = time.monotonic()
            if not follower.runs and not waiting:
                tell(f"waiting for {self.waiting_for} in {follower.path}{self.closest}")
                self.closest = ""
            waiting = not follower.runs
            self._tell_of_tags(follower, update)
            first = False
            if self._is_done(follower):
                return 0
            now = time.monotonic()
            if self.watchdog.stall is not None and now - active >= self.watchdog.stall[1]:
                return self._fail(self._stalled(now - active))
            if self.idle is not None and now - active >= self.idle:
                return self._end(f"nothing was written for {now - active:.0f} s")
            if self.timeout is not None and now - started >= self.timeout:
                return self._end(f"timeout after {now - started:.0f} s")
            if _reader_is_gone():
                raise BrokenPipeError
            stall = self.watchdog.stall[1] if self.watchdog.stall else None
            limits = ((active, self.idle), (started, self.timeout), (active, stall))
            ends = [begin + limit - now for begin, limit in limits if limit is not None]
            follower.wait(min(ends, default=None))

    def _take(
        self, update: tbq.Update, printer: Lines | RowPrinter, old: bool
    ) -> tuple[FailedCheck | None, int]:
        """Show an update, unless it has only rows from before; return the first failed check and the number of new
        rows."""
        from tbq.cli.emit import tell
        from tbq.cli.lines import retraction

        for runs in (update.runs.new, update.runs.grown):
            self._last_run = runs[-1] if runs else self._last_run
        if old:
            self._tracker.begin(update)
            return None, 0
        changes = self._tracker.of(update, self._kinds, self._selected)
        for sentence in retraction(changes.retracted, update):
            tell(sentence)
        printer.retracted(changes.retracted)
        for kind, table in changes.shown.items():
            if len(table):
                printer.new(kind, table)
        rows = sum(map(len, changes.shown.values())) + (0 if changes.unseen is None else len(changes.unseen))
        return None if changes.unseen is None else self.watchdog.check(self._in_range(changes.unseen)), rows

    def _tell_of_tags(self, follower: tbq.Follower, update: tbq.Update) -> None:
        """Tell once if nothing in the log has one of the selected tags: a misspelt one would wait for ever."""
        from tbq.cli.emit import tell

        if self.tags is None or not follower.runs or self._knows_tags:
            return
        if any(len(self._selected(update.table(kind))) for kind in self.shown):
            self._knows_tags = True
        elif not update.left:
            self._knows_tags = True
            tell(f"waiting for tags that match {', '.join(self.tags)}; tbq tags lists what was logged so far")

    def _selected(self, table: tbq.Table) -> tbq.Table:
        """The rows of the selected tags, kinds and steps; the rest is read only for the checks and --until-step."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from tbq.select import Selection
        from tbq.table.table import Table

        table = self._in_range(table)
        arrow = kept = table.to_arrow()
        selections = {"tag": Selection.of(self.tags)}
        if table.kind == "retracted":
            selections["kind"] = Selection.of(list(self._kinds.values()))
        for column, selection in selections.items():
            names = arrow[column].unique().to_pylist()
            wanted = [name for name in names if selection.matches(name)]
            if len(wanted) < len(names):
                kept = kept.filter(pc.is_in(kept[column].cast(pa.string()), pa.array(wanted, pa.string())))
        return table if kept is arrow else Table(kept, table.kind, logdir=table.logdir, began=table.began)

    def _in_range(self, table: tbq.Table) -> tbq.Table:
        """The rows up to the last selected step."""
        import pyarrow.compute as pc

        from tbq.table.table import Table

        arrow = table.to_arrow()
        if self.until_step is None:
            return table
        late = pc.fill_null(pc.greater(arrow["step"], self.last_step), False)
        if not pc.any(late).as_py():
            return table
        return Table(arrow.filter(pc.invert(late)), table.kind, logdir=table.logdir, began=table.began)

    def _note_steps(self, follower: tbq.Follower, update: tbq.Update) -> None:
        """Note the last step of each run that changed, over all kinds of data."""
        changed = [run for runs in update.runs[:3] for run in runs]
        for run, step in follower.last_steps(changed).items():
            self._reached[run] = max(step, self._reached.get(run, step))

    def _has_resized(self, follower: tbq.Follower, update: tbq.Update) -> bool:
        """Whether a run whose files were replaced changed in size: an identical copy is not new data."""
        sizes = follower.sizes(run for runs in update.runs[:3] for run in runs)
        resized = any(self._sizes.get(run) != sizes.get(run) for run in update.runs.replaced)
        self._sizes |= sizes
        return resized

    def _is_done(self, follower: tbq.Follower) -> bool:
        runs = follower.runs
        if self.until_step is None or not runs:
            return False
        return all(self._reached.get(run, self.until_step - 1) >= self.until_step for run in runs)

    def _end(self, why: str) -> int:
        from tbq.cli.emit import say, tell

        if self.until_step is None:
            say(why)
            return 0
        tell(f"{why}, before step {self.until_step:,} was reached")
        return 1

    def _stalled(self, silent: float) -> FailedCheck:
        from tbq.cli.watchdog import FailedCheck

        assert self.watchdog.stall is not None
        run = self._last_run
        return FailedCheck(self.watchdog.stall[0], run, "", self._reached.get(run), f"{silent:.0f}")

    def _fail(self, event: FailedCheck) -> int:
        from tbq.cli.emit import tell
        from tbq.cli.watchdog import execute

        tell(event)
        if self.command is not None:
            wrong = execute(self.command, event)
            if wrong:
                tell(f"--exec: {wrong}")
        return FAILED


def _refuse_unreachable(until_step: int, step_range: str | None, last: int) -> None:
    """Raise if no selected row can have this step."""
    from tbq.select import MAX_STEP

    if until_step > last:
        reason = f"--steps {step_range} ends at step {last:,}" if last < MAX_STEP else "steps end at 2^63 - 1"
        raise UsageError(
            f"--until-step {until_step:,} is never reached: {reason}", hint="choose a step inside the range"
        )


def _described(runs: list[str] | None) -> str:
    return "event files" if runs is None else f"runs that match {', '.join(runs)}"


def _reader_is_gone() -> bool:
    """Whether the reader of our output has gone (`| head`); without this check only a write would notice."""
    import select

    if not hasattr(select, "poll"):
        return False
    watch = select.poll()
    try:
        watch.register(sys.stdout.fileno(), 0)  # errors and hang-ups are always reported
        return any(event & select.POLLERR for _, event in watch.poll(0))
    except (OSError, ValueError):
        return False
