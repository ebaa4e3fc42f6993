"""`tbq.lake.sync`: brings a lake up to date with a log directory."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from tbq.arguments import StrPath, choice, choices
from tbq.columns.codes import values_of
from tbq.decode.sub_runs import SubRunFolder, SubRunsAs
from tbq.errors import OutputError, SourceError, UsageError, warn
from tbq.lake import position as positions
from tbq.lake.decoded import LakeSelection, decode_runs
from tbq.lake.layout import (
    DROPPED,
    INTERNAL,
    OVERVIEWS,
    TABLES,
    check_config,
    make_config,
    read_config,
    refuse_others,
)
from tbq.lake.order import in_log_order, labels_of
from tbq.lake.plan import UNFINISHED, UNREAD, Plan, has_as_sub_run, plan, standing
from tbq.lake.position import Position, RunChange
from tbq.lake.share import Written, shares
from tbq.lake.stamps import bytes_in, noted
from tbq.lake.tables import ConflictError, LakeTable, open_tables, require_deltalake
from tbq.lake.tail import decode_tails
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
from tbq.source.urls import is_remote, place_of
from tbq.text import counted, shown_path

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.lake.location import Location
    from tbq.limits import Size
    from tbq.progress import Progress
    from tbq.source import Run
    from tbq.storage import Storage

Engine = Literal["local", "ray"]
_ATTEMPTS = 20


@dataclass
class Synced:
    """What a sync did: the number of new, grown, replaced and gone runs, and of rows of values written.

    >>> print(tbq.lake.Synced(added=2, rows=40))
    2 runs new; 40 rows written
    """

    added: int = 0
    grown: int = 0
    replaced: int = 0
    gone: int = 0
    rows: int = 0
    commits: int = 0
    #: number of runs that keep their old rows, because one of their files cannot be read now
    unread: int = 0
    #: number of problems that the lake lists, if anything changed
    problems: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.grown or self.replaced or self.gone)

    def __str__(self) -> str:
        names = ("added", "new"), ("grown", "grown"), ("replaced", "replaced"), ("gone", "gone")
        parts = [
            f"{counted(number, 'run')} {word}" for name, word in names if (number := getattr(self, name))
        ]
        text = f"{', '.join(parts)}; {counted(self.rows, 'row')} written" if parts else "nothing new"
        return f"{text}; {counted(self.unread, 'run')} could not be read" if self.unread else text


@dataclass
class SyncJob:
    """What to sync, and how. `--watch` keeps it from round to round."""

    place: Location
    source: list[tuple[str | None, str]]
    run: Selection
    selected: LakeSelection
    unpacked: Unpacked
    progress: Progress | None = None
    engine: Engine = "local"
    keep_gone: bool = False
    compact: bool | None = None
    retention: float = 168.0
    config: dict[str, Any] = field(default_factory=dict)
    storage: Storage | None = None
    cache: StrPath | None = None
    sub_runs: SubRunFolder | None = None  # None if they are runs of their own
    found: Found | None = None  # the first listing, which the first round need not repeat


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
    """Bring a lake up to date with the log directory, reading only what is new. Creates the lake if necessary.

    `run`, `tag` and `kinds` select what the lake contains; every sync of a lake must use the same selection. Runs that
    are gone from the log directory are removed from the lake unless `keep_gone` is set. `compact=True` joins small data
    files now, `compact=False` never does. Data files that are no longer needed are deleted after `retention` hours.

    Source and lake may be URLs of object stores; `storage`, `cache` and `sub_runs` are as in `tbq.open`.

    >>> print(tbq.lake.sync("runs", "lake"))
    9 runs new; 3,678 rows written
    >>> print(tbq.lake.sync("runs", "lake"))
    nothing new
    """
    from tbq.lake.location import location_of

    require_deltalake()
    choice("engine", engine, ("local", "ray"))
    choice("sub_runs", sub_runs, get_args(SubRunsAs))
    if isinstance(retention, bool) or not isinstance(retention, int | float) or not 0 <= retention < 1e6:
        raise UsageError(f"retention={retention!r} is not a number of hours", hint="want 0 or more")
    values = tuple(kind for kind in TABLES if kind in SERIES)
    wanted = values if kinds is None else tuple(choices("kinds", kinds, values))
    runs, tags = Selection.of(run, "run"), Selection.of(tag, "tag")
    for selection in (runs, tags):
        selection.resolve([])  # raises on an invalid regular expression
    named = [absolute(name, path) for name, path in sources(source)]
    if is_remote(text := os.fspath(lake)):
        from tbq.export.upload import refuse_web_server

        refuse_web_server(place_of(text))
    config = {
        "sources": [[name, path] for name, path in named],
        "run": _items(runs),
        "tag": _items(tags),
        "kinds": None if kinds is None else list(wanted),
        "sub_runs": None if sub_runs == "fold" else sub_runs,
    }
    job = SyncJob(
        location_of(lake, storage), named, runs, LakeSelection(tags, wanted, threads), Unpacked(max_unpacked), progress,
        engine, keep_gone, compact, float(retention), config, storage, cache,
    )  # fmt: skip
    if sub_runs == "fold":
        job.sub_runs = SubRunFolder(job.unpacked)
    _begin(job)
    return run_once(job)


def _begin(job: SyncJob) -> None:
    """Create the lake if it does not exist; raise if it cannot be a lake of this log."""
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
        job.found = _found(job)  # raises if the source has no event files
        make_config(job.place, job.config)
        known = read_config(job.place) or {}
    check_config(job.place, known, job.config)


def run_once(job: SyncJob) -> Synced:
    """One round: list, plan, read, commit. If another sync commits first, start over."""
    from tbq.lake.maintenance import maintain

    done = Synced()
    for attempt in range(_ATTEMPTS):
        try:
            with job.place.lock():
                _round(job, done)
                maintain(job.place, job.compact, job.retention, bool(done))
            give_back()  # a process that syncs usually does so all day
            return done
        except ConflictError:
            time.sleep(random.uniform(0, 0.05 * 2 ** min(attempt, 6)))
    raise OutputError(
        "nothing could be committed: other syncs of this lake keep committing first",
        path=job.place.url,
        hint="let one process sync a lake",
        code="lake",
    )


def _round(job: SyncJob, done: Synced) -> None:
    """One round. Repeats it if an item of the tag selection turned out to be the name of a tag, or no longer is."""
    while not _settled_round(job, done):
        pass


def _settled_round(job: SyncJob, done: Synced) -> bool:
    tables = open_tables(job.place)
    position, complete = standing(job.place, tables)
    if job.sub_runs is not None:
        job.sub_runs.was_sub_run = partial(has_as_sub_run, position)
    found = _found(job)
    names = set(job.run.resolve([run.name for run in found.runs]).names)
    # A directory that was listed only in part may have more files.
    cut_short = {problem.path for problem in found.problems}
    runs = [
        run
        for run in found.runs
        if run.name in names and not (run.path in cut_short and run.name in position.stamps)
    ]
    known = _known_names(job, tables)
    if (known, positions.RULES) != (position.known, position.rules):  # rows were made by other rules
        position.forget(list(position.stamps))
        position.known, position.rules = known, positions.RULES
    selected = replace(job.selected, tag=job.selected.tag.settled(known))
    # A directory that cannot be listed may hold runs, so a run that is not listed may still exist.
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


def _known_names(job: SyncJob, tables: Mapping[str, LakeTable]) -> list[str]:
    """The items of the selection that are names of tags in the lake. Such an item selects that tag only."""
    if job.selected.tag.everything:
        return []
    return sorted(
        job.selected.tag.settled(
            name for kind in ("tags", DROPPED) for name in tables[kind].names("tag")
        ).known
    )


@dataclass
class CommitRuns:
    """The runs of one commit. `old` runs have rows to replace in the tables of values, `known` runs in overviews."""

    old: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)
    stamps: dict[str, str] = field(default_factory=dict)
    counts: Synced = field(default_factory=Synced)


def _written(
    job: SyncJob, selected: LakeSelection, todo: Plan, tables: Mapping[str, LakeTable], done: Synced
) -> Iterator[tuple[CommitRuns, Written]]:
    """The shares as they are written: grown and gone runs first, then the runs that are read from their start."""
    replaced = list(todo.replaced)
    if todo.grown or todo.gone:
        names = {each.run.name for each in todo.grown}
        known = {kind: tables[kind].rows_of(names)[0] for kind in (*INTERNAL, *OVERVIEWS)} if names else {}
        tails, refused = decode_tails(todo.grown, known, selected, job.unpacked, job.progress)
        replaced += refused
        grown = names - {run.name for run in refused}
        changes = CommitRuns(
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
    for share, written in _write_shares(
        job, selected, runs, had, lambda run: bytes_in(todo.stamps[run.name])
    ):
        for name, problems in written.kept.items():
            for line in brief(problems):
                warn(f"{line}; the lake keeps its rows of run {name!r}, and the next sync tries again")
        done.unread += len(written.kept)
        names = {run.name for run in share} - written.kept.keys()
        if not names:
            continue
        yield (
            CommitRuns(
                old=names - fresh,
                known=names - fresh,
                stamps={name: todo.stamps[name] for name in names},
                counts=Synced(added=len(names & fresh), replaced=len(names - fresh)),
            ),
            written,
        )


def _read_before(tables: Mapping[str, LakeTable], runs: set[str]) -> dict[str, set[str]]:
    """For each of these runs, the files that were read to their end."""
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


def _write_shares(
    job: SyncJob,
    selected: LakeSelection,
    runs: Sequence[Run],
    had: Mapping[str, Collection[str]],
    size_of: Callable[[Run], int],
) -> Iterator[tuple[Sequence[Run], Written]]:
    if job.engine == "ray" and runs:
        from tbq.lake.cluster import write_shares_on_cluster

        yield from write_shares_on_cluster(job.place, runs, selected, had, job.unpacked.limit)
        return
    for share in shares(runs, size_of=size_of):
        decoded = decode_runs(share, selected, job.unpacked, job.progress, had)
        yield share, Written.of(job.place, decoded)


class Committer:
    """Commits one share after another: its position first, then each table that changes."""

    def __init__(
        self, job: SyncJob, tables: dict[str, LakeTable], position: Position, complete: int, done: Synced
    ) -> None:
        self.position, self.complete = position, complete
        self._place, self._tables, self._done = job.place, tables, done

    def commit(self, changes: CommitRuns, written: Written) -> None:
        """Make the share part of the lake."""
        ready = {
            kind: files for kind in self._tables if (files := self._files(kind, changes, written)) is not None
        }
        entries = _entries(changes.stamps, written)
        entries |= {name: RunChange(None) for name in changes.gone}
        # A forgotten run stays forgotten until a later share contains it.
        unknown = [name for name, stamps in self.position.stamps.items() if not stamps]
        entries |= {name: RunChange("") for name in unknown if name not in entries}
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
                raise ConflictError(f"{kind}: another sync committed before the table was reopened")
            self._done.commits += 1
        self.position = saved
        self.complete = number
        counts = changes.counts
        self._done.added += counts.added
        self._done.grown += counts.grown
        self._done.replaced += counts.replaced
        self._done.gone += counts.gone
        self._done.rows += written.rows

    def _files(self, kind: str, changes: CommitRuns, written: Written) -> tuple[list[Any], list[Any]] | None:
        """The data files that a table gains and loses; None if it does not change."""
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


def _entries(stamps: Mapping[str, str], written: Written) -> dict[str, RunChange]:
    """The position's entries for these runs."""
    notes: dict[str, list[str]] = {run: [UNFINISHED] for run in _unfinished(written)}
    for run, places in written.unread.items():
        notes.setdefault(run, []).append(UNREAD + ",".join(map(str, places)))
    return {
        run: RunChange(noted(stamp, notes.get(run, ())), written.states.get(run, ""))
        for run, stamp in stamps.items()
    }


def _unfinished(written: Written) -> set[str]:
    """The runs with an unfinished last record that may still turn out to be a loss."""
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


def _found(job: SyncJob) -> Found:
    """The runs. Raises if there are none; warns about directories that could not be listed."""
    if job.found is not None:
        found, job.found = job.found, None
        return found
    found = find(job.source, remote=remote_for(job.source, job.storage, job.cache))
    refuse_remote_lakes(found, "a lake is made of event files")
    if not found.runs:
        raise SourceError(
            "no event files here",
            path=", ".join(map(shown_path, found.paths)),
            hint="the lake is unchanged; delete it if you do not want to keep its runs",
            code="no_event_files",
        )
    if job.sub_runs is not None:
        found = job.sub_runs.fold(found)
    for line in brief(found.problems):
        warn(f"{line}; the lake keeps its rows of it, and the next sync tries again")
    return found


def _items(selection: Selection) -> list[str] | None:
    return None if selection.everything else list(selection.items or ())
