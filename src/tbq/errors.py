"""Every error that tbq raises on purpose.

    TbqError
    ├── UsageError           an invalid argument (exit code 2); also a ValueError
    │   └── SelectionError   a run, tag or step selection that leaves nothing
    ├── SourceError          a path that cannot be read: missing, empty, no permission, no event file
    ├── DamageError          damage found in strict mode
    ├── OutputError          a target that exists, cannot be written, or cannot hold the table
    ├── QueryError           an SQL query that does not run
    └── DependencyError      an extra that is not installed

A message says what, where, got / want; `hint` says what to do next. Their text (`str`) is harmless on a terminal.
Their attributes are exact, except that URLs hold no secrets.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from contextvars import ContextVar
from typing import TYPE_CHECKING

from tbq.text import paragraph, shell_word, shown_path, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_PACKAGE = __file__.removesuffix("errors.py")


class TbqError(Exception):
    """The base: `code` is stable, `path` and `offset` say where, `hint` what to do."""

    #: Names the kind of error; it stays the same.
    code: str = "error"
    #: With which `tbq` ends.
    exit_code: int = 1
    #: The error alone, without path and hint, which `str` adds.
    message: str
    #: The file, if there is one.
    path: str | None
    #: The byte in that file.
    offset: int | None
    #: What to do next.
    hint: str | None

    def __init__(
        self,
        message: str,
        *,
        path: str | os.PathLike[str] | None = None,
        offset: int | None = None,
        hint: str | None = None,
        code: str | None = None,
    ) -> None:
        message = without_secrets(message)
        self.message = message
        self.path = without_secrets(os.fspath(path)) if path is not None else None
        self.offset = offset
        self.hint = without_secrets(hint) if hint else hint
        if code is not None:
            self.code = code
        super().__init__(message)

    def __str__(self) -> str:
        where = ""
        if self.path is not None:
            path = shown_path(self.path)
            where = f"{path}: " if self.offset is None else f"{path} @ byte {self.offset}: "
        hint = f"\n  {self.hint}" if self.hint else ""
        return paragraph(f"{where}{self.message}{hint}")


class UsageError(TbqError, ValueError):
    code = "usage"
    exit_code = 2


class SelectionError(UsageError):
    code = "selection"
    exit_code = 1


class SourceError(TbqError):
    code = "source"


class DamageError(TbqError):
    code = "damage"


class OutputError(TbqError):
    code = "output"


class QueryError(TbqError):
    code = "query"


class DependencyError(TbqError):
    code = "dependency"


class TbqWarning(UserWarning):
    """A notice for the caller; nothing was lost or stopped."""

    def __str__(self) -> str:
        return paragraph(super().__str__())


def existing(path: str | os.PathLike[str]) -> OutputError:
    """The error for an output that would replace a file or an object."""
    hint = "use --force (force=True) to replace it"
    return OutputError("already exists", path=path, hint=hint, code="exists")


def missing(module: str, *, needed_for: str, extra: str | None = None) -> DependencyError:
    """The error for an extra that is not installed."""
    install = install_command(extra) if extra else f"{installer()} {module}"
    return DependencyError(f"{needed_for} needs {module}, which is not installed", hint=install)


def install_command(extra: str) -> str:
    """The command that installs an extra from where tbq itself came: an index, a clone, a file or a repository.

    >>> install_command("plot").endswith("[plot]'")
    True
    """
    return f"{installer()} {_extra(extra)}"


def installer() -> str:
    """The command that installs packages into this environment, which need not be that of the shell's `pip`.

    pipx, uv and an environment that is not activated have another `pip`, or none.
    """
    import importlib.util
    import shutil
    from pathlib import Path

    python = sys.executable or "python"
    pip = shutil.which("pip")
    if pip and Path(pip).parent == Path(python).parent:
        return "pip install"
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {shell_word(python)}"
    return f"{shell_word(python)} -m pip install"


def _extra(name: str) -> str:
    """What pip installs for an extra, as a word of a shell."""
    import importlib.metadata
    import json

    try:
        origin = json.loads(importlib.metadata.distribution("tbq").read_text("direct_url.json") or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        origin = {}
    url = origin.get("url", "")
    if not url:  # from an index
        return f"'tbq[{name}]'"
    if "dir_info" in origin:
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f"{editable}{shell_word(f'{_clone(url)}[{name}]')}"
    vcs = origin.get("vcs_info", {})
    if vcs:
        url = f"{vcs.get('vcs', 'git')}+{url}@{vcs.get('commit_id', 'HEAD')}"
    return shell_word(f"tbq[{name}] @ {url}")


def _clone(url: str) -> str:
    """The directory of a `file://` URL: `.` if that is the working directory."""
    from pathlib import Path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    path = url2pathname(urlsplit(url).path)
    try:
        return "." if Path(path).samefile(".") else path
    except OSError:
        return path


_collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)


@contextlib.contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the warnings of this context (a thread, a task) in a list, for servers that have no user to warn.

    >>> with collected_warnings() as messages:
    ...     warn("3 runs have no group")
    >>> messages
    ['3 runs have no group']
    """
    messages: list[str] = []
    token = _collected.set(messages)
    try:
        yield messages
    finally:
        _collected.reset(token)


def warn(message: str) -> None:
    """Warn at the line of the user's code that called into tbq."""
    message = without_secrets(message)
    messages = _collected.get()
    if messages is not None:
        messages.append(message)
        return
    _, level = _user_frame()
    warnings.warn(message, TbqWarning, stacklevel=level)


def caller() -> str:
    """`file:line` of the user's code that called into tbq."""
    frame, _ = _user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _user_frame() -> tuple[FrameType, int]:
    """The first frame outside of tbq, and its stack level as `warnings.warn` counts it for our caller."""
    level = 2
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    return frame, level
