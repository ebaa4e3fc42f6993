"""The embedding projector's configuration: the tensors and labels beside a run's event files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.arrow import made
from tbq.schema import columns_of
from tbq.source.urls import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arro3.core import Table

    from tbq.source import Run

_NAME = "projector_config.pbtxt"
_TOKEN = re.compile(
    r'(?P<key>\w+)\s*:?\s*(?P<open>\{)|(?P<name>\w+)\s*:\s*(?P<value>"(?:[^"\\]|\\.)*"|[^\s{}]+)|(?P<close>\})'
)
_LARGEST = 1 << 20


def embeddings_of(runs: Sequence[Run]) -> Table:
    """One row per embedding of each run that has a configuration."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        data = _configuration(run)
        if data is not None:
            text = data.decode("utf-8", "replace")
            rows += [{"run": run.name, **embedding} for embedding in embeddings(text)]
    return made("projector", {name: [row[name] for row in rows] for name, _ in columns_of("projector")})


def _configuration(run: Run) -> bytes | None:
    """The content of the configuration file; None without one."""
    if run.remote is not None and is_remote(run.path):
        return run.remote.read_beside(f"{run.path}/{_NAME}", _LARGEST)
    path = Path(run.path, _NAME)
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(_LARGEST)


def embeddings(text: str) -> Iterator[dict[str, str | None]]:
    """The embeddings of a `projector_config.pbtxt`.

    >>> config = 'embeddings { tensor_name: "w:0" metadata_path: "w.tsv" sprite { image_path: "s.png" } }'
    >>> next(embeddings(config))["sprite_path"]
    's.png'
    """
    path: list[str] = []
    current: dict[str, str | None] = {}
    for token in _TOKEN.finditer(text):
        if token["open"]:
            path.append(token["key"])
            if path == ["embeddings"]:
                current = dict.fromkeys(("tensor_name", "tensor_path", "metadata_path", "sprite_path"))
        elif token["close"]:
            if path == ["embeddings"]:
                yield current
            del path[-1:]
        elif path == ["embeddings"] and token["name"] in current:
            current[token["name"]] = _plain(token["value"])
        elif path == ["embeddings", "sprite"] and token["name"] == "image_path":
            current["sprite_path"] = _plain(token["value"])


def _plain(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
