"""`restarts="split"`, and several directories as one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq.errors import SelectionError, TbqWarning, UsageError


def write(root: Path, name: str, *events: bytes) -> None:
    root.mkdir(parents=True, exist_ok=True)
    (root / f"events.out.tfevents.{name}").write_bytes(ef.event_file(list(events)))


def session(wall: float, *steps: int, tag: str = "loss") -> list[bytes]:
    return [ef.version(wall), *(ef.scalar(tag, step, wall + step, wall + step) for step in steps)]


def rows(table: Any) -> list[tuple[str, int, float]]:
    arrow = table.to_arrow()
    return list(zip(*(arrow[name].to_pylist() for name in ("run", "step", "value")), strict=True))


def test_every_session_is_a_run(tmp_path: Path) -> None:
    write(tmp_path / "a", "1", *session(100.0, 0, 1, 2))
    write(tmp_path / "a", "2", *session(200.0, 1, 2), *session(300.0, 2), *session(400.0))
    write(tmp_path / "b", "1", *session(100.0, 0))
    log = tbq.open(tmp_path)
    assert rows(log.scalars(restarts="split")) == [
        ("a@1", 0, 100.0), ("a@1", 1, 101.0), ("a@1", 2, 102.0), ("a@2", 1, 201.0), ("a@2", 2, 202.0),
        ("a@3", 2, 302.0), ("b", 0, 100.0),
    ]  # fmt: skip
    assert {row[0] for row in rows(log.scalars(run="a", restarts="split"))} == {"a@1", "a@2", "a@3"}
    assert rows(log.scalars(run="a@2", steps="2:", restarts="split")) == [("a@2", 2, 202.0)]
    assert log.sql("select distinct run from scalars order by run", restarts="split").to_dicts() == [
        {"run": name} for name in ("a@1", "a@2", "a@3", "b")
    ]
    tags = log.tags(restarts="split").to_dicts()
    assert {row["run"]: row["count"] for row in tags} == {"a@1": 3, "a@2": 2, "a@3": 1, "b": 1}
    assert [row["run"] for row in log.summary(restarts="split").to_dicts()] == ["a@1", "a@2", "a@3", "b"]
    assert log.runs == ["a", "b"]


@pytest.mark.parametrize("names", [["a"], ["a", "a/eval", "b"]])
@pytest.mark.parametrize("sessions", [2, 11])
def test_sql_finds_every_session_by_its_name(tmp_path: Path, names: list[str], sessions: int) -> None:
    """The names of sessions are not in the order that plain names have: a@10 before a@2, a/eval before a@1."""
    for name in names:
        write(tmp_path / name, "1", *(part for i in range(sessions) for part in session(1000.0 * (i + 1), i)))
    log = tbq.open(tmp_path)
    runs = [row["run"] for row in log.scalars(restarts="split").to_dicts()]
    assert len(runs) == sessions * len(names)
    for run in runs:
        found = log.sql("select run from scalars where run = $run", params={"run": run}, restarts="split")
        assert [row["run"] for row in found.to_dicts()] == [run]


@pytest.mark.parametrize("restarts", ["resume", "keep", "last", "split"])
def test_tables_about_the_log_follow_the_policy_in_queries(tmp_path: Path, restarts: Any) -> None:
    write(tmp_path / "a", "1", *session(100.0, 0, 1, 2), *session(200.0, 1, 2))
    log = tbq.open(tmp_path)
    for kind, column in (("tags", "count"), ("runs", "events")):
        want = log.table(kind, restarts=restarts).to_dicts()
        assert log.sql(f"select * from {kind} order by run", restarts=restarts).to_dicts() == want
        assert log.dataset(kind=kind, restarts=restarts).to_table()[column].to_pylist() == [
            row[column] for row in want
        ]
        assert log.lazy(kind=kind, restarts=restarts).collect()[column].to_list() == [
            row[column] for row in want
        ]


def test_a_directory_that_is_called_like_a_session(tmp_path: Path) -> None:
    write(tmp_path / "a", "1", *session(100.0, 0), *session(200.0, 0))
    write(tmp_path / "a@1", "1", *session(300.0, 0))
    names = [row[0] for row in rows(tbq.open(tmp_path).scalars(restarts="split"))]
    assert sorted(names) == ["a@1", "a@1~", "a@2"]


@examples(40)
@given(
    files=st.lists(
        st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=3), min_size=1, max_size=3
    )
)
def test_sessions_together_are_what_keep_gives(tmp_path_factory: Any, files: list[list[list[int]]]) -> None:
    root = tmp_path_factory.mktemp("log")
    wall = 100.0
    for number, sessions in enumerate(files):
        events: list[bytes] = []
        for steps in sessions:
            events += session(wall, *steps)
            wall += 50
        write(root, str(number), *events)
    log = tbq.open(root)
    if not any(steps for sessions in files for steps in sessions):
        return
    keep = [row[1:] for row in rows(log.scalars(restarts="keep"))]
    assert [row[1:] for row in rows(log.scalars(restarts="split"))] == keep


KINDS = {
    "scalars": (ef.tensor("float32", [0.5]), ef.SCALARS),
    "texts": (ef.tensor("string", [b"words"]), ef.metadata("text", data_class=2, display_name="Words")),
    "histograms": (ef.tensor("float64", [0.0, 1.0, 2.0], dims=(1, 3)), ef.metadata("histograms")),
}


@examples(40)
@given(
    sessions=st.lists(st.lists(st.sampled_from(list(KINDS)), max_size=4), min_size=2, max_size=4),
    split_file=st.booleans(),
    data=st.data(),
)
def test_metadata_in_one_session_holds_for_all(
    tmp_path_factory: Any, sessions: list[list[str]], split_file: bool, data: st.DataObject
) -> None:
    """A tag's metadata may be on any of its events: its values keep the kind that they have in the complete run."""
    root = tmp_path_factory.mktemp("log")
    places = {
        kind: [(i, j) for i, kinds in enumerate(sessions) for j, each in enumerate(kinds) if each == kind]
        for kind in KINDS
    }
    saying = {data.draw(st.sampled_from(found)) for found in places.values() if found}
    if not saying:
        return
    written: list[bytes] = []
    for i, kinds in enumerate(sessions):
        wall = 100.0 * (i + 1)
        events = [ef.version(wall)]
        for j, kind in enumerate(kinds):
            tensor, meta = KINDS[kind]
            value = ef.value(f"of {kind}", tensor, *([meta] if (i, j) in saying else []))
            events.append(ef.event(ef.summary(value), step=j, wall=wall + j))
        if split_file:
            write(root, str(i), *events)
        written += events
    if not split_file:
        write(root, "0", *written)
    log = tbq.open(root)
    for kind in ("tensors", *KINDS):
        columns = ("tag", "step", "wall_time")
        keep, split = (log.table(kind, restarts=rule).to_arrow() for rule in ("keep", "split"))
        assert split.select(columns).to_pylist() == keep.select(columns).to_pylist(), kind
    known = {row["tag"]: row["display_name"] for row in log.tags(restarts="keep").to_dicts()}
    assert all(row["display_name"] == known[row["tag"]] for row in log.tags(restarts="split").to_dicts())


def test_what_a_session_says_itself_comes_first(tmp_path: Path) -> None:
    words = ef.value("x", ef.tensor("string", [b"words"]), ef.metadata("text"))
    write(tmp_path, "1", ef.version(100.0), ef.event(ef.summary(words), step=0, wall=101.0))
    write(tmp_path, "2", ef.version(200.0), ef.tensor_scalar("x", 1, 0.5, wall=201.0))
    log = tbq.open(tmp_path)
    assert rows(log.scalars(restarts="split")) == [(".@2", 1, 0.5)]
    assert log.texts(restarts="split").to_arrow()["run"].to_pylist() == [".@1"]


def test_versions_are_one_run(tmp_path: Path) -> None:
    for version in range(11):
        write(tmp_path / f"a/version_{version}", "1", *session(100.0 * (version + 1), version))
    write(tmp_path / "b", "1", *session(100.0, 0))
    log = tbq.open(tmp_path, merge_runs=r"re:(.*)/version_\d+")
    assert log.runs == ["a", "b"]
    assert [row[1] for row in rows(log.scalars(run="a"))] == list(range(11))
    assert len(tbq.open(tmp_path).runs) == 12


def test_restarts_are_resolved_over_merged_runs(tmp_path: Path) -> None:
    write(tmp_path / "a/version_0", "1", *session(100.0, 0, 1, 2))
    write(tmp_path / "a/version_1", "1", *session(200.0, 1, 2))
    log = tbq.open(tmp_path, merge_runs=r"re:(.*)/version_\d+")
    assert rows(log.scalars(on_error="ignore")) == [("a", 0, 100.0), ("a", 1, 201.0), ("a", 2, 202.0)]
    assert [row[0] for row in rows(log.scalars(restarts="split"))] == ["a@1"] * 3 + ["a@2"] * 2


@pytest.mark.parametrize("merge", ["a,b=job", ["a,b=job"], {"job": ["a", "b"]}, "re:(?:a|b)(job)?"])
def test_runs_are_merged_by_name(tmp_path: Path, merge: Any) -> None:
    write(tmp_path / "a", "1", *session(100.0, 0, 1))
    write(tmp_path / "b", "1", *session(200.0, 2))
    write(tmp_path / "c", "1", *session(100.0, 0))
    log = tbq.open(tmp_path, merge_runs=merge)
    job = "." if isinstance(merge, str) and merge.startswith("re:") else "job"
    assert log.runs == sorted([job, "c"])
    assert [row[1] for row in rows(log.scalars(run=job))] == [0, 1, 2]


def test_a_run_is_merged_once_and_into_no_other(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path / name, "1", *session(100.0, 0))
    with pytest.raises(UsageError, match="'a' is merged twice"):
        tbq.open(tmp_path, merge_runs=["a,b=x", "a,c=y"])
    with pytest.raises(UsageError, match="run 'c' exists and is not one of the runs to merge"):
        tbq.open(tmp_path, merge_runs="a,b=c")
    with pytest.raises(SelectionError, match="no run is called 'aa'"):
        tbq.open(tmp_path, merge_runs="aa,b=x")


@pytest.mark.parametrize("merge", ["a", "re:(", "re:.*", 3])
def test_a_wrong_expression_is_named(tmp_path: Path, merge: Any) -> None:
    write(tmp_path / "a", "1", *session(100.0, 0))
    with pytest.raises(UsageError, match="merge_runs: got"):
        tbq.open(tmp_path, merge_runs=merge)


def test_an_expression_that_matches_nothing_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a", "1", *session(100.0, 0))
    with pytest.raises(SelectionError, match="no run matches"):
        tbq.open(tmp_path, merge_runs="re:(.*)/x")


def test_an_expression_takes_no_run_that_it_does_not_match(tmp_path: Path) -> None:
    for wall, name in enumerate(("a", "a/v1", "a/v2")):
        write(tmp_path / name, "1", *session(100.0 + wall, 0))
    with pytest.raises(UsageError, match="run 'a' exists and is not one of the runs to merge"):
        tbq.open(tmp_path, merge_runs=r"re:(.*)/v\d")
    assert tbq.open(tmp_path, merge_runs=r"re:(a)(/v\d)?").runs == ["a"]


def test_relative_and_absolute_paths_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "first", "1", *session(100.0, 0, 1))
    write(tmp_path / "second", "2", *session(200.0, 2))
    monkeypatch.chdir(tmp_path)
    log = tbq.open({"x": "first", "y": tmp_path / "second"}, merge_runs="x,y=z")
    assert [row[:2] for row in rows(log.scalars())] == [("z", 0), ("z", 1), ("z", 2)]


@pytest.mark.filterwarnings("ignore:.*is a copy of:tbq.TbqWarning")
def test_a_copy_in_another_of_the_merged_directories_counts_once(tmp_path: Path) -> None:
    write(tmp_path / "in" / "v0", "1", *session(100.0, 0, 1))
    write(tmp_path / "in" / "v1", "2", *session(200.0, 2, 3))
    write(tmp_path / "in" / "v0", "2", *session(200.0, 2, 3))
    write(tmp_path / "in" / "v1", "2.copy", *session(200.0, 2, 3))
    expression = r"re:v\d()"
    log = tbq.open(tmp_path / "in", merge_runs=expression)
    assert [row[:2] for row in rows(log.scalars(restarts="keep"))] == [(".", step) for step in range(4)]
    reported = [problem for problem in log.problems if problem.code == "copy"]
    assert [problem.run for problem in reported] == [".", "."]
    assert any("v0" in problem.message for problem in reported)  # the other file is called like this one
    with pytest.warns(TbqWarning, match="is a copy of"):
        tbq.rewrite(tmp_path / "in", tmp_path / "out", merge_runs=expression)
    assert [row[1] for row in rows(tbq.open(tmp_path / "out").scalars(restarts="keep"))] == [0, 1, 2, 3]
