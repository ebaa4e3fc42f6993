"""The Arrow schema of each table, by kind."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

from tbq.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

# Every data table begins with these columns.
_KEYS = "run:label tag:label step:int64 wall_time:float64"

# Kind -> its columns as `name:type`, in order.
_COLUMNS = {
    "scalars": f"{_KEYS} value:float64",
    "tensors": f"{_KEYS} dtype:label shape:int64s data:bytes display_name:string description:string",
    "histograms": (
        f"{_KEYS} min:float64 max:float64 num:float64 sum:float64 sum_squares:float64 "
        "left:float64s right:float64s count:float64s"
    ),
    "images": f"{_KEYS} index:int64 width:int64 height:int64 format:label colorspace:int64 data:bytes",
    "audio": (
        f"{_KEYS} index:int64 sample_rate:float64 channels:int64 frames:int64 "
        "content_type:string label:string data:bytes"
    ),
    "texts": f"{_KEYS} index:int64s text:string",
    "hparams": (
        f"{_KEYS} name:string type:label number:float64 string:string bool:bool group:string status:label"
    ),
    "hparam_metrics": (
        f"{_KEYS} group:string name:string display_name:string description:string dataset:label"
    ),
    "hparam_domains": (
        f"{_KEYS} name:string type:label display_name:string description:string "
        "domain:string min:float64 max:float64"
    ),
    "pr_curves": (
        f"{_KEYS} threshold:float64 true_pos:float64 false_pos:float64 true_neg:float64 false_neg:float64 "
        "precision:float64 recall:float64"
    ),
    "meshes": f"{_KEYS} name:string component:label config:string dtype:label shape:int64s data:bytes",
    "graphs": f"{_KEYS} format:label nodes:int64 data:bytes",
    "nodes": f"{_KEYS} name:string op:string device:string inputs:strings function:string",
    "run_metadata": f"{_KEYS} plugin:string data:bytes",
    "custom_scalars": f"{_KEYS} category:string chart:string type:label pattern:string data:bytes",
    "others": (
        f"{_KEYS} plugin:string form:label dtype:label shape:int64s data:bytes content:bytes "
        "display_name:string description:string"
    ),
    "logs": f"{_KEYS} level:label message:string checkpoint_path:string",
    "projector": "run:label tensor_name:string tensor_path:string metadata_path:string sprite_path:string",
    "media": (
        "path:string kind:label run:label tag:label step:int64 wall_time:float64 index:int64 bytes:int64"
    ),
    "runs": (
        "run:label files:int64 bytes:int64 events:int64 first_wall_time:float64 last_wall_time:float64 "
        "last_step:int64 writer:string health:label state:label"
    ),
    "tags": (
        "run:label tag:label kind:label plugin:label dtype:label count:int64 first_step:int64 "
        "last_step:int64 display_name:string description:string"
    ),
    "files": (
        "run:label path:string bytes:int64 records:int64 first_step:int64 last_step:int64 "
        "first_wall_time:float64 last_wall_time:float64 truncated_bytes:int64 faults:int64 health:label"
    ),
    "problems": (
        "code:label severity:label path:string offset:int64 run:label tag:label message:string hint:string"
    ),
}

#: The tables by name, for type checkers.
TableName = Literal[
    "scalars", "tensors", "histograms", "images", "audio", "texts", "hparams", "hparam_metrics", "hparam_domains",
    "pr_curves", "meshes", "graphs", "nodes", "run_metadata", "custom_scalars", "others", "logs", "projector", "media",
    "runs", "tags", "files", "problems",
]  # fmt: skip
KINDS: tuple[TableName, ...] = get_args(TableName)
#: The tables with one row per value of a series, ordered by run, tag, then as logged.
SERIES = tuple(kind for kind, columns in _COLUMNS.items() if columns.startswith(_KEYS))


@cache
def schema(kind: str) -> pa.Schema:
    """The Arrow schema of a kind of table.

    >>> schema("scalars").names
    ['run', 'tag', 'step', 'wall_time', 'value']
    """
    import pyarrow as pa

    if not isinstance(kind, str) or kind not in _COLUMNS:
        raise UsageError(f"no table is called {kind!r}", hint=f"tables: {', '.join(KINDS)}")
    types = {
        "label": pa.dictionary(pa.int32(), pa.string()),
        "string": pa.string(),
        "bytes": pa.large_binary(),
        "bool": pa.bool_(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "int64s": pa.list_(pa.int64()),
        "strings": pa.list_(pa.string()),
        "float64s": pa.list_(pa.float64()),
    }
    return pa.schema([(name, types[kind]) for name, kind in _columns(kind)])


def column_names(kind: str) -> list[str]:
    """The names of the columns of a kind of table, without importing Arrow; none for an unknown kind.

    >>> column_names("projector")[0]
    'run'
    """
    return [name for name, _ in _columns(kind)] if kind in _COLUMNS else []


def _columns(kind: str) -> list[tuple[str, str]]:
    return [(name, type_) for name, _, type_ in (column.partition(":") for column in _COLUMNS[kind].split())]
