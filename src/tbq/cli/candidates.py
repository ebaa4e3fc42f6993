"""What may come next on a command line: commands, options, choices, and the names in a log directory."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from tbq.cli import COMMANDS

TYPE_CHECKING = False  # instead of typing's, whose import takes as long as Python's start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import click

#: The answer if the name of a file is wanted; the shell completes it.
FILES = [":files"]
#: No list is longer: a shell would complete what the first names share, and not all.
_MOST = 1000

_OPEN = re.compile(r"""((?:[^\s\\'"]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")*)(?:(['"])(.*))?\Z""", re.DOTALL)
_ENDED = re.compile(r"""(?:[^\s\\'"]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+(?=\s)|\s+""", re.DOTALL)


def answer(shell: str, words: Sequence[str]) -> None:
    """Print the candidates that the script of a shell asks for; nothing on any error.

    A message would appear in the middle of the line that is being typed.
    """
    try:
        found = after_line(*words) if shell == "bash" else after([*words[1:-1], _begun(words[-1], shell)])
        sys.stdout.buffer.write("".join(f"{line}\n" for line in found).encode("utf-8", "surrogateescape"))
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt):
        os._exit(0)  # nor may Python report a closed pipe when it ends


def _begun(word: str, shell: str) -> str:
    """The word at the cursor without quotes; fish passes it as it was typed."""
    last = _OPEN.match(word) if shell == "fish" else None
    return word if last is None else _unquoted(last[1]) + (last[3] or "")


def after_line(breaks: str, line: str) -> list[str]:
    """The candidates for the end of a line of bash, quoted as the line needs it.

    bash replaces only what follows the last of the characters `breaks` in a word.
    """
    words: list[str] = []
    place = 0
    while match := _ENDED.match(line, place):
        place = match.end()
        if not match[0].isspace():
            words.append(_unquoted(match[0]))
    last = _OPEN.match(line, place)
    if last is None or not words:
        return []
    plain, quote, inside = last[1], last[2], last[3] or ""
    typed = _unquoted(plain) + (re.sub(r"\\([\\$`\"])", r"\1", inside) if quote == '"' else inside)
    starts = [i for i, word in enumerate(words) if word.rpartition("/")[2] == "tbq"]
    found = after([*words[(starts[0] if starts else 0) + 1 :], typed])
    if found == FILES:
        return []  # bash's default
    names = [entry.partition("\t")[0] for entry in found]
    if quote == '"':
        return [re.sub(r'([\\$`"])', r"\\\1", name[len(_unquoted(plain)) :]) for name in names]
    if quote:
        return [name[len(_unquoted(plain)) :] for name in names if "'" not in name]
    # bash takes an @ as the beginning of the word after it, and no escaped character as an end.
    ends = [
        found.start() + (found[0] != "@")
        for found in re.finditer(r"\\.|[^\\]", plain)
        if found[0] in breaks and not found[0].isspace()
    ]
    kept = ends[-1] if ends else 0
    begin = len(_unquoted(plain[:kept]))
    return [re.sub(r"([^\w@%+=:,./-])", r"\\\1", name[begin:]) for name in names]


def _unquoted(word: str) -> str:
    """A word without its quotes.

    >>> _unquoted("a'b c'd\\\\ e")
    'ab cd e'
    """
    return re.sub(
        r"""\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)\"""",
        lambda found: found[1] or found[2] or re.sub(r"\\(.)", r"\1", found[3] or ""),
        word,
        flags=re.DOTALL,
    )


def after(words: Sequence[str]) -> list[str]:
    """The candidates for the last of these words, which follow `tbq`; a tab separates a name from its description."""
    *done, word = words
    done = [each for each in done if each != "help"] if done[:1] == ["help"] else done
    if not done:
        commands = {**{name: text for name, (_, text) in COMMANDS.items()}, "help": "Explain a command."}
        return _beginning(word, [f"{name}\t{text}" for name, text in commands.items()])
    if done[0] not in COMMANDS:
        return []
    import click

    from tbq.cli.app import app

    above = click.Context(app, **app.context_settings)
    command = app.get_command(above, done[0])
    assert command is not None
    typed = _Typed(done[0], click.Context(command, parent=above), done[1:])
    option, equals, value = word.partition("=")
    if typed.pending is None and equals and option in typed.options:
        return [f"{option}={each}" for each in _names(_values(typed.options[option], value, typed))]
    if typed.pending is not None:
        return _values(typed.pending, word, typed)
    if word.startswith("-") and not typed.ended:
        helps = {name: getattr(param, "help", None) or "" for name, param in typed.options.items()}
        return _beginning(word, [f"{name}\t{_first_sentence(text)}" for name, text in helps.items()])
    return _values(typed.next_argument(), word, typed)


class _Typed:
    """The words after a command, as its parameters: what was typed, and the option that still wants its value."""

    def __init__(self, name: str, context: click.Context, words: Iterable[str]) -> None:
        import click

        params = context.command.get_params(context)
        self.options = {
            name: param
            for param in params
            if isinstance(param, click.Option)
            for name in (*param.opts, *param.secondary_opts)
        }
        self.name = name
        self.arguments = [param for param in params if isinstance(param, click.Argument)]
        self.values: dict[str, list[str]] = {}
        self.plain: list[str] = []
        self.pending: click.Parameter | None = None
        self.ended = False
        for word in words:
            if self.pending is not None:
                self.values.setdefault(str(self.pending.name), []).append(word)
                self.pending = None
            elif word == "--" and not self.ended:
                self.ended = True
            elif word.startswith("-") and len(word) > 1 and not self.ended:
                self.pending = self._option(*word.partition("="))
            else:
                self.plain.append(word)

    def _option(self, name: str, equals: str, value: str) -> click.Parameter | None:
        """Note an option; returns it if the next word is its value."""
        param = self.options.get(name)
        if param is None or getattr(param, "is_flag", False) or getattr(param, "count", False):
            return None
        if not equals:
            return param
        self.values.setdefault(str(param.name), []).append(value)
        return None

    def next_argument(self) -> click.Parameter | None:
        """The argument that the next plain word is; a list of words comes before later arguments."""
        for i, param in enumerate(self.arguments):
            if param.nargs == -1:
                rest = self.arguments[i + 1 :]
                return rest[0] if rest and len(self.plain) > i else param
            if len(self.plain) == i:
                return param
        return None

    def log_directories(self) -> list[str]:
        """The log directories among the plain words."""
        if not self.arguments or self.arguments[0].name not in ("logdir", "paths"):
            return []
        words = self.plain if self.arguments[0].nargs == -1 else self.plain[:1]
        paths = [os.path.expandvars(Path(word).expanduser()) for word in words]
        return [path for path in paths if "://" not in path]  # a request would take too long


def _values(param: click.Parameter | None, word: str, typed: _Typed) -> list[str]:
    """The candidates for the value of a parameter."""
    import click

    if param is None:
        return []
    if isinstance(param.type, click.Choice):
        return _beginning(word, map(str, param.type.choices))
    is_argument = isinstance(param, click.Argument)
    source = _SOURCES.get(str(param.name) if is_argument else str(param.metavar).rstrip("."))
    if source is None:
        source = _OPTIONS.get(param.opts[0])
    if source is not None:
        return source(word, typed)
    return FILES if is_argument or param.metavar in ("OUT", "DIR", "PATH", "FILE") else []


def _runs(word: str, typed: _Typed) -> list[str]:
    from tbq.decode.glance import runs_beginning

    return _beginning(word, runs_beginning(typed.log_directories(), word))


def _tags(word: str, typed: _Typed) -> list[str]:
    return _beginning(word, _tags_of(typed))


def _tags_of(typed: _Typed) -> list[str]:
    from tbq.decode.glance import some_tags

    return some_tags(typed.log_directories(), typed.values.get("run", ()))


def _best(word: str, typed: _Typed) -> list[str]:
    return _beginning(word, (f"{tag}:{way}" for tag in _tags_of(typed) for way in ("min", "max")))


def _formats(word: str, typed: _Typed) -> list[str]:
    if typed.name == "plot":
        return _beginning(word, ("png", "svg", "pdf", "pgf", "html"))
    from tbq.export import FORMATS

    return _beginning(word, FORMATS)


def _kinds_of_plots(word: str, _typed: _Typed) -> list[str]:
    from tbq.plot.options import KINDS

    return _beginning(word, KINDS)


def _columns(word: str, typed: _Typed) -> list[str]:
    from tbq.schema import column_names

    kinds = {"ls": "runs", "tags": "tags"}
    (kind, *_) = typed.values.get("kind") or [kinds.get(typed.name, "scalars")]
    return _listing(word, column_names(kind))


def _stats(word: str, _typed: _Typed) -> list[str]:
    from tbq.cli.options import STATS

    return _listing(word, STATS.split(", "))


def _listing(word: str, names: Iterable[str]) -> list[str]:
    """Candidates for the last name of a list with commas."""
    before, comma, last = word.rpartition(",")
    used = before.split(",")
    return [f"{before}{comma}{name}" for name in _beginning(last, names) if name not in used]


def _query(word: str, _typed: _Typed) -> list[str]:
    """The tables and columns that the last word of a query may name."""
    if " " not in word and Path(word).exists():
        return FILES  # still a log directory
    from tbq.schema import KINDS, column_names

    begun = re.search(r"\w*\Z", word)
    assert begun is not None
    before = word[: begun.start()]
    tables = re.findall(r"\b(?:from|join)\s+(\w+)", word, re.IGNORECASE)
    columns = [name for table in (tables or KINDS) if table in KINDS for name in column_names(table)]
    names = (
        (*KINDS, "summary", "wide") if re.search(r"\b(?:from|join)\s+\Z", before, re.IGNORECASE) else columns
    )
    return [before + name for name in _beginning(begun[0], dict.fromkeys(names))]


#: By the name of an argument, or the metavar of an option.
_SOURCES: dict[str, Callable[[str, _Typed], list[str]]] = {
    "tag": _tags,
    "TAG": _tags,
    "TAG:min|max": _best,
    "run": _runs,
    "a": _runs,
    "b": _runs,
    "FORMAT": _formats,
    "A,B,…": _columns,
    "query": _query,
}
#: By the option, if its metavar says too little.
_OPTIONS: dict[str, Callable[[str, _Typed], list[str]]] = {
    "--tag": _tags,
    "--run": _runs,
    "--kind": _kinds_of_plots,
    "--stat": _stats,
}


def _beginning(word: str, entries: Iterable[str]) -> list[str]:
    """The entries that begin with `word` and that a terminal can show on one line; none if these are too many."""
    fitting = (entry for entry in entries if entry.startswith(word))
    shown = [entry for entry in fitting if entry.replace("\t", "").isprintable()]
    return shown if len(shown) <= _MOST else []


def _names(entries: Iterable[str]) -> list[str]:
    return [entry.partition("\t")[0] for entry in entries]


def _first_sentence(text: str) -> str:
    return re.split(r"[.;:] ", " ".join(text.split()))[0].rstrip(".")
