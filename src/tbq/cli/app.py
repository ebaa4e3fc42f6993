"""The `tbq` command as a click group: each subcommand is its own file, imported when it is called."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tbq.cli import COMMANDS, MORE, PURPOSE
from tbq.cli.ascii import draw_in_ascii
from tbq.cli.words import alike, name_option, words_of

if TYPE_CHECKING:
    from tbq.errors import DependencyError

#: Modules that `pip install tbq` brings, but `pip install --no-deps tbq` does not (docs/install.md).
DEPENDENCIES = frozenset({"numpy", "pyarrow", "duckdb", "rich"})


class _Lazy(click.Group):
    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _ended_by_the_reader():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> object:
        with _ended_by_the_reader():
            return super().invoke(ctx)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command = importlib.import_module(f"tbq.cli.{module}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] == "help":  # tbq help COMMAND
            args = [*args[1:2], "--help"]
            if len(args) == 1:
                show_help(ctx)
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            close = alike(name, [*COMMANDS, "help"])
            tip = f" Did you mean '{close[0]}'?" if close else ""
            raise click.UsageError(f"no command '{name}'.{tip}", ctx)
        return super().resolve_command(ctx, args)


def show_help(ctx: click.Context) -> NoReturn:
    """Print the help of the group, and end."""
    from tbq.cli.emit import show

    show(ctx.get_help())
    ctx.exit()


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from tbq import __version__
        from tbq.cli.emit import show

        show(f"tbq {__version__}")
        ctx.exit()


@click.group(cls=_Lazy, help=PURPOSE, epilog=MORE, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Show the version.",
)
def app() -> None:
    pass


def run(args: list[str]) -> NoReturn:
    """Run a command; every expected failure becomes one clear message and the right exit code."""
    import atexit
    import warnings

    from tbq.cli.emit import tell
    from tbq.errors import TbqError, TbqWarning, UsageError

    atexit.register(_skip_the_last_collection)
    _open_closed_streams()
    with warnings.catch_warnings(), _without_pandas():
        warnings.simplefilter("always", TbqWarning)
        warnings.showwarning = _warn
        try:
            code = app.main(args, prog_name="tbq", standalone_mode=False)
            sys.stdout.flush()
            sys.exit(code if isinstance(code, int) else 0)
        except click.exceptions.Exit as stop:
            sys.exit(stop.exit_code)
        except click.ClickException as wrong:
            tell(words_of(wrong))
            sys.exit(wrong.exit_code)
        except TbqError as failure:
            if isinstance(failure, UsageError) and (command := app.get_command(click.Context(app), args[0])):
                name_option(failure, command)
            tell(failure)
            sys.exit(failure.exit_code)
        except click.Abort:  # click's name for Ctrl-C
            raise KeyboardInterrupt from None
        except BrokenPipeError:
            _forget_stdout()
            sys.exit(0)
        except ModuleNotFoundError as absent:
            lacking = _not_installed(absent)
            tell(lacking)
            sys.exit(lacking.exit_code)
        except OSError as failure:  # from stdout: errors of other files are TbqErrors
            _forget_stdout()
            where = f"{failure.filename}: " if failure.filename else "the output cannot be written: "
            tell(f"{where}{(failure.strerror or str(failure)).lower()}")
            sys.exit(1)


def _skip_the_last_collection() -> None:
    import gc

    if "duckdb" not in sys.modules:  # it reports what is not collected as leaks
        gc.freeze()


def _not_installed(absent: ModuleNotFoundError) -> DependencyError:
    """The error for a dependency that was left out: commands that write text need only click and arro3-core."""
    from tbq.errors import missing

    module = (absent.name or "").partition(".")[0]
    if module not in DEPENDENCIES:
        raise absent
    return missing(module, needed_for="this command")


class _NoPandas:
    """Hides pandas from imports: no command makes a data frame, but pyarrow imports pandas to recognise one.

    That would double the time of a short command (docs/decisions/0009). Modules that are already imported stay.
    """

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("tbq commands run without pandas", name=name)


@contextlib.contextmanager
def _without_pandas() -> Iterator[None]:
    finder: Any = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _open_closed_streams() -> None:
    """Open stdin, stdout or stderr on the null device if it is closed (`>&-`, some daemons).

    Otherwise the next file would take its number. Characters outside the terminal's encoding become ASCII signs or
    escapes, so that no name can stop a command.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open until the process ends
        elif mode == "w":
            draw_in_ascii(getattr(sys, name))


@contextlib.contextmanager
def _ended_by_the_reader() -> Iterator[None]:
    """Exit with 0 if the reader of stdout is gone; click would exit with 1."""
    try:
        yield
    except BrokenPipeError:
        _forget_stdout()
        raise click.exceptions.Exit(0) from None


def _forget_stdout() -> None:
    """Drop stdout after its reader has gone (`| head`): not an error, but Python would complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print tbq's warnings as one line each, and drop those of libraries: users cannot act on them."""
    from tbq.cli.emit import tell
    from tbq.errors import TbqWarning

    if issubclass(category, TbqWarning):
        tell(message)
