"""Text of logs for people: names of any bytes, and everything escaped for a terminal.

The one owner of two rules. The core's rule (`display_name`) shows names: no two look alike, and a selection accepts
a name as shown. And whatever a log calls its runs and tags, no name moves a cursor, starts a link, fills a clipboard,
reverses the direction of writing or forges a message; formats for programs (CSV, JSON) keep names unchanged.
"""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

GAP = "…"

_SIGNS = {"\n": "⏎", "\r": " ", "\t": " "}


def printable(text: str, keep: str = "") -> str:
    """The text on one line, without control characters except those in `keep`; a line break becomes a sign.

    >>> printable("loss\\n")
    'loss⏎'
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in keep else _SIGNS.get(letter) or _sign(letter)
        for letter in text
    )


def _sign(letter: str) -> str:
    import unicodedata

    return " " if unicodedata.category(letter) == "Zs" else "\ufffd"


def paragraph(text: str) -> str:
    """A harmless message of several lines; all but the first are indented, so that none looks like another message.

    >>> print(paragraph("no tag is called 'a" + chr(10) + "tbq: all is well'"))
    no tag is called 'a
      tbq: all is well'
    """
    return re.sub(r"\n(?=[^ \n])", "\n  ", printable(_lines(text), keep="\n"))


def page(text: str) -> str:
    """A harmless text of several lines: it keeps line breaks, tabs, and the joiners that some scripts need.

    >>> print(page("a" + chr(13) + chr(10) + "b" + chr(27) + "[2J"))
    a
    b�[2J
    """
    return printable(_lines(text), keep="\n\t\u200c\u200d")


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def escaped(text: str) -> str:
    """The text with each control character as a JSON escape: the JSON value stays the same, and is harmless.

    >>> escaped('["' + chr(0x9b) + '31m"]')
    '["\\\\u009b31m"]'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in "\n\t" else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    code = ord(letter)
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code - 0x10000 & 0x3FF):04x}"


def shell_word(text: str) -> str:
    """A name as one word of a suggested command: quoted for a shell, and harmless.

    >>> print(shell_word("val/loss"), shell_word("it's; rm -r ~"), shell_word("a" + chr(27)))
    val/loss 'it'"'"'s; rm -r ~' $'a\\x1b'
    """
    import shlex

    if text.isprintable():
        return shlex.quote(text)
    raw = text.encode("utf-8", "surrogateescape" if _escapable(text) else "replace")
    return (
        "$'"
        + "".join(
            chr(byte) if 0x20 <= byte < 0x7F and byte not in b"'\\" else f"\\x{byte:02x}" for byte in raw
        )
        + "'"
    )


def sql_name(name: str) -> str:
    """A name as SQL quotes it.

    >>> print(sql_name("val/loss"))
    "val/loss"
    """
    return '"' + name.replace('"', '""') + '"'


def _escapable(text: str) -> bool:
    return all(not 0xD800 <= ord(letter) < 0xE000 or 0xDC80 <= ord(letter) < 0xDD00 for letter in text)


class Screen(io.RawIOBase):
    """A terminal as a stream of bytes: escapes the control characters in the text of a log."""

    def __init__(self, raw: io.RawIOBase) -> None:
        import codecs

        self._raw = raw
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()

    def write(self, data: Buffer) -> int:
        data_bytes = memoryview(data).cast("B")
        self._send(self._decoder.decode(data_bytes.tobytes()))
        return len(data_bytes)

    def close(self) -> None:
        if not self.closed:
            try:
                self._send(self._decoder.decode(b"", final=True))
            finally:
                self._raw.close()
                super().close()

    def _send(self, text: str) -> None:
        remaining = memoryview(escaped(text).encode())
        while remaining:
            remaining = remaining[self._raw.write(remaining) or 0 :]


# A number in a name: a version (1.2.10), or an integer or decimal with an optional exponent. A minus sign or a
# point begins a number only if it follows neither a letter nor a digit: `x=-1` is negative, `run-1` is not.
_EXPONENT = r"(?:[eE][+-]?[0-9]+(?![^\W_]))?"
_NUMBER = (
    r"([0-9]+(?:\.[0-9]+){2,}"
    rf"|(?:(?<![^\W_])-)?[0-9]+(?:\.[0-9]+)?{_EXPONENT}"
    rf"|(?<![^\W_])-?\.[0-9]+{_EXPONENT})"
)


def natural(name: str) -> list[tuple[int, float, str]]:
    """A key that sorts names as people do: numbers by value, upper and lower case alike.

    `static/order.js` has the same rule for the page; one table of cases tests both.

    >>> sorted(["lr=1e-3", "lr=0.03", "lr=0.1", "Run_10", "run_9", "v1.10.0", "v1.9.0", "x=-1", "x=-2"], key=natural)
    ['lr=1e-3', 'lr=0.03', 'lr=0.1', 'run_9', 'Run_10', 'v1.9.0', 'v1.10.0', 'x=-2', 'x=-1']
    """
    parts: list[str] = []
    for i, part in enumerate(re.split(_NUMBER, name)):
        # Compare the numbers of a version one by one.
        parts += re.split(r"(\.)", part) if i % 2 and part.count(".") > 1 else [part]
    key = [(1, float(part), part) if i % 2 else (0, 0.0, part.lower()) for i, part in enumerate(parts)]
    return [*key, (-1, 0.0, name)]


def with_digits(name: str) -> list[tuple[int, int, str]]:
    """The key that sorts files: digits compare as numbers, everything else as text.

    >>> sorted(["events.10", "events.9"], key=with_digits)
    ['events.9', 'events.10']
    """
    return [
        (0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part)
        for part in re.split(r"(\d+)", name)
    ]


def shortened(text: str, room: int) -> str:
    """The start and the end of a text that is too long: names of runs and tags differ at their ends.

    >>> shortened("experiments/train/loss", 12)
    'expe…in/loss'
    """
    if len(text) <= room:
        return text
    tail = (room - 1) * 2 // 3
    return f"{text[: room - 1 - tail]}{GAP}{text[len(text) - tail :]}"


def counted(count: int, noun: str) -> str:
    """A count with its noun in singular or plural.

    >>> counted(1, "file"), counted(2000, "file")
    ('1 file', '2,000 files')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def some_have(count: int, total: int) -> str:
    """How many of all runs have, or lack, something.

    >>> some_have(1, 60), some_have(2, 60)
    ('1 of 60 runs has', '2 of 60 runs have')
    """
    return f"{count:,} of {counted(total, 'run')} {'has' if count == 1 else 'have'}"


# How the system's names become bytes: on Windows names may contain lone surrogates; elsewhere these stand for bytes.
_ODD = "surrogatepass" if os.name == "nt" else "surrogateescape"


def some(names: Sequence[str], most: int = 3) -> str:
    """A few names and how many more there are.

    >>> some(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def shown_name(name: str) -> str:
    """A name from the system or the user, as tbq shows it.

    >>> shown_name("exp/1")
    'exp/1'
    >>> print(shown_name("exp/\\udcff"))
    exp/\\xff
    """
    from tbq import _core

    return _core.display_name(name.encode("utf-8", _ODD))


def system_name(shown: str) -> str:
    """The system's name for a name that tbq shows.

    >>> system_name(shown_name("exp/\\udcff")) == "exp/\\udcff"
    True
    """
    from tbq import _core

    try:
        return _core.raw_name(shown).decode("utf-8", _ODD)
    except UnicodeDecodeError:  # bytes that cannot be a name on Windows
        return shown


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path for a message or a table: unchanged if UTF-8 can hold it; a URL loses its secrets.

    >>> shown_path("runs/exp1"), shown_path("https://me:secret@host/runs")
    ('runs/exp1', 'https://host/runs')
    """
    text = without_secrets(os.fspath(path))
    return text if is_text(text) else shown_name(text)


# Strings, which `re` compiles on first use: few commands show a URL, and compiling takes as long as a small log.
#
# A user and a password end at the last @ before the path. If the text after the colon is not a port, they continue
# past a slash, which the user forgot to escape. A misspelt URL may hold a password, too: with one slash, with
# backslashes or without its scheme; a name without a password is a user only after a scheme.
_PASSWORD = r"[^/\\?#\s:@]*:(?!\d{1,5}(?:[/\\?#\s]|$))[^\s@]*@"
_USER = (
    rf"(?i)((?<![^\W_])[a-z][a-z0-9+.-]{{1,30}}:[/\\]{{1,2}}|(?<![\w/\\])https?[/\\]{{2}}"
    rf"|(?<![:/\\])[:/\\][/\\]+(?={_PASSWORD}))"
    rf"(?:[^/?#\s@]*@|{_PASSWORD})(?:[^/?#\s@]*@)*"
)
_QUERY = r"(?i)\b(https?:/{1,2}[^\s?#'\"<>]*)([?#])[^\s'\"<>)]*[^\s'\"<>):,]"
_NAMED_SECRET = (
    r"(?i)([?&;#][^=&\s]*(?:sig|token|secret|key|credential|passw|pwd|auth)[^=&\s]*=)[^&\s'\"<>)]+"
)
_CONTAINER = r"(?i)(?:abfss?|wasbs?)://[^/:@]+@"


def without_secrets(text: str) -> str:
    """A text with URLs that are safe to show: without users, passwords, queries and tokens.

    >>> without_secrets("cannot reach https://me:secret@host/a?sig=abc: try again")
    'cannot reach https://host/a?…: try again'
    >>> without_secrets("abfss://container@account.dfs.core.windows.net/runs")
    'abfss://container@account.dfs.core.windows.net/runs'
    """
    if "/" not in text and "\\" not in text:
        return text
    if "@" in text:
        text = "".join(_without_user(word) if "@" in word else word for word in re.split(r"(\s+)", text))
    if "?" in text or "#" in text:
        text = re.sub(_QUERY, lambda match: f"{match[1]}{match[2]}{GAP}", text)
        text = re.sub(_NAMED_SECRET, lambda match: f"{match[1]}{GAP}", text)
    return text


def _without_user(word: str) -> str:
    start, at, rest = word.rpartition("@")  # a search that cannot fail before its end takes linear time
    shown = re.sub(
        _USER, lambda match: match[0] if re.fullmatch(_CONTAINER, match[0]) else match[1], start + at
    )
    return shown + rest


def is_utf8(shown: str) -> bool:
    r"""Whether the name that tbq shows this way is UTF-8.

    >>> is_utf8("loss"), is_utf8(r"loss\xff")
    (True, False)
    """
    from tbq import _core

    if "\\" not in shown:
        return True
    try:
        _core.raw_name(shown).decode()
    except UnicodeDecodeError:
        return False
    return True


def is_text(name: str) -> bool:
    """Whether UTF-8 can hold a name. For names on disk that are not UTF-8, Python uses lone surrogates."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
