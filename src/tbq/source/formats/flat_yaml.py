"""Reads the top level of YAML files that trackers write: `key: value` per line. Nested values are left out."""

from __future__ import annotations

import os
import re
from typing import Any

from tbq.source.formats.text_rows import parsed

_LINE = re.compile(r"([^\s:#\-][^:\n]*):[ \t]+(\S.*?)[ \t]*")
_MOST = 1 << 20


def flat_yaml(path: str) -> dict[str, Any]:
    """The values of a file by name; empty if there is no such file. Raises OSError if it cannot be read.

    >>> flat_yaml("no/such/file")
    {}
    """
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(_MOST)
    values: dict[str, Any] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is not None and not match[2].startswith(("{", "[", "&", "*", "!", "|", ">")):
            values[match[1].strip("'\"")] = _value(match[2])
    return values


def _value(text: str) -> Any:
    if text[0] == text[-1] and text[0] in "'\"" and len(text) > 1:
        return text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1]
    if text in ("null", "~"):
        return None
    if text in ("true", "false"):
        return text == "true"
    return parsed(text)
