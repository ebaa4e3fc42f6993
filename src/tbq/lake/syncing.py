"""`tbq.lake.sync`: brings a lake to what a log directory is now."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from tbq.arguments import StrPath, choice, choices
from tbq.columns.codes import values_of
from tbq.decode.sub_runs import SubRuns, SubRunsAs
from tbq.errors import OutputError, SourceError, UsageError, warn
from tbq.lake import position as positions
from tbq.lake.decoded import Selected
from tbq.lake.layout import DROPPED, OVERVIEWS, TABLES, check_config, make_config, read_config, refuse_others
from tbq.lake.order import in_log_order, labels_of
from tbq.lake.plan import UNFINISHED, UNREAD, Plan, plan, standing
from tbq.lake.position import Change, Position
from tbq.lake.stamps import bytes_in, noted
from tbq.lake.tables import ConflictError, LakeTable, deltalake_there, look
from tbq.lake.tail import decode_tails
from tbq.lake.work import Written, shares, work
from tbq.memory import give_back
from tbq.problems import brief
from tbq.schema import SERIES
from tbq.select import Names, Selection
from tbq.source.discover import (
    Found,
    Source,
    absolute,
    find,
    is_lake,
    refuse_remote_lakes,
    remote_for,
    sources,
)
from tbq.source.inflate import Unpacked
from tbq.text import counted, shown_path

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.lake.place import Place
    from tbq.limits import Size
    from tbq.progress import Progress
    from tbq.source import Run
    from tbq.storage import Storage

Engine = Literal["local", "ray"]
_ATTEMPTS = 20


@dataclass
class Synced:
    """What a sync did: how many runs were new, grown, replaced and gone, and how many rows of values it wrote."""

    added: int = 0
    grown: int = 0
    replaced: int = 0
    gone: int = 0
    rows: int = 0
    commits: int = 0
    #: how many runs stay as they were, because a file of theirs cannot be read now
    unread: int = 0
    #: how many problems the lake has, if anything changed
    problems: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.grown or self.replaced or self.gone)

    def __str__(self) -> str:
        names = ("added", "new"), ("grown", "grown"), ("replaced", "replaced"), ("gone", "gone")
        parts = [
            f"{counted(number, 'run')} {word}" for name, word in names if (number := getattr(self, name))
        ]
        said = f"{', '.join(parts)}; {counted(self.rows, 'row')} written" if parts else "nothing new"
        return f"{said}; {counted(self.unread, 'run')} could not be read" if self.unread else said


@dataclass
class Job:
    """What to sync, and how; kept over the rounds of `--watch`."""

    place: Place
    source: list[tuple[str | None, str]]
    run: Selection
    selected: Selected
    unpacked: Unpacked
    progress: Progress | None = None
    engine: Engine = "local"
    keep_gone: bool = False
    compact: bool | None = None
    retention: float = 168.0
    config: dict[str, Any] = field(default_factory=dict)
    storage: Storage | None = None
    cache: StrPath | None = None
    sub_runs: SubRuns | None = None  # None if they are runs of their own
    found: Found | None = None  # by the first look, which the first round need not repeat


def sync(
    source: Source,
    lake: str | os.PathLike[str],
    *,
    run: Names = None,
    tag: Names = None,
    kinds: Sequence[str] | str | None = None,
    keep_gone: bool = False,
    compact: bool | None = None,
    retention: float = 168.0,
    engine: Engine = "local",
    threads: int | None = None,
    progress: Progress | None = None,
    max_unpacked: Size | None = None,
    storage: Storage | None = None,
    cache: StrPath | None = None,
    sub_runs: SubRunsAs = "fold",
) -> Synced:
    """Bring a lake to what the log directory is now; only what is new is read. The lake is made if it does not exist.

    `run`, `tag` and `kinds` select what the lake has; they are the same for each sync of a lake. Runs that are gone
    from the log directory are taken out of the lake unless `keep_gone`. `compact=True` joins small data files now,
    `False` not even if there are many; files that are not needed any more are deleted after `retention` hours.

    Both may be URLs of object stores; `storage`, `cache` and `sub_runs` are those of `tbq.open`.

    >>> print(tbq.lake.sync("runs", "lake"))
    9 runs new; 3,678 rows written
    >>> print(tbq.lake.sync("runs", "lake"))
    nothing new
    """
    from tbq.lake.place import place_of

    deltalake_there()
    choice("engine", engine, ("local", "ray"))
    choice("sub_runs", sub_runs, get_args(SubRunsAs))
    if isinstance(retention, bool) or not isinstance(retention, int | float) or not 0 <= retention < 1e6:
        raise UsageError(f"retention={retention!r} is not a number of hours", hint="want 0 or more")
    values = tuple(kind for kind in TABLES if kind in SERIES)
    wanted = values if kinds is None else tuple(choices("kinds", kinds, values))
    runs, tags = Selection.of(run, "run"), Selection.of(tag, "tag")
    for selection in (runs, tags):
        selection.resolve([])  # raises if something is not a regular expression
    named = [absolute(name, path) for name, path in sources(source)]
    config = {
        "sources": [[name, path] for name, path in named],
        "run": _items(runs),
        "tag": _items(tags),
        "kinds": None if kinds is None else list(wanted),
        "sub_runs": None if sub_runs == "fold" else sub_runs,
    }
    job = Job(
        place_of(lake, storage), named, runs, Selected(tags, wanted, threads), Unpacked(max_unpacked), progress,
        engine, keep_gone, compact, float(retention), config, storage, cache,
    )  # fmt: skip
    if sub_runs == "fold":
        job.sub_runs = SubRuns(job.unpacked)
    _begin(job)
    return run_once(job)


def _begin(job: Job) -> None:
    """Make the lake if it does not exist; raise if it cannot be one of this log."""
    for _, path in job.source:
        if path == job.place.url or is_lake(path):
            raise UsageError(
                "is a lake, not a log directory"
                if is_lake(path)
                else "is a log directory: it cannot be its own lake",
                path=path,
                hint="tbq sync LOGDIR LAKE: the lake comes last, in a folder of its own",
            )
    known = read_config(job.place)
    if known is None:
        refuse_others(job.place, job.place.folders())
        job.found = _found(job)  # raises if there is nothing to make a lake of
        make_config(job.place, job.config)
        known = read_config(job.place) or {}
    check_config(job.place, known, job.config)


def run_once(job: Job) -> Synced:
    """One round: look, decide, read, commit; again from the start if another sync committed first."""
    from tbq.lake.maintenance import maintain

    done = Synced()
    for attempt in range(_ATTEMPTS):
        try:
            with job.place.lock():
                _round(job, done)
                maintain(job.place, job.compact, job.retention, bool(done))
            give_back()  # whoever syncs once does it again, all day
            return done
        except ConflictError:
            time.sleep(random.uniform(0, 0.05 * 2 ** min(attempt, 6)))
    raise OutputError(
        "other syncs of this lake commit all the time: nothing could be committed",
        path=job.place.url,
        hint="let one process sync a lake",
        code="lake",
    )


def _round(job: Job, done: Synced) -> None:
    """One round; another one if it found that an item of the selection of tags is a name, or is none any more."""
    while not _settled_round(job, done):
        pass


def _settled_round(job: Job, done: Synced) -> bool:
    found = _found(job)
    names = set(job.run.resolve([run.name for run in found.runs]).names)
    tables = look(job.place)
    position, complete = standing(job.place, tables)
    # Of a directory that was listed in part, some files may be missing.
    cut_short = {problem.path for problem in found.problems}
    runs = [
        run
        for run in found.runs
        if run.name in names and not (run.path in cut_short and run.name in position.stamps)
    ]
    known = _known_names(job, tables)
    if (known, positions.RULES) != (position.known, position.rules):  # rows were made otherwise
        position.forget(list(position.stamps))
        position.known, position.rules = known, positions.RULES
    selected = replace(job.selected, tag=job.selected.tag.settled(known))
    # A directory that cannot be listed may hold runs: what is not seen then is not gone.
    todo = plan(runs, position, keep_gone=job.keep_gone or bool(found.problems))
    if not todo and complete:
        return True
    committer = Committer(job, tables, position, position.version if complete else position.complete, done)
    done.unread = 0
    for changes, written in _written(job, selected, todo, tables, done):
        committer.commit(changes, written)
    done.problems = _count(tables["problems"])
    standing_at = {table.version for table in tables.values()}
    positions.clean(job.place, {committer.position.version, committer.complete, *standing_at}, time.time())
    return _known_names(job, tables) == known


def _known_names(job: Job, tables: Mapping[str, LakeTable]) -> list[str]:
    """The names of tags in the lake that an item of the selection is: it takes that tag alone."""
    if job.selected.tag.everything:
        return []
    return sorted(
        job.selected.tag.settled(
            name for kind in ("tags", DROPPED) for name in tables[kind].names("tag")
        ).known
    )


@dataclass
class Changes:
    """The runs of one commit: `old` have rows in the tables of values that are replaced, `known` in the overviews."""

    old: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)
    stamps: dict[str, str] = field(default_factory=dict)
    counts: Synced = field(default_factory=Synced)


def _written(
    job: Job, selected: Selected, todo: Plan, tables: Mapping[str, LakeTable], done: Synced
) -> Iterator[tuple[Changes, Written]]:
    """The shares of the work, as they are done: what grew and what is gone first, then what is read from its start."""
    replaced = list(todo.replaced)
    if todo.grown or todo.gone:
        names = {each.run.name for each in todo.grown}
        known = {kind: tables[kind].rows_of(names)[0] for kind in (DROPPED, *OVERVIEWS)} if names else {}
        tails, refused = decode_tails(todo.grown, known, selected, job.unpacked, job.progress)
        replaced += refused
        grown = names - {run.name for run in refused}
        changes = Changes(
            old=set(todo.gone),
            known={*todo.gone, *grown},
            gone=todo.gone,
            stamps={name: todo.stamps[name] for name in grown},
            counts=Synced(grown=len(grown), gone=len(todo.gone)),
        )
        if grown or todo.gone:
            yield changes, Written.of(job.place, tails)
    fresh = {run.name for run in todo.added}
    runs = sorted([*todo.added, *replaced], key=lambda run: run.name)
    had = _read_before(tables, {run.name for run in replaced})
    for share, written in _work(job, selected, runs, had, lambda run: bytes_in(todo.stamps[run.name])):
        for name, problems in written.kept.items():
            for line in brief(problems):
                warn(f"{line}; the lake keeps its rows of run {name!r}, and the next sync tries again")
        done.unread += len(written.kept)
        names = {run.name for run in share} - written.kept.keys()
        if not names:
            continue
        yield (
            Changes(
                old=names - fresh,
                known=names - fresh,
                stamps={name: todo.stamps[name] for name in names},
                counts=Synced(added=len(names & fresh), replaced=len(names - fresh)),
            ),
            written,
        )


def _read_before(tables: Mapping[str, LakeTable], runs: set[str]) -> dict[str, set[str]]:
    """Of each of these runs the files that were read to their end."""
    if not runs:
        return {}
    files, problems = (tables[kind].rows_of(runs)[0] for kind in ("files", "problems"))
    failed = {
        path
        for path, code in zip(values_of(problems["path"]), values_of(problems["code"]), strict=True)
        if code in ("unreadable", "read_failed", "unpacking")
    }
    out: dict[str, set[str]] = {}
    for run, path in zip(values_of(files["run"]), values_of(files["path"]), strict=True):
        if path not in failed:
            out.setdefault(run, set()).add(path)
    return out


def _work(
    job: Job,
    selected: Selected,
    runs: Sequence[Run],
    had: Mapping[str, Collection[str]],
    size_of: Callable[[Run], int],
) -> Iterator[tuple[Sequence[Run], Written]]:
    if job.engine == "ray" and runs:
        from tbq.lake.cluster import work_on_cluster

        yield from work_on_cluster(job.place, runs, selected, had, job.unpacked.limit)
        return
    for share in shares(runs, size_of=size_of):
        yield share, work(job.place, share, selected, job.unpacked, job.progress, had)


class Committer:
    """Commits one share after the other: its position first, then each table that changes."""

    def __init__(
        self, job: Job, tables: dict[str, LakeTable], position: Position, complete: int, done: Synced
    ) -> None:
        self.position, self.complete = position, complete
        self._place, self._tables, self._done = job.place, tables, done

    def commit(self, changes: Changes, written: Written) -> None:
        """Make the share part of the lake."""
        ready = {
            kind: files for kind in self._tables if (files := self._files(kind, changes, written)) is not None
        }
        entries = _entries(changes.stamps, written)
        entries |= {name: Change(None) for name in changes.gone}
        # What is forgotten and comes in a later share stays so, whatever happens before that.
        unknown = [name for name, stamps in self.position.stamps.items() if not stamps]
        entries |= {name: Change("") for name in unknown if name not in entries}
        versions = {kind: table.version for kind, table in self._tables.items()}
        while True:
            number = positions.next_version(self._place, versions.values())
            standing = {kind: version for kind, version in versions.items() if version}
            standing |= dict.fromkeys(ready, number)
            saved = positions.save(self._place, self.position, number, standing, self.complete, entries)
            if saved is not None:
                break
        for kind, (added, removed) in ready.items():
            self._tables[kind].commit(number, added, removed)
            self._tables[kind] = LakeTable(self._place, kind, exists=True)
            if self._tables[kind].version != number:
                raise ConflictError(f"{kind}: another sync committed before it was looked at again")
            self._done.commits += 1
        self.position = saved
        self.complete = number
        counts = changes.counts
        self._done.added += counts.added
        self._done.grown += counts.grown
        self._done.replaced += counts.replaced
        self._done.gone += counts.gone
        self._done.rows += written.rows

    def _files(self, kind: str, changes: Changes, written: Written) -> tuple[list[Any], list[Any]] | None:
        """The data files that a table gets and loses; None if it stays as it is."""
        table = self._tables[kind]
        replaced = changes.old if kind in SERIES else changes.known
        rest: pa.Table | None = None
        removed: list[Any] = []
        if replaced and table.exists:
            _, removed, rest = table.rows_of(replaced)
        added = list(written.files.get(kind, []))
        fresh = written.overviews.get(kind)
        parts = [part for part in (rest, fresh) if part is not None and len(part)]
        if parts:
            import pyarrow as pa

            rows = pa.concat_tables(parts).unify_dictionaries()
            added += table.write(in_log_order(rows, labels_of(kind)))
        return (added, removed) if added or removed else None


def _entries(stamps: Mapping[str, str], written: Written) -> dict[str, Change]:
    """What the position says of these runs."""
    notes: dict[str, list[str]] = {run: [UNFINISHED] for run in _unfinished(written)}
    for run, places in written.unread.items():
        notes.setdefault(run, []).append(UNREAD + ",".join(map(str, places)))
    return {
        run: Change(noted(stamp, notes.get(run, ())), written.states.get(run, ""))
        for run, stamp in stamps.items()
    }


def _unfinished(written: Written) -> set[str]:
    """The runs whose last record is unfinished, of which nobody knows yet whether that is a loss."""
    problems = written.overviews.get("problems")
    if problems is None:
        return set()
    columns = (problems[name].to_pylist() for name in ("run", "code", "severity"))
    return {
        run
        for run, code, severity in zip(*columns, strict=True)
        if code == "truncated" and severity == "info"
    }


def _count(table: LakeTable) -> int:
    return sum(int(file.stats["numRecords"]) for file in table.files)


def _found(job: Job) -> Found:
    """The runs; raises if there are none, and says what could not be listed."""
    if job.found is not None:
        found, job.found = job.found, None
        return found
    found = find(job.source, remote=remote_for(job.source, job.storage, job.cache))
    refuse_remote_lakes(found, "a lake is made of event files")
    if not found.runs:
        raise SourceError(
            "no event files here",
            path=", ".join(map(shown_path, found.paths)),
            hint="the lake stays as it is; delete it if the runs shall not be kept",
            code="no_event_files",
        )
    if job.sub_runs is not None:
        found = job.sub_runs.fold(found)
    for line in brief(found.problems):
        warn(f"{line}; what the lake has of it stays, and the next sync looks again")
    return found


def _items(selection: Selection) -> list[str] | None:
    return None if selection.everything else list(selection.items or ())
