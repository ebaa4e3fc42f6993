"""Paths of other machines and stores: recognised, and refused for now."""

from __future__ import annotations

import os
import re

from tbq.errors import SourceError, TbqError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# pathlib makes one slash of two; with these nobody means a run called `s3`.
_COLLAPSED = re.compile(
    r"(gs|gcs|s3|s3a|r2|az|adl|abfss?|wasbs?|hdfs|viewfs|dbfs|hf|https?|ftp|sftp|ssh|file|memory):/", re.I
)


def refuse_remote(path: str | os.PathLike[str], error: type[TbqError] = SourceError) -> None:
    """Raise if a path is a URL, unless there is a file of that name."""
    text = os.fspath(path)
    found = _SCHEME.match(text) or _COLLAPSED.match(text)
    if found is None or os.path.lexists(text):
        return
    hint = "copy it from or to there with a tool of its own, or mount it"
    if text[:5].lower() == "file:":
        hint = "write the path itself, without file://"
    raise error("remote paths are not supported yet", path=text, hint=hint, code="remote")
