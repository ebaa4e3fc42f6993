"""The media tree against tags that want out of it, or into each other."""

from __future__ import annotations

import csv
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
    rows = log.media(out).to_arrow().to_pylist()
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
    log.media(out, tag="a")
    with pytest.raises(tbq.TbqError, match="already there"):
        log.media(out)
    mine = out / "root" / "a" / "00000000.gif"
    mine.write_bytes(b"mine")
    (out / "manifest.csv").unlink()
    with pytest.raises(tbq.TbqError, match="already there"):
        log.media(out)
    assert mine.read_bytes() == b"mine"
    assert not (out / "manifest.csv").exists()
    log.media(out, force=True)
    assert mine.read_bytes() == GIF + b"a"


def test_every_steps_and_kinds(tmp_path: Path) -> None:
    values = [picture("a") for _ in range(10)] + [
        value("t/text_summary", "text", tensor=strings((), b"words"))
    ]
    log = tbq.open(write(tmp_path / "log", *values, run="r"))
    rows = log.media(tmp_path / "one", every=4).to_arrow().to_pylist()
    assert [(row["tag"], row["step"]) for row in rows if row["kind"] == "images"] == [
        ("a", 0),
        ("a", 4),
        ("a", 8),
    ]
    assert (tmp_path / "one" / "r" / "t" / "00000010.md").read_text() == "words"
    rows = log.media(tmp_path / "two", steps="2:3", kinds=["images"]).to_arrow().to_pylist()
    assert [row["step"] for row in rows] == [2, 3]
    with pytest.raises(tbq.TbqError, match="kinds: got"):
        log.media(tmp_path / "three", kinds=["scalars"])
    with pytest.raises(tbq.TbqError, match="no tag matches"):
        log.media(tmp_path / "three", tag="nowhere")
