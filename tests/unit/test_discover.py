"""Which runs a path has: names, links, drives, and paths of other machines."""

from __future__ import annotations

import os
from pathlib import Path

import eventfile as ef
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq.errors import SourceError, TbqError, UsageError
from tbq.source import discover

FILE = "events.out.tfevents.1.host"
links = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")


def log(folder: Path, name: str = FILE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(ef.event_file([ef.version(), ef.scalar("loss", 1, 0.5)]))
    return folder


def names(*paths: object) -> list[str]:
    return [run.name for run in discover(list(paths)).runs]  # type: ignore[arg-type]


@links
def test_directories_that_link_to_each_other_are_listed_once(tmp_path: Path) -> None:
    folders = [log(tmp_path / "runs" / letter) for letter in "abcdefg"]
    for each in folders:
        for other in folders:
            if each is not other:
                (each / f"to_{other.name}").symlink_to(other)
    assert names(tmp_path / "runs") == list("abcdefg")


@links
def test_the_name_without_a_link_wins_then_the_first_and_shortest(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    log(root / "run_5")
    log(tmp_path / "elsewhere" / "train")
    log(tmp_path / "elsewhere")
    (root / "latest").symlink_to(root / "run_5")
    (root / "deep").mkdir()
    (root / "deep" / "a").symlink_to(tmp_path / "elsewhere")
    (root / "z").symlink_to(tmp_path / "elsewhere")
    (root / "y").symlink_to(tmp_path / "elsewhere")
    assert names(root) == ["run_5", "y", "y/train"]
    assert names(root / "latest") == ["."]


@links
def test_links_do_not_lead_up_or_around(tmp_path: Path) -> None:
    log(tmp_path / "runs" / "a")
    log(tmp_path / "other")
    (tmp_path / "runs" / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "runs" / "a" / "self").symlink_to(tmp_path / "runs" / "a")
    (tmp_path / "runs" / "nothing").symlink_to(tmp_path / "missing")
    assert names(tmp_path / "runs") == ["a"]


@links
def test_a_link_to_a_file_beside_it_is_not_read_twice(tmp_path: Path) -> None:
    log(tmp_path)
    (tmp_path / "events.out.tfevents.latest").symlink_to(tmp_path / FILE)
    assert len(discover(tmp_path).runs[0].files) == 1
    log(tmp_path / "else")
    with (tmp_path / "else" / FILE).open("ab") as file:
        file.write(b"other")
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes() + b"bytes")
    (tmp_path / "events.out.tfevents.far").symlink_to(tmp_path / "else" / FILE)
    assert len(discover(tmp_path).runs[0].files) == 2


def test_paths_that_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log(tmp_path / "runs" / "a")
    log(tmp_path / "runs" / "b")
    monkeypatch.chdir(tmp_path)
    assert names("runs", "runs/a") == ["a", "b"]
    assert names("./runs", "runs/a", str(tmp_path / "runs")) == ["a", "b"]
    assert [run.name for run in discover({"x": "runs", "y": "runs"}).runs] == ["x/a", "x/b", "y/a", "y/b"]


@links
@examples(60)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=14))
def test_every_directory_once(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int]]) -> None:
    root = tmp_path_factory.mktemp("graph")
    places = [root / "runs" / "a", root / "runs" / "a" / "b", root / "runs" / "c"]
    places += [root / "far" / "d", root / "far" / "d" / "e", root / "far" / "f"]
    for place in places:
        log(place)
    for i, (start, end) in enumerate(pairs):
        (places[start] / f"link{i}").symlink_to(places[end])
    found = discover(root / "runs").runs
    real = [os.path.realpath(run.path) for run in found]
    assert len(set(real)) == len(real)
    # All reachable directories are listed: below the top, or through links, except links to a directory above.
    inside = {
        start: [n for n in range(6) if places[start] in (places[n], *places[n].parents)] for start in range(6)
    }
    reached, new = set(), {0, 1, 2}
    while new:
        reached |= new
        new = {
            n for start, end in pairs if start in reached
            if end == start or places[end] not in places[start].parents
            for n in inside[end]
        } - reached  # fmt: skip
    assert {str(places[n]) for n in {0, 1, 2}} <= set(real)
    assert set(real) <= {os.path.realpath(places[n]) for n in reached}
    assert discover(root / "runs").runs == found


@pytest.mark.parametrize(
    "path",
    [
        "hdfs://host:9000/x",
        "ftp://example.org/runs",
        "x+y.z-1://a",
        "HDFS://B",
    ],
)
def test_stores_that_are_not_known_are_refused_clearly(path: str, tmp_path: Path) -> None:
    for call in (
        lambda: tbq.open(path),
        lambda: tbq.open({"a": path}),
        lambda: tbq.open(f"name:{path}"),
        lambda: tbq.read(path),
        lambda: tbq.results.weights(f"{path}/model.safetensors"),
        lambda: tbq.results.metrics(f"{path}/metrics.csv"),
        lambda: tbq.rewrite(log(tmp_path / "runs"), path),
    ):
        with pytest.raises(TbqError, match=":// is not supported"):
            call()
    table = tbq.open(tmp_path / "runs").scalars()
    with pytest.raises(TbqError, match=":// is not supported"):
        table.write(f"{path}/out.csv")
    with pytest.raises(TbqError, match=":// is not supported"):
        tbq.open(tmp_path / "runs").write_media(path)
    assert any(f.path == path and "is not supported" in f.message for f in tbq.doctor(path))


def test_pathlib_collapses_slashes() -> None:
    with pytest.raises(SourceError, match="hdfs:// is not supported"):
        tbq.open(Path("hdfs://bucket/logs"))
    with pytest.raises(SourceError, match="no such file or directory"):
        tbq.open("file:///no/such/runs")


@pytest.mark.parametrize("path", ["C:\\logs", "C:/no/such/logs", "d:\\"])
def test_drives_are_paths(path: str) -> None:
    with pytest.raises(SourceError, match="no such file or directory") as reported:
        tbq.open(path)
    assert reported.value.path == path


def test_names_before_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log(tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    assert names("a:runs") == ["a"]
    if os.name != "nt":
        assert names(f"a:{tmp_path}/runs") == ["a"]  # a run called a: there is such a path


@pytest.mark.parametrize("wrong", [3, None, 2.5, [3], {"a": 3}, {3: "runs"}, [["runs"]]])
def test_what_is_no_path_is_told(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"path: got .*, want"):
        tbq.open(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="path: got"):
        tbq.open(wrong)  # type: ignore[arg-type]


def test_bytes_and_iterators_are_paths_too(tmp_path: Path) -> None:
    log(tmp_path / "runs" / "a")
    assert tbq.open(os.fsencode(tmp_path / "runs")).runs == ["a"]
    assert tbq.open(iter([tmp_path / "runs"])).runs == ["a"]  # type: ignore[arg-type]


@links
def test_a_path_with_a_name_that_comes_later(tmp_path: Path) -> None:
    """Named paths, patterns with a name, and links are seen as soon as plain paths are."""
    later = tmp_path / "later"
    (tmp_path / "link").symlink_to(later)
    sources = [
        f"x:{later}",
        f"x:{later}/*",
        str(tmp_path / "link"),
        {"x": str(later)},
        str(later),
        f"x:{tmp_path}/l*r",
    ]
    followers = [tbq.follow(source, on_error="ignore") for source in sources]  # type: ignore[arg-type]
    for follower in followers:
        assert not follower.poll() and not follower.poll()
    log(later / "run")
    assert [len(follower.poll().table()) for follower in followers] == [1] * len(sources)
