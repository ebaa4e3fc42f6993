"""The options of a rewrite, checked before anything is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tbq.arguments import whole
from tbq.errors import SelectionError, UsageError
from tbq.select import Selection, closest
from tbq.select import steps as _steps
from tbq.text import is_text, shown_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RESTARTS = ("keep", "resume")


@dataclass(frozen=True)
class Renames:
    """Old names to new ones; an old name that starts with `re:` is an expression for whole names.

    >>> Renames.of({"re:(.*)_loss": r"loss/\\1"}, "tag").apply("val_loss")
    'loss/val'
    """

    pairs: tuple[tuple[str, str], ...] = ()
    what: str = "tag"

    @classmethod
    def of(cls, spec: Mapping[str, str] | None, what: str) -> Renames:
        """Compile a mapping; a wrong expression is an error here and now."""
        pairs = tuple((_shown(old), _shown(new)) for old, new in (spec or {}).items())
        made = cls(pairs, what)
        for old, new in pairs:
            if not old.startswith("re:"):
                continue
            try:
                re.compile(old[3:], re.DOTALL).sub(new, "")  # the new name is read even if nothing matches
            except (re.error, IndexError) as wrong:
                raise UsageError(f"rename {old!r} to {new!r} is no regular expression: {wrong}") from None
        return made

    def apply(self, name: str) -> str:
        """The new name of `name`, which is `name` where nothing matches; an exact name wins over an expression."""
        for old, new in self.pairs:
            if old == name:
                return new
        for old, new in self.pairs:
            found = re.fullmatch(old[3:], name, re.DOTALL) if old.startswith("re:") else None
            if found:
                return found.expand(new)
        return name

    def require(self, names: Sequence[str]) -> None:
        """Raise where an old name is none of `names`."""
        known = set(names)
        for old, _ in self.pairs:
            if old in known:
                continue
            if old.startswith("re:") and any(re.fullmatch(old[3:], name, re.DOTALL) for name in known):
                continue
            near = closest(old, sorted(known))
            raise SelectionError(
                f"no {self.what} is called {old!r}, so it cannot be renamed",
                hint=f"closest: {', '.join(near)}" if near else None,
            )


def _shown(name: str) -> str:
    """A name as tbq shows it, also if the shell passed the bytes that a directory is called by."""
    return name if name.startswith("re:") or is_text(name) else shown_name(name)


@dataclass(frozen=True)
class Options:
    """What a rewrite shall do; `Options.of` takes what users write."""

    repair: bool
    drop_tag: Selection
    keep_tag: Selection
    drop_kind: frozenset[str]
    rename: Renames
    rename_run: Renames
    steps: tuple[int, int]
    every: int
    max_points: int
    resume: bool
    offset_steps: int
    merge_runs: dict[str, list[str]]
    flatten_hparams: bool
    dry_run: bool

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Check and compile."""
        from tbq import _core

        kinds = given["drop_kind"]
        kinds = [kinds] if isinstance(kinds, str) else list(kinds or ())
        for kind in kinds:
            if kind not in _core.kinds():
                raise UsageError(f"drop_kind={kind!r} is no kind, want one of: {', '.join(_core.kinds())}")
        if given["restarts"] not in RESTARTS:
            raise UsageError(f"restarts={given['restarts']!r} is unknown, want one of: {', '.join(RESTARTS)}")
        merge: dict[str, list[str]] = {}
        for name, parts in (given["merge_runs"] or {}).items():
            name, parts = _shown(name), [parts] if isinstance(parts, str) else parts
            merge[name] = [_shown(part) for part in parts]
            if len(set(merge[name])) < 2:
                raise UsageError(f"merge_runs: {name!r} needs two runs or more, got {', '.join(merge[name])}")
        drop = given["drop_tag"]
        return cls(
            repair=bool(given["repair"]),
            drop_tag=Selection.of(() if drop is None else drop),
            keep_tag=Selection.of(given["keep_tag"]),
            drop_kind=frozenset(kinds),
            rename=Renames.of(given["rename"], "tag"),
            rename_run=Renames.of(given["rename_run"], "run"),
            steps=_steps(given["steps"]),
            every=whole("every", given["every"], 1),
            max_points=whole("max_points", given["max_points"], 1) if given["max_points"] is not None else 0,
            resume=given["restarts"] == "resume",
            offset_steps=whole("offset_steps", given["offset_steps"]),
            merge_runs=merge,
            flatten_hparams=bool(given["flatten_hparams"]),
            dry_run=bool(given["dry_run"]),
        )
