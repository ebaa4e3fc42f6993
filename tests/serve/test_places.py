"""The location of a log is never revealed, wherever the home directory is; other paths are not changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from served import Asked, unframed

import tbq
from tbq.server.hidden_paths import places_of, without_paths
from tbq.server.sql.queries import run_query
from tbq.server.sql.worker_pool import Job

TEXT = "/var/log/x: got a/b, see https://example.org/a/b; 1/2"


@pytest.mark.parametrize("home", ["/", "//", "///", "", ".", "relative", "~", "/tmp/..", None])
def test_a_home_that_is_not_a_directory_of_somebody(
    monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    assert without_paths(TEXT, places_of(["/data/runs"])) == TEXT
    assert without_paths("/data/runs/a", places_of(["/data/runs"])) == "runs/a"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("/people/ann/x", "~/x"),
        ("cannot open '/people/ann'", "cannot open '~'"),
        ("/people/ann: denied", "~: denied"),
        ("/people/anna/x", "/people/anna/x"),
        ("/people/ann-old/x", "/people/ann-old/x"),
        ("/people/ann.old/x", "/people/ann.old/x"),
        ("/disk/people/ann/x", "/disk/people/ann/x"),
        ("in /people/ann.", "in ~."),
        ("/logs/mine/runs/a", "runs/a"),
        ("/logs/mine/runs2/a", "…/runs2/a"),
        ("/logs/mine", "…"),
        ("/logs/minetoo/a", "…/minetoo/a"),
        ("file:///logs/mine/runs/a", "file://runs/a"),
        ("name:/logs/mine/runs", "name:runs"),
    ],
)
def test_a_place_is_a_whole_path(monkeypatch: pytest.MonkeyPatch, text: str, want: str) -> None:
    monkeypatch.setenv("HOME", "/people/ann")
    assert without_paths(text, places_of(["/logs/mine/runs"])) == want


def test_files_of_sql_with_a_home_of_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/")
    with tbq.SummaryWriter(tmp_path / "runs" / "a" / "b") as writer:
        writer.add_scalar("loss", 1.0, 0)
    asked = Asked(tmp_path / "runs")
    _, columns = unframed(run_query(asked.log, "select path from files", 10, Job()).body)
    asked.log.close()
    (path,) = columns["0"]
    assert path.startswith("runs/a/b/events") and "~" not in path and os.path.dirname(tmp_path) not in path


def test_a_user_who_does_not_exist() -> None:
    assert without_paths("~nobody-here/runs/a", places_of(["~nobody-here/runs"])) == "runs/a"
