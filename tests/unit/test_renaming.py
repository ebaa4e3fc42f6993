"""Renaming over a file: on Windows also over one that is open, whose rules are played here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tbq import renaming
from tbq.export.target import output


class Windows:
    """Renames as Windows does: never over an open file, and away from it only if its reader shares that."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open: dict[str, bool] = {}  # path to whether the reader shares renaming
        self.waited: list[float] = []
        self._replace = os.replace
        monkeypatch.setattr(renaming, "_WINDOWS", True)
        monkeypatch.setattr(renaming.os, "replace", self.replace)
        monkeypatch.setattr(renaming.os, "rename", self.rename)
        monkeypatch.setattr(renaming.time, "sleep", self.waited.append)

    def replace(self, source: str | Path, target: str | Path) -> None:
        if str(target) in self.open or self.open.get(str(source)) is False:
            raise PermissionError(13, "Access is denied", str(source), 5, str(target))
        self._replace(source, target)

    def rename(self, source: str | Path, target: str | Path) -> None:
        if os.path.lexists(target):
            raise FileExistsError(17, "Cannot create a file when that file already exists", str(target))
        if self.open.get(str(source)) is False:
            raise PermissionError(13, "The process cannot access the file", str(source), 32, str(target))
        self._replace(source, target)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    fresh, target = tmp_path / "fresh", tmp_path / "target"
    fresh.write_text("new")
    target.write_text("old")
    return fresh, target


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Windows:
    return Windows(monkeypatch)


def test_a_closed_file_is_replaced(files: tuple[Path, Path]) -> None:
    fresh, target = files
    renaming.rename_over(fresh, target)
    assert (target.read_text(), os.listdir(target.parent)) == ("new", ["target"])


def test_an_open_file_moves_aside(files: tuple[Path, Path], windows: Windows) -> None:
    fresh, target = files
    windows.open[str(target)] = True
    with target.open() as reader:
        renaming.rename_over(fresh, target)
        assert reader.read() == "old"
    assert (target.read_text(), os.listdir(target.parent)) == ("new", ["target"])
    assert windows.waited == []


def test_a_scanner_is_waited_for(
    files: tuple[Path, Path], windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh, target = files
    windows.open[str(target)] = False

    def sleep(seconds: float) -> None:
        windows.waited.append(seconds)
        if len(windows.waited) == 2:
            del windows.open[str(target)]

    monkeypatch.setattr(renaming.time, "sleep", sleep)
    renaming.rename_over(fresh, target)
    assert (target.read_text(), os.listdir(target.parent)) == ("new", ["target"])
    assert len(windows.waited) == 2


def test_a_file_that_stays_locked_stays_as_it_was(files: tuple[Path, Path], windows: Windows) -> None:
    fresh, target = files
    windows.open[str(target)] = False
    with pytest.raises(PermissionError):
        renaming.rename_over(fresh, target)
    assert (fresh.read_text(), target.read_text()) == ("new", "old")
    assert sorted(os.listdir(target.parent)) == ["fresh", "target"]
    assert 0 < sum(windows.waited) < 2


def test_the_old_file_gets_its_name_back(files: tuple[Path, Path], windows: Windows) -> None:
    """The new file is held by a scanner, the old one by a reader that shares renaming."""
    fresh, target = files
    windows.open |= {str(target): True, str(fresh): False}
    with pytest.raises(PermissionError):
        renaming.rename_over(fresh, target)
    assert (fresh.read_text(), target.read_text()) == ("new", "old")
    assert sorted(os.listdir(target.parent)) == ["fresh", "target"]


def test_a_missing_file_is_not_waited_for(tmp_path: Path, windows: Windows) -> None:
    with pytest.raises(FileNotFoundError):
        renaming.rename_over(tmp_path / "fresh", tmp_path / "target")
    assert windows.waited == []


def test_outputs_are_renamed_this_way(tmp_path: Path, windows: Windows) -> None:
    target = tmp_path / "table.csv"
    target.write_bytes(b"old")
    windows.open[os.path.realpath(target)] = True
    with output(target, force=True) as stream:
        stream.write(b"new")
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"new", ["table.csv"])
