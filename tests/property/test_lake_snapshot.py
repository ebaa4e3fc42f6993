"""Which files a table has: what tbq reads from the log is what deltalake says, or it is left to deltalake."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st
from tables import examples

from tbq.lake.datafiles import DataFile
from tbq.lake.layout import delta_schema
from tbq.lake.place import Local
from tbq.lake.snapshot import files_in_log
from tbq.lake.tables import LakeTable

KIND = "scalars"
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["a", "\U00020bb7"])
BOUNDS = st.fixed_dictionaries(
    {}, optional={"run": NAMES, "tag": NAMES, "step": st.integers(-(2**63), 2**63 - 1)}
)
NULLS = st.fixed_dictionaries({}, optional=dict.fromkeys(("run", "tag", "step"), st.integers(0, 9)))
STATS = st.fixed_dictionaries(
    {"numRecords": st.integers(0, 9), "minValues": BOUNDS, "maxValues": BOUNDS, "nullCount": NULLS}
)
#: what one commit adds, and which share of what is there it removes
CHANGES = st.tuples(
    st.sampled_from(["commit", "rearrange"]), st.lists(STATS, max_size=3), st.sampled_from([0, 0, 2, 3])
)
OTHERS = st.sampled_from(["checkpoint", "forget the hint", "clean", "somebody else"])


def plain(files: list[DataFile]) -> list[Any]:
    """What readers ask of files, in any order."""

    def known(values: dict[str, Any]) -> dict[str, Any]:
        return {name: values[name] for name in ("run", "tag", "step") if values.get(name) is not None}

    return sorted(
        (
            file.path,
            file.size,
            file.stats["numRecords"],
            *(sorted(known(file.stats[which]).items()) for which in ("minValues", "maxValues", "nullCount")),
        )
        for file in files
    )


def usual(log: Path) -> bool:
    """Whether every commit is there since the checkpoint that the log names, or since the first."""
    hint = log / "_last_checkpoint"
    first = json.loads(hint.read_text())["version"] + 1 if hint.exists() else 0
    commits = {int(path.stem) for path in log.glob("*.json")}
    return commits.issuperset(range(first, max(commits) + 1))


def check(place: Local) -> bool:
    """Whether the log was read by us; if so, deltalake says the same."""
    ours = files_in_log(place, KIND)
    theirs = LakeTable(place, KIND, exists=True).files
    assert ours is None or plain(ours) == plain(theirs)
    return ours is not None


@examples(20)
@given(st.lists(CHANGES | OTHERS, max_size=20))
def test_the_log_says_what_deltalake_says(
    tmp_path_factory: pytest.TempPathFactory, history: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("log")
    place = Local(folder)
    numbers = itertools.count()
    log = folder / KIND / "_delta_log"
    try:
        LakeTable(place, KIND, exists=False).commit(1, [], [])
        for step, change in enumerate(history):
            table = LakeTable(place, KIND, exists=True)
            if change == "checkpoint":
                table.delta.create_checkpoint()
            elif change == "forget the hint":
                (log / "_last_checkpoint").unlink(missing_ok=True)
            elif change == "clean":
                table.delta.create_checkpoint()
                for path in log.glob("*.json"):
                    if int(path.stem) < table.delta.version():
                        path.unlink()
            elif change == "somebody else":
                rows = pa.table({"run": ["a"], "tag": ["b"], "step": [step]}).cast(
                    pa.schema([delta_schema(KIND).field(i) for i in range(3)])
                )
                for field in list(delta_schema(KIND))[3:]:
                    rows = rows.append_column(field, pa.nulls(1, field.type))
                write_deltalake(table.delta, rows, mode="append")
            else:
                how, stats, share = change
                added = [
                    DataFile(f"part-{next(numbers)}.lz4.parquet", 100 + i, each)
                    for i, each in enumerate(stats)
                ]
                removed = table.files[::share] if share else []
                if how == "rearrange":
                    table.rearrange(added, removed)
                else:
                    table.commit(step + 2, added, removed)
            assert check(place) or not usual(log)
    finally:
        shutil.rmtree(folder)
