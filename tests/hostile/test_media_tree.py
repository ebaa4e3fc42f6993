"""The media tree with tags whose names lead out of it, or collide."""

from __future__ import annotations

import csv
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protos import strings, value, write
from tensorboard.compat.proto.summary_pb2 import Summary

import tbq
from tbq.export.names import Tree, folder

if TYPE_CHECKING:
    from pathlib import Path

GIF = b"GIF89a\x01\0\x01\0 picture"
TAGS = [
    "../../outside",
    "..",
    ".",
    "/etc/passwd",
    "a/../../b",
    "C:\\windows\\x",
    "x:y",
    "con",
    "AUX.txt",
    "lpt1/nul",
    "a" * 300,
    "a" * 299 + "b",
    "/".join(["deep"] * 200),
    "case",
    "CASE",
    "Case",
    "dir",
    "dir/00000000.gif",
    "trailing.",
    "trailing",
    "trailing ",
    " ",
    "",
    "new\nline",
    "nul\0byte",
    "ﬁ",
    "fi",
    "é",
    "e\u0301",
    "\u202egnp.exe",
    "-rf",
    "~root",
    ".hidden",
    "manifest.csv",
]


def picture(tag: str) -> Summary.Value:
    return value(tag, image=Summary.Image(encoded_image_string=GIF + tag.encode()))


def test_every_attacker_stays_inside_and_apart(tmp_path: Path) -> None:
    log = tbq.open(write(tmp_path / "log", *map(picture, TAGS), run="run"))
    out = tmp_path / "media"
    rows = log.write_media(out).to_arrow().to_pylist()
    assert len(rows) == len(TAGS)
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) == len(TAGS) + 1
    assert {path.name for path in tmp_path.iterdir()} == {"log", "media"}
    listed = {row["tag"]: row["path"] for row in rows}
    for tag in TAGS:
        path = out / listed[tag]
        assert path.resolve().is_relative_to(out.resolve())
        assert path.read_bytes() == GIF + tag.encode()
    assert len({path.lower() for path in listed.values()}) == len(TAGS)
    assert all(len(part.encode()) <= 100 for path in listed.values() for part in path.split("/"))
    assert all(len(path) < 300 for path in listed.values())
    with (out / "manifest.csv").open(newline="", encoding="utf-8") as file:
        assert [row["path"] for row in csv.DictReader(file)] == [row["path"] for row in rows]


RESERVED = {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(10))}


@given(st.text(max_size=300))
def test_any_name_is_a_safe_relative_path(name: str) -> None:
    path = folder(name)
    for part in path.split("/"):
        assert part not in ("", ".", "..")
        assert not set(part) & set('<>:"\\|?*\0\n\r\t')
        assert part == part.rstrip(" .")
        assert part.split(".")[0].lower() not in RESERVED
        assert len(part.encode()) <= 100
    assert len(path.encode()) <= 200


@given(
    st.lists(st.tuples(st.sampled_from(["r", "R", "r/a", "."]), st.text("aA/.:é", max_size=6)), unique=True)
)
def test_folders_are_apart_where_case_does_not_count(pairs: list[tuple[str, str]]) -> None:
    tree = Tree()
    folders = tree.folders({pair: pair[1] for pair in pairs})
    assert len({path.casefold() for path in folders.values()}) == len(pairs)
    spelled: dict[str, str] = {}
    for path in folders.values():
        parts = path.split("/")
        for i in range(1, len(parts) + 1):
            head = "/".join(parts[:i])
            assert spelled.setdefault(head.casefold(), head) == head
    files = [tree.file(path, "00000001", ".png") for path in folders.values() for _ in range(2)]
    assert len({path.casefold() for path in files}) == len(files)


def test_files_that_are_there_are_kept(tmp_path: Path) -> None:
    log = tbq.open(write(tmp_path / "log", picture("a"), picture("b")))
    out = tmp_path / "media"
    log.write_media(out, tag="a")
    with pytest.raises(tbq.TbqError, match="already exists"):
        log.write_media(out)
    ours = out / "root" / "a" / "00000000.gif"
    ours.write_bytes(b"mine")
    (out / "manifest.csv").unlink()
    with pytest.raises(tbq.TbqError, match="already exists"):
        log.write_media(out)
    assert ours.read_bytes() == b"mine"
    assert not (out / "manifest.csv").exists()
    log.write_media(out, force=True)
    assert ours.read_bytes() == GIF + b"a"


def test_every_steps_and_kinds(tmp_path: Path) -> None:
    values = [picture("a") for _ in range(10)] + [
        value("t/text_summary", "text", tensor=strings((), b"words"))
    ]
    log = tbq.open(write(tmp_path / "log", *values, run="r"))
    rows = log.write_media(tmp_path / "one", every=4).to_arrow().to_pylist()
    assert [(row["tag"], row["step"]) for row in rows if row["kind"] == "images"] == [
        ("a", 0),
        ("a", 4),
        ("a", 8),
    ]
    assert (tmp_path / "one" / "r" / "t" / "00000010.md").read_text() == "words"
    rows = log.write_media(tmp_path / "two", steps="2:3", kinds=["images"]).to_arrow().to_pylist()
    assert [row["step"] for row in rows] == [2, 3]
    with pytest.raises(tbq.TbqError, match="kinds: got"):
        log.write_media(tmp_path / "three", kinds=["scalars"])
    with pytest.raises(tbq.TbqError, match="no tag matches"):
        log.write_media(tmp_path / "three", tag="nowhere")


LINKS = pytest.mark.skipif(
    not hasattr(os, "symlink") or os.name == "nt", reason="links need rights on Windows"
)


@LINKS
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("at", ["run", "run/a", "run/a/b"])
def test_a_folder_that_is_a_link_is_not_written_through(tmp_path: Path, at: str, force: bool) -> None:
    log = tbq.open(write(tmp_path / "log", picture("a/b"), run="run"))
    out, elsewhere = tmp_path / "media", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (out / at).parent.mkdir(parents=True)
    (out / at).symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(tbq.errors.OutputError, match="does not write through links") as wrong:
        log.write_media(out, force=force)
    assert wrong.value.path == str(out / at) and wrong.value.hint
    assert list(elsewhere.iterdir()) == []
    assert not (out / "manifest.csv").exists()


@LINKS
def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    log = tbq.open(write(tmp_path / "log", picture("a"), run="run"))
    (tmp_path / "real").mkdir()
    (tmp_path / "media").symlink_to(tmp_path / "real", target_is_directory=True)
    log.write_media(tmp_path / "media")
    assert (tmp_path / "real" / "run" / "a" / "00000000.gif").is_file()


@LINKS
@pytest.mark.parametrize("name", ["run/a/00000000.gif", "manifest.csv"])
@pytest.mark.parametrize("kind", ["link", "dead link", "pipe"])
def test_a_file_that_is_a_link_or_pipe_is_replaced_itself(tmp_path: Path, name: str, kind: str) -> None:
    log = tbq.open(write(tmp_path / "log", picture("a"), run="run"))
    out, victim = tmp_path / "media", tmp_path / "victim"
    (out / name).parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(out / name)
    else:
        (out / name).symlink_to(victim)
    if kind == "link":
        victim.write_bytes(b"mine")
    with pytest.raises(tbq.errors.OutputError, match="already exists"):
        log.write_media(out)
    log.write_media(out, force=True)
    assert (out / name).is_file() and not (out / name).is_symlink()
    assert (victim.read_bytes() == b"mine") if kind == "link" else not victim.exists()


@LINKS
@pytest.mark.parametrize(
    "options", [["-o", "out/{run}.csv"], ["--kind", "all", "--format", "csv", "-o", "out"]]
)
def test_files_named_by_a_log_never_follow_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    from console import piped
    from protos import value

    write(tmp_path / "log", value("loss", simple_value=0.5), run="scalars")
    (tmp_path / "out").mkdir()
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "out" / "scalars.csv").symlink_to(tmp_path / "victim")
    monkeypatch.chdir(tmp_path)
    assert "already exists" in piped(["export", "log", *options]).stderr
    assert piped(["export", "log", *options, "--force"]).code == 0
    assert (tmp_path / "victim").read_text() == "mine"
    assert "loss" in (tmp_path / "out" / "scalars.csv").read_text()


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\uff1d1+1",
    '=HYPERLINK("http://x")',
    "plain",
]


def test_no_cell_of_a_list_of_files_is_a_formula(tmp_path: Path) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    graph = GraphDef()
    for formula in FORMULAS:
        graph.node.add(name=formula, op=formula, device=formula, input=[formula])
    events = [Event(wall_time=1.7e9, graph_def=graph.SerializeToString())]
    runs = [formula for formula in FORMULAS if "/" not in formula]
    for run in runs:
        write(tmp_path / "log", *map(picture, FORMULAS), *events, run=f"r{runs.index(run)}")
    log = tbq.open({f"{run}": tmp_path / "log" / f"r{i}" for i, run in enumerate(runs)})
    rows = log.write_media(tmp_path / "out").to_arrow().to_pylist()
    files = [tmp_path / "out" / "manifest.csv", *(tmp_path / "out").rglob("*.nodes.csv")]
    assert len(files) == 1 + len(runs)
    for file in files:
        with file.open(newline="", encoding="utf-8") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        assert not [
            cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"))
        ]
    with files[0].open(newline="", encoding="utf-8") as stream:
        listed = list(csv.DictReader(stream))
    assert [row["path"] for row in listed] == [row["path"] for row in rows]
    assert all((tmp_path / "out" / row["path"]).is_file() for row in listed)
    assert [row["tag"].removeprefix("'") for row in listed] == [row["tag"] for row in rows]
