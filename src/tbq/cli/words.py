"""The words for a wrong command line: what is wrong, the option or choice that was meant, and where to read on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tbq.errors import UsageError

_CHOICE = re.compile(r"'(.*)' is not one of ", re.DOTALL)
# "stats: got 'meen' (str), want …", in which only Python has an argument of that name and type.
_ARGUMENT = re.compile(r"(\w+): (?:(got .*?) \(\w+\)(?=, want ))?", re.DOTALL)


def words_of(wrong: click.ClickException) -> str:
    """The message of a wrong command line, in the form of all errors."""
    context: click.Context | None = getattr(wrong, "ctx", None)
    help_of = f"\n  see: {context.command_path} --help" if context is not None else ""
    if isinstance(wrong, click.MissingParameter) and context is not None:
        help_of = f"\n  want: {' '.join([context.command_path, *_needed(context)])}{help_of}"
    message = (_option(wrong, context) or _choice(wrong) or wrong.format_message()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}{help_of}"


def name_option(wrong: UsageError, command: click.Command) -> None:
    """Name the option instead of the argument of the library that it sets."""
    match = _ARGUMENT.match(wrong.message)
    for param in command.params if match else ():
        if match and isinstance(param, click.Option) and param.name == match[1]:
            option = max(param.opts, key=len)
            wrong.message = f"{option}: {match[2] or ''}{wrong.message[match.end() :]}"


def _needed(context: click.Context) -> list[str]:
    """The required arguments and options of a command, as its usage line shows them."""
    params = [param for param in context.command.get_params(context) if param.required]
    arguments = [param.human_readable_name for param in params if isinstance(param, click.Argument)]
    options = [f"{param.opts[0]} {param.metavar}" for param in params if isinstance(param, click.Option)]
    return [*arguments, *options]


def alike(name: str, known: Iterable[str]) -> list[str]:
    """The names that `name` may have been meant as, best first.

    A plural, a singular or a beginning of a name comes alone; other similar names come together.

    >>> alike("--tags", ["--tag", "--storage", "--threads"]), alike("image", ["images", "tags"])
    (['--tag'], ['images'])
    >>> alike("--thread", ["--tag", "--threads"]), alike("xyz", ["abc"])
    (['--threads'], [])
    """
    known = list(known)
    low = name.lower()
    same = [other for other in known if other.lower().removesuffix("s") == low.removesuffix("s")]
    if same:
        return same[:1]
    begun = [other for other in known if len(low.strip("-")) > 2 and other.lower().startswith(low)]
    if len(begun) == 1:
        return begun
    import difflib

    return difflib.get_close_matches(low, known, n=3, cutoff=0.7)


def _option(wrong: click.ClickException, context: click.Context | None) -> str | None:
    if not isinstance(wrong, click.NoSuchOption):
        return None
    options = (
        []
        if context is None
        else [opt for param in context.command.get_params(context) for opt in param.opts]
    )
    close = alike(wrong.option_name, [name for name in options if name.startswith("--")])
    tip = f". Did you mean {' or '.join(close)}?" if close else ""
    return f"no such option '{wrong.option_name}'{tip}"


def _choice(wrong: click.ClickException) -> str | None:
    param = getattr(wrong, "param", None)
    if not isinstance(wrong, click.BadParameter) or param is None or not isinstance(param.type, click.Choice):
        return None
    got = _CHOICE.match(wrong.message)
    if got is None:
        return None
    choices = [str(choice) for choice in param.type.choices]
    near = alike(got[1], choices)
    first = f"did you mean {' or '.join(near)}? Want" if near else "want"
    return f"{param.opts[0]} {got[1]}: {first} one of {', '.join(choices)}"
