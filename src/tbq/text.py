"""Text of logs for people: names that may be any bytes, and everything made harmless for a terminal.

The one owner of two rules. Names are shown by the core's rule (`display_name`): no two are shown alike, and what is
shown can be selected by. And whatever a log calls its runs and tags, nothing of it moves a cursor, starts a link, fills
a clipboard, turns the direction of writing or forges a message; formats for programs (CSV, JSON) keep it as it is.
"""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

GAP = "…"

_SIGNS = {"\n": "⏎", "\r": " ", "\t": " "}


def printable(text: str, keep: str = "") -> str:
    """The text on one line, without control characters but for those in `keep`; a line break is shown as a sign.

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
    """A message of several lines, harmless; all but the first are indented, so that none passes for another message.

    >>> print(paragraph("no tag is called 'a" + chr(10) + "tbq: all is well'"))
    no tag is called 'a
      tbq: all is well'
    """
    return re.sub(r"\n(?=[^ \n])", "\n  ", printable(_lines(text), keep="\n"))


def page(text: str) -> str:
    """A text of several lines, harmless: it keeps line breaks, tabs, and the joiners that some scripts need.

    >>> print(page("a" + chr(13) + chr(10) + "b" + chr(27) + "[2J"))
    a
    b�[2J
    """
    return printable(_lines(text), keep="\n\t\u200c\u200d")


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def escaped(text: str, keep: str = "\n\t") -> str:
    """The text with each control character as a JSON escape: JSON stays the same value, and harmless.

    >>> escaped('["' + chr(0x9b) + '31m"]')
    '["\\\\u009b31m"]'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in keep else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    code = ord(letter)
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code - 0x10000 & 0x3FF):04x}"


def shell_word(text: str) -> str:
    """A name as one word of a command that is suggested: quoted for a shell, and harmless.

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


def _escapable(text: str) -> bool:
    return all(not 0xD800 <= ord(letter) < 0xE000 or 0xDC80 <= ord(letter) < 0xDD00 for letter in text)


class Screen(io.RawIOBase):
    """A terminal as a stream of bytes: what is text of a log arrives with its control characters as escapes."""

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
        given = memoryview(data).cast("B")
        self._send(self._decoder.decode(given.tobytes()))
        return len(given)

    def close(self) -> None:
        if not self.closed:
            try:
                self._send(self._decoder.decode(b"", final=True))
            finally:
                self._raw.close()
                super().close()

    def _send(self, text: str) -> None:
        left = memoryview(escaped(text).encode())
        while left:
            left = left[self._raw.write(left) or 0 :]


# A number in a name: a version (1.2.10), else an integer or a decimal, perhaps with an exponent. A minus sign or a
# point begins a number only if it follows neither a letter nor a digit: `x=-1` is negative, `run-1` is not.
_EXPONENT = r"(?:[eE][+-]?[0-9]+(?![^\W_]))?"
_NUMBER = re.compile(
    r"([0-9]+(?:\.[0-9]+){2,}"
    rf"|(?:(?<![^\W_])-)?[0-9]+(?:\.[0-9]+)?{_EXPONENT}"
    rf"|(?<![^\W_])-?\.[0-9]+{_EXPONENT})"
)


def natural(name: str) -> list[tuple[int, float, str]]:
    """A key that sorts names as people do: numbers by value, letters in either case alike.

    `static/order.js` has the same rule for the page; one table of cases tests both.

    >>> sorted(["lr=1e-3", "lr=0.03", "lr=0.1", "Run_10", "run_9", "v1.10.0", "v1.9.0", "x=-1", "x=-2"], key=natural)
    ['lr=1e-3', 'lr=0.03', 'lr=0.1', 'run_9', 'Run_10', 'v1.9.0', 'v1.10.0', 'x=-2', 'x=-1']
    """
    parts: list[str] = []
    for i, part in enumerate(_NUMBER.split(name)):
        # Each number of a version counts by itself.
        parts += re.split(r"(\.)", part) if i % 2 and part.count(".") > 1 else [part]
    key = [(1, float(part), part) if i % 2 else (0, 0.0, part.lower()) for i, part in enumerate(parts)]
    return [*key, (-1, 0.0, name)]


def with_digits(name: str) -> list[tuple[int, int, str]]:
    """The key of the order of files: digits are compared as numbers, everything else as it is.

    >>> sorted(["events.10", "events.9"], key=with_digits)
    ['events.9', 'events.10']
    """
    return [
        (0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part)
        for part in re.split(r"(\d+)", name)
    ]


def shortened(text: str, room: int) -> str:
    """The start and the end of a text that has no room: names of runs and tags differ at their ends.

    >>> shortened("experiments/train/loss", 12)
    'expe…in/loss'
    """
    if len(text) <= room:
        return text
    tail = (room - 1) * 2 // 3
    return f"{text[: room - 1 - tail]}{GAP}{text[len(text) - tail :]}"


def counted(count: int, noun: str) -> str:
    """How many of something there are.

    >>> counted(1, "file"), counted(2000, "file")
    ('1 file', '2,000 files')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def sized(count: int) -> str:
    """Bytes with a unit.

    >>> sized(1_234_567)
    '1.2 MB'
    """
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


# How the system's names become bytes: Windows has lone surrogates of its own, elsewhere they stand for bytes.
_ODD = "surrogatepass" if os.name == "nt" else "surrogateescape"


def shown_name(name: str) -> str:
    """A name that the system gave, or the user typed, as tbq shows it.

    >>> shown_name("exp/1")
    'exp/1'
    >>> print(shown_name("exp/\\udcff"))
    exp/\\xff
    """
    from tbq import _core

    return _core.display_name(name.encode("utf-8", _ODD))


def system_name(shown: str) -> str:
    """The name that is shown so, as the system takes it.

    >>> system_name(shown_name("exp/\\udcff")) == "exp/\\udcff"
    True
    """
    from tbq import _core

    try:
        return _core.raw_name(shown).decode("utf-8", _ODD)
    except UnicodeDecodeError:  # bytes that no name on Windows has
        return shown


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path for a message or a table: as it is, unless UTF-8 cannot hold it, and a URL without its secrets.

    >>> shown_path("runs/exp1"), shown_path("https://me:secret@host/runs")
    ('runs/exp1', 'https://host/runs')
    """
    text = without_secrets(os.fspath(path))
    return text if is_text(text) else shown_name(text)


# A user and a password end at the last @ before the path. If what follows the colon is not a port, they go on past a
# slash: somebody did not escape it.
_USER = re.compile(
    r"(?i)\b([a-z][a-z0-9+.-]+:/{1,2})(?:[^/?#\s@]*@|[^/?#\s:@]*:(?!\d{1,5}(?:[/?#\s]|$))[^\s@]*@)(?:[^/?#\s@]*@)*"
)
_QUERY = re.compile(r"(?i)\b(https?:/{1,2}[^\s?#'\"<>]*)([?#])[^\s'\"<>)]*[^\s'\"<>):,]")
_NAMED_SECRET = re.compile(
    r"(?i)([?&;#][^=&\s]*(?:sig|token|secret|key|credential|passw|pwd|auth)[^=&\s]*=)[^&\s'\"<>)]+"
)
_CONTAINER = re.compile(r"(?i)(?:abfss?|wasbs?)://[^/:@]+@")


def without_secrets(text: str) -> str:
    """A text whose URLs are as people may see them: without users, passwords, queries and tokens.

    >>> without_secrets("cannot reach https://me:secret@host/a?sig=abc: try again")
    'cannot reach https://host/a?…: try again'
    >>> without_secrets("abfss://container@account.dfs.core.windows.net/runs")
    'abfss://container@account.dfs.core.windows.net/runs'
    """
    if ":/" not in text:
        return text
    if "@" in text:
        text = _USER.sub(lambda match: match[0] if _CONTAINER.fullmatch(match[0]) else match[1], text)
    if "?" in text or "#" in text:
        text = _QUERY.sub(lambda match: f"{match[1]}{match[2]}{GAP}", text)
        text = _NAMED_SECRET.sub(lambda match: f"{match[1]}{GAP}", text)
    return text


def is_utf8(shown: str) -> bool:
    r"""Whether the name that is shown so is UTF-8.

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
    """Whether UTF-8 can hold a name. Python gives names that are not UTF-8 on disk lone surrogates."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
