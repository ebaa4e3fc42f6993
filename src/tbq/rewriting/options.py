"""The options of a rewrite, checked before anything is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from tbq.arguments import bad, choice, choices, mapping, whole
from tbq.errors import SelectionError, UsageError
from tbq.select import Selection, as_shown, closest_tip
from tbq.select import steps as _steps

if TYPE_CHECKING:
    from tbq.source.merge import Merging

Restarts = Literal["keep", "resume"]
RESTARTS: tuple[Restarts, ...] = get_args(Restarts)


@dataclass(frozen=True)
class Renames:
    """Old names to new ones; an old name that starts with `re:` is a regular expression for the full name.

    >>> Renames.of({"re:(.*)_loss": r"loss/\\1"}, "tag").apply("val_loss")
    'loss/val'
    """

    pairs: tuple[tuple[str, str], ...] = ()
    what: str = "tag"

    @classmethod
    def of(cls, spec: Mapping[str, str] | None, what: str, argument: str = "rename") -> Renames:
        """Compile a mapping, passed as `argument`; raises if an expression is wrong."""
        renames = mapping(argument, spec, "{'old': 'new'}") if spec is not None else {}
        for name in (*renames, *renames.values()):
            if not isinstance(name, str):
                raise bad(argument, name, "names of text")
        pairs = tuple((as_shown(old), as_shown(new)) for old, new in renames.items())
        for old, new in pairs:
            if not old.startswith("re:"):
                continue
            try:
                re.compile(old[3:], re.DOTALL).sub(new, "")  # the new name is checked even if nothing matches
            except (re.error, IndexError) as error:
                raise UsageError(
                    f"rename {old!r} to {new!r} is not a valid regular expression: {error}"
                ) from None
        return cls(pairs, what)

    def apply(self, name: str) -> str:
        """The new name of `name`, or `name` if nothing matches; an exact name wins over an expression."""
        for old, new in self.pairs:
            if old == name:
                return new
        for old, new in self.pairs:
            match = re.fullmatch(old[3:], name, re.DOTALL) if old.startswith("re:") else None
            if match:
                return match.expand(new)
        return name

    def require(self, names: Sequence[str]) -> None:
        """Raise if an old name matches none of `names`."""
        known = set(names)
        for old, _ in self.pairs:
            if old in known:
                continue
            if old.startswith("re:") and any(re.fullmatch(old[3:], name, re.DOTALL) for name in known):
                continue
            tip = closest_tip(old, sorted(known))
            raise SelectionError(f"no {self.what} is called {old!r}, so it cannot be renamed{tip}")


@dataclass(frozen=True)
class RewriteOptions:
    """What a rewrite does; `RewriteOptions.of` takes the arguments of users."""

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
    merge_runs: Merging | None
    flatten_hparams: bool
    dry_run: bool

    @classmethod
    def of(cls, **arguments: Any) -> RewriteOptions:
        """Check and compile."""
        from tbq import _core

        dropped = arguments["drop_kind"]
        nothing = dropped is None or (isinstance(dropped, list | tuple) and not dropped)
        kinds = [] if nothing else choices("drop_kind", dropped, _core.kinds())
        choice("restarts", arguments["restarts"], RESTARTS)
        drop = arguments["drop_tag"]
        return cls(
            repair=bool(arguments["repair"]),
            drop_tag=Selection.of(() if drop is None else drop),
            keep_tag=Selection.of(arguments["keep_tag"]),
            drop_kind=frozenset(kinds),
            rename=Renames.of(arguments["rename"], "tag"),
            rename_run=Renames.of(arguments["rename_run"], "run", "rename_run"),
            steps=_steps(arguments["steps"]),
            every=whole("every", arguments["every"], 1),
            max_points=whole("max_points", arguments["max_points"], 1)
            if arguments["max_points"] is not None
            else 0,
            resume=arguments["restarts"] == "resume",
            offset_steps=whole("offset_steps", arguments["offset_steps"]),
            merge_runs=arguments["merge_runs"],
            flatten_hparams=bool(arguments["flatten_hparams"]),
            dry_run=bool(arguments["dry_run"]),
        )
