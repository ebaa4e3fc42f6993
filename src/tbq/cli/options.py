"""The options that commands share. Each is spelled and explained once; options that belong together come as one group.

`select_options` give a command `selection`, `read_options` give it `reading`, both as keywords of the library;
`output_options` give it `out`, an `Output`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from tbq.cli.emit import Output, show
from tbq.columns.times import Time
from tbq.decode.options import RESTARTS
from tbq.errors import SourceError, UsageError
from tbq.export.options import JsonNan

if TYPE_CHECKING:
    from tbq.logdir import LogDir

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]

TIMES = get_args(Time)


class Command(click.Command):
    """A command whose help lists what it is about first, and rarely needed options in a section of their own."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The `--help` option, which prints through `emit` like every other text."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _show_help
        return option

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options in two sections."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], RARE: []}
        for param in self.get_params(ctx):
            # The usage line shows the arguments; recent versions of click list them here too, without a word.
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections[RARE if isinstance(param, _Rare) else "Options"].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _show_help(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        show(ctx.get_help())
        ctx.exit()


class _Rare(click.Option):
    """An option about files, stores, caches and limits, which most people never need."""


#: The title of the rarely needed options in the help of every command.
RARE = "Files, stores, caches and limits"


def rare_option(*names: str, **settings: Any) -> Decorator[Any]:
    """`click.option` for an option that few people need: the help lists it last."""
    return click.option(*names, cls=_Rare, **settings)


def _all(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several decorators as one; the help lists the first decorator's option first."""

    def decorate(function: F) -> F:
        return reduce(lambda done, decorator: decorator(done), reversed(decorators), function)

    return decorate


def _bundled(
    name: str, make: Callable[..., object], *decorators: Callable[[Any], Any]
) -> Callable[[Callable[..., Any]], Any]:
    """Several options as one argument `name` of the command: the result of `make`."""
    options = _all(*decorators)
    keys = [param.name for param in click.command(options(lambda: None)).params if param.expose_value]

    def decorate(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def command(**values: Any) -> Any:
            return function(**{name: make(**{key: values.pop(key) for key in keys})}, **values)

        return options(command)

    return decorate


def _selection(run: tuple[str, ...], tag: tuple[str, ...], steps: str | None) -> dict[str, Any]:
    return {"run": names(run), "tag": names(tag), "steps": steps}


def opened(logdir: str | tuple[str, ...], reading: dict[str, Any]) -> LogDir:
    """Open the log that a command reads, and remove from `reading` the options that only opening needs."""
    import tbq

    path = logdir if isinstance(logdir, str) else source(logdir)
    try:
        return tbq.open(path, merge_runs=reading.pop("merge_runs") or None, sub_runs=reading.pop("sub_runs"))
    except SourceError as wrong:
        if isinstance(path, list) and wrong.path in path[1:] and not os.path.exists(wrong.path):
            known = {name for param in click.get_current_context().command.params for name in param.opts}
            meant = [f"for a {name[2:]}: {name} {wrong.path}" for name in ("--tag", "--run") if name in known]
            wrong.hint = "; ".join(meant + ([wrong.hint] if wrong.hint else []))
        raise


def closest(logdir: tuple[str, ...]) -> str:
    """What may have been meant by the only path, if it does not exist: `; closest: runs`, or nothing."""
    path = logdir[0]
    if len(logdir) > 1 or os.path.lexists(path) or any(letter in path for letter in "*?[:"):
        return ""
    import tbq

    try:
        tbq.open(path)
    except SourceError as missing:
        if missing.hint and missing.hint.startswith("closest: "):
            return f"; {missing.hint}"
    return ""


def _raise_limit(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        from tbq.limits import allowing

        ctx.with_resource(allowing(value))


def _use_writers(ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> None:
    if value:
        from tbq.writers import only

        ctx.with_resource(only(value))


def _use_storage(ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> None:
    if value:
        from tbq.storage import pairs, using

        ctx.with_resource(using(storage=pairs(value)))


def _use_cache(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        from tbq.storage import using

        ctx.with_resource(using(cache=value))


unpack_option: Decorator[Any] = rare_option(
    "--max-unpacked",
    metavar="SIZE",
    expose_value=False,
    callback=_raise_limit,
    help="Limit for the unpacked size of a compressed file, e.g. 4GB.  [default: 256 MiB and 100 times its size]",
)
#: For files that are not plain files on this disk: compressed files, and objects of URLs.
source_options: Decorator[Any] = _all(
    unpack_option,
    rare_option(
        "--source",
        multiple=True,
        metavar="WRITER",
        expose_value=False,
        callback=_use_writers,
        help="Read only the logs of this writer: events (event files), wandb, mlflow, trackio, lightning, keras, "
        "huggingface, ray, ultralytics, csv, jsonl or neptune. May be repeated.  [default: all]",
    ),
    rare_option(
        "--storage",
        multiple=True,
        metavar="KEY=VALUE",
        expose_value=False,
        callback=_use_storage,
        help="An option for a URL's object store, e.g. aws_region=eu-west-1. May be repeated.",
    ),
    rare_option(
        "--cache",
        metavar="DIR",
        expose_value=False,
        callback=_use_cache,
        help="The directory for objects fetched from URLs.  [default: TBQ_CACHE, or the user's cache]",
    ),
)
logdir_argument: Decorator[Any] = click.argument("logdir", nargs=-1, required=True, metavar="LOGDIR...")

run_option: Decorator[Any] = click.option(
    "--run",
    multiple=True,
    metavar="NAME",
    help="Only this run, or the runs below this directory: a name, a glob or re:EXPR. May be repeated.",
)
tag_option: Decorator[Any] = click.option(
    "--tag", multiple=True, metavar="NAME", help="Only this tag: a name, a glob or re:EXPR. May be repeated."
)
steps_option: Decorator[Any] = click.option(
    "--steps", metavar="A:B", help="Only steps A to B, both included; either may be omitted."
)

spark_option: Decorator[Any] = click.option(
    "--spark", metavar="TAG", help="Add a sparkline of this tag, on a terminal."
)

#: The statistics of summaries, copied from `tbq.summary.statistics.STATS`, because importing that takes long.
STATS = "first, last, min, max, mean, std, count, min_step, max_step"


def stat_option(default: str, what: str) -> Decorator[Any]:
    """`--stat`: the statistics, separated by commas."""
    return click.option("--stat", "stats", default=default, show_default=True, metavar="LIST", help=what)


def interval_option(default: str) -> Decorator[Any]:
    """`--interval`: seconds between polls; `default` in words."""
    return click.option(
        "--interval",
        callback=_duration,
        metavar="TIME",
        help=f"How often to look for new data, e.g. 5, 0.5, 10m.  [default: {default}]",
    )


def _duration(_ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    from tbq.cli.watchdog import seconds

    return seconds(value, param.opts[0])


def _stalled(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    duration = _duration(ctx, param, value)
    if duration == 0:
        raise UsageError(f"--stalled-after: got {value!r}, want a duration longer than 0, such as 10m")
    return duration


threads_option: Decorator[Any] = rare_option(
    "--threads", type=click.IntRange(1), metavar="N", help="Decoder threads.  [default: one per CPU]"
)

merge_option: Decorator[Any] = rare_option(
    "--merge-runs",
    multiple=True,
    metavar="A,B=NAME",
    help="Merge these runs into one; or all with the same name in the first group of re:EXPR. May be repeated.",
)
#: The choices are those of `tbq.decode.sub_runs.SubRunsAs`.
sub_runs_option: Decorator[Any] = click.option(
    "--sub-runs",
    type=click.Choice(("fold", "keep")),
    default="fold",
    show_default=True,
    help="Directories of add_hparams below a run: part of that run, or runs of their own.",
)
strict_option: Decorator[Any] = rare_option(
    "--strict",
    "on_error",
    is_flag=True,
    flag_value="raise",
    default="warn",
    help="Fail, and write nothing, if a file is damaged.",
)

#: For commands that follow a log: the number of sessions is not known in advance.
live_options: Decorator[Any] = _all(
    click.option(
        "--restarts",
        type=click.Choice([name for name in RESTARTS if name != "split"]),
        default="resume",
        show_default=True,
        help="Which rows of a resumed run count.",
    ),
    threads_option,
    sub_runs_option,
    source_options,
)
#: For commands that show the state of each run.
stalled_option: Decorator[Any] = click.option(
    "--stalled-after",
    callback=_stalled,
    metavar="TIME",
    help="Call a run stalled after this time without new data, e.g. 10m.  [default: 2m, or 20 times its usual pause]",
)

force_option: Decorator[Any] = click.option("--force", is_flag=True, help="Replace OUT if it exists.")


def smooth_option(default: float | None = 0.0, more: str = "") -> Decorator[Any]:
    """`--smooth`; `more` follows its help."""
    return click.option(
        "--smooth",
        type=click.FloatRange(0, 1),
        default=default,
        metavar="W",
        help=f"Smooth as TensorBoard does with this weight{more}.",
    )


json_nan_option: Decorator[Any] = rare_option(
    "--json-nan",
    type=click.Choice(get_args(JsonNan)),
    default="null",
    show_default=True,
    help="How JSON writes NaN and infinities.",
)

select_options: Decorator[Any] = _bundled("selection", _selection, run_option, tag_option, steps_option)

read_options: Decorator[Any] = _bundled(
    "reading",
    dict,
    click.option(
        "--restarts",
        type=click.Choice(RESTARTS),
        default="resume",
        show_default=True,
        help="Which rows of a resumed run count; split makes each session a run: NAME@1, NAME@2.",
    ),
    merge_option,
    strict_option,
    threads_option,
    sub_runs_option,
    source_options,
)

_targets: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "-o", "--output", "path", metavar="OUT", help="Write to this file, in the format of its extension."
    ),
    click.option("--format", metavar="FORMAT", help="The format, if OUT's extension does not name it."),
    force_option,
    click.option("--columns", metavar="A,B,…", help="Write only these columns, in this order."),
    rare_option("--drop-bytes", is_flag=True, help="Leave out byte columns that the format cannot hold."),
    rare_option(
        "--csv-safe", is_flag=True, help="Escape CSV cells that a spreadsheet would run as formulas."
    ),
    json_nan_option,
    click.option(
        "--digits",
        type=click.IntRange(1),
        metavar="N",
        help="Significant digits of numbers in Markdown, HTML and on a terminal; other formats stay exact.",
    ),
)
#: Where a table goes; `timed_output_options` are for tables with wall times.
output_options: Decorator[Any] = _bundled("out", Output, *_targets)
timed_output_options: Decorator[Any] = _bundled(
    "out",
    Output,
    *_targets,
    click.option(
        "--time",
        type=click.Choice(TIMES),
        default="unix",
        show_default=True,
        help="Write wall times as seconds, dates, or seconds since the run began.",
    ),
)


def sparks(
    log: LogDir, tag: str | None, selection: dict[str, Any], reading: dict[str, Any]
) -> dict[str, str]:
    """The sparkline of each run for `--spark`."""
    if tag is None:
        return {}
    return log.sparklines(tag, **{**selection, **reading, "on_error": "ignore"})


def names(values: tuple[str, ...]) -> list[str] | None:
    """A repeated option as the library's keyword: None if the option is absent."""
    return list(values) or None


def quiet(reading: dict[str, Any]) -> dict[str, Any]:
    """Keywords for a table that reports damage in a column of its own: only `--strict` still matters."""
    return {**reading, "on_error": "ignore"} if reading["on_error"] == "warn" else reading


def source(logdir: tuple[str, ...]) -> str | list[str]:
    """The LOGDIR arguments as `tbq.open` takes them."""
    return logdir[0] if len(logdir) == 1 else list(logdir)
