"""The layout of a lake: its tables, their columns, and the configuration file that marks a folder as a lake."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tbq.errors import OutputError, SourceError, UsageError
from tbq.schema import KINDS, SERIES, schema
from tbq.source.urls import LAKE
from tbq.text import shown_path, without_secrets

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.lake.location import Location

#: The version of the layout. tbq refuses lakes of other versions.
VERSION = 1
#: The application id of tbq's transactions in the tables.
APP = "tbq"
#: The folder of everything but the tables.
OWN = "_tbq"
CONFIG = LAKE

#: The tables about the log itself. They are committed last.
OVERVIEWS = ("tags", "files", "problems", "runs")
#: Every table that a lake may have besides the internal ones. A table without rows is not created.
TABLES = (*(kind for kind in KINDS if kind in SERIES), *OVERVIEWS)
#: The tags that restarts left without rows. They exist in the log, so selecting one gives an empty table, not an error.
DROPPED = "dropped_tags"
#: The facts that the states of runs depend on, besides the time. A reader computes the states from them.
RUN_FACTS = "run_facts"
#: The tables that only tbq reads.
INTERNAL = (DROPPED, RUN_FACTS)

#: The tables in which one value may have several rows.
SEVERAL = frozenset(
    (
        "images",
        "audio",
        "texts",
        "hparams",
        "hparam_metrics",
        "hparam_domains",
        "pr_curves",
        "nodes",
        "custom_scalars",
    )
)

#: The extra columns of a lake's tables: the event file of a row, and a number that orders the rows of a run and tag as
#: they were logged.
SOURCE, ROW = "source", "row"


@cache
def lake_schema(kind: str) -> pa.Schema:
    """The columns of a table of a lake.

    >>> lake_schema("scalars").names
    ['run', 'tag', 'step', 'wall_time', 'value', 'source', 'row']
    """
    import pyarrow as pa

    label = pa.dictionary(pa.int32(), pa.string())
    if kind == DROPPED:
        return pa.schema([*((name, label) for name in ("run", "tag", "kind")), pa.field(ROW, pa.int64())])
    if kind == RUN_FACTS:
        double = pa.float64()
        return pa.schema(
            [
                ("run", label), ("failed", pa.bool_()), ("marked_at", double), ("logged_until", double),
                ("broken", pa.list_(pa.string())), ("pause", double), ("last_step", pa.int64()), (ROW, pa.int64()),
            ]
        )  # fmt: skip
    more = [(SOURCE, label)] if kind in SERIES else []
    # States are not stored, because they also change as time passes.
    own = [field for field in schema(kind) if field.name != "state"]
    return pa.schema([*own, *(pa.field(*each) for each in more), pa.field(ROW, pa.int64())])


@cache
def delta_schema(kind: str) -> pa.Schema:
    """The columns of a table in Delta's types."""
    import pyarrow as pa

    def plain(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_dictionary(kind):
            return kind.value_type
        return pa.binary() if pa.types.is_large_binary(kind) else kind

    return pa.schema([field.with_type(plain(field.type)) for field in lake_schema(kind)])


def read_config(place: Location) -> dict[str, Any] | None:
    """The lake's configuration; None if there is no lake. Raises if the lake has another version."""
    try:
        text = place.read(CONFIG)
    except FileNotFoundError:
        return None
    try:
        config = json.loads(text)
        version = config["tbq_lake"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise SourceError(
            f"is not a lake that tbq can read: {CONFIG} is damaged",
            path=place.url,
            hint="create a new one: tbq sync LOGDIR OTHER",
            code="lake",
        ) from None
    if version != VERSION:
        raise SourceError(
            f"is a lake of version {version!r}; this tbq reads version {VERSION}",
            path=place.url,
            hint="use the tbq that created it, or create a new one: tbq sync LOGDIR OTHER",
            code="lake",
        )
    return dict(config)


def make_config(place: Location, config: dict[str, Any]) -> None:
    """Create a lake in an empty place."""
    refuse_others(place, place.folders())
    place.create(CONFIG, json.dumps({"tbq_lake": VERSION, **config}, indent=1).encode())


def refuse_others(place: Location, names: Sequence[str]) -> None:
    """Raise if a place has anything that tbq did not create."""
    from tbq.source.walk import is_event_file

    foreign = [name for name in names if name != OWN]
    if not foreign:
        return
    if any(map(is_event_file, foreign)):
        what, hint = "is a log directory: it has event files", "name another folder for the lake"
    elif "_delta_log" in foreign:
        what, hint = "is a Delta table, not a lake of tbq", "name the folder above it, or another one"
    else:
        named = ", ".join(shown_path(name) for name in foreign[:3])
        what, hint = f"is neither empty nor a lake of tbq: it has {named}", "name a new folder for the lake"
    raise OutputError(what, path=place.url, hint=hint, code="lake")


def check_config(place: Location, config: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raise if a lake was created from other paths, or with another selection."""
    sources = repr(config.get("sources"))
    if without_secrets(sources) != sources:
        raise UsageError(
            "this lake holds a password: an older version of tbq stored the source's URL with it",
            path=place.url,
            hint="delete the lake, then run tbq sync again: the new lake does not hold the password",
        )
    for name, value in wanted.items():
        if config.get(name) != value:
            raise UsageError(
                f"this lake was made with {name}={config.get(name)!r}, not {value!r}",
                path=place.url,
                hint="sync into another lake, or use the settings that this lake was made with",
            )


def check_table(kind: str, fields: Iterable[dict[str, Any]], url: str) -> None:
    """Raise if a table has other columns than tbq's, or types that tbq cannot convert. `fields` is a Delta schema's."""
    types = {field["name"]: field["type"] for field in fields}
    found, want = list(types), delta_schema(kind).names
    if found != want:
        what = f"the columns {', '.join(found[:8])}; want {', '.join(want[:8])}"
    else:
        wrong = [name for name, fitting in _readable(kind).items() if types[name] not in fitting]
        if not wrong:
            return
        what = f"{types[wrong[0]]!r} for {wrong[0]}; want {_readable(kind)[wrong[0]][0]!r}"
    raise SourceError(
        f"is not a table of this lake: it has {what}",
        path=url,
        hint="another program wrote it: move it away, then run tbq sync again",
        code="lake",
    )


@cache
def _readable(kind: str) -> dict[str, tuple[str, ...]]:
    """The Delta types that each column can be read from. Lists and structs are not checked."""
    import pyarrow as pa

    integers = ("long", "integer", "short", "byte")
    types: dict[str, tuple[str, ...]] = {}
    for field in delta_schema(kind):
        if pa.types.is_string(field.type):
            types[field.name] = ("string",)
        elif pa.types.is_integer(field.type):
            types[field.name] = integers
        elif pa.types.is_floating(field.type):
            types[field.name] = ("double", "float", *integers)
    return types
