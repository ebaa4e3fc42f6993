"""Event files near a path that has none, for the checks that ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.source.nearby import tops_near
from tbq.source.urls import is_remote

if TYPE_CHECKING:
    from tbq.diagnosis.survey import Survey


def near(survey: Survey) -> list[str]:
    """Directories with event files, in them or below, near the only path, which has none. Cached.

    Empty if something at the path cannot be read, or is on another machine: the logs may be in it, and the user did
    not ask about other directories.
    """
    if survey.near is None:
        elsewhere = survey.unreadable or any(error.code in ("remote", "denied") for error in survey.errors)
        elsewhere = elsewhere or any(map(is_remote, survey.named_paths))
        nothing = not survey.runs and not survey.clash and not elsewhere and len(survey.named_paths) == 1
        survey.near = tops_near(survey.named_paths[0]) if nothing else []
    return survey.near
