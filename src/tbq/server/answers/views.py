"""Views that a group of people shares: names for links to the page, in a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tbq.errors import UsageError
from tbq.server.http.encoding import Answer, json_answer

if TYPE_CHECKING:
    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

_LARGEST = 1_000_000  # bytes of the file
_HINT = 'want JSON such as {"learning rates": "group=hparam.lr&tags=val/*"}; the page copies it: Views'


def views(log: LiveLog, _params: Params) -> Answer:
    """The shared views by name; the file is read at each request, so that people can change it."""
    return json_answer({"views": {} if log.views is None else read(log.views)})


def read(path: Path) -> dict[str, str]:
    """The views of a file: for each name, what follows the # of a link."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as wrong:
        raise UsageError(f"cannot read the views {path.name}: {wrong.strerror or wrong}") from None
    if len(data) > _LARGEST:
        raise UsageError(f"the views {path.name} have more than {_LARGEST:,} bytes")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise UsageError(f"the views {path.name} are not JSON", hint=_HINT) from None
    if not isinstance(found, dict) or not all(isinstance(link, str) for link in found.values()):
        raise UsageError(f"the views {path.name} are not names with links", hint=_HINT)
    return {name: link.partition("#")[2] if "#" in link else link for name, link in found.items()}
