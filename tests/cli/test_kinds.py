"""`tbq show`, `tbq media` and `tbq export --kind` from the outside."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tensorboardX import SummaryWriter

import tbq as library

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("kinds") / "runs"
    rng = np.random.default_rng(3)
    with SummaryWriter(str(root / "exp")) as writer:
        for step in range(3):
            writer.add_scalar("loss", 1 / (step + 1), step)
            writer.add_image("sample", rng.random((3, 4, 6)), step)
            writer.add_histogram("weights", rng.normal(size=200), step)
            writer.add_text("notes", f"step *{step}*", step)
    return root


def test_show(tbq: Any, kinds: Path) -> None:
    assert "step *2*" in tbq("show", kinds, "notes").stdout
    assert "step *1*" in tbq("show", kinds, "notes", "--step", 1).stdout
    shown = tbq("show", kinds, "weights").stdout
    assert "200 values" in shown
    assert "█" in shown
    shown = tbq("show", kinds, "sample").stdout
    assert "6 × 4 png" in shown
    assert "tbq media" in shown
    assert "min  0.333333343 at step 2" in tbq("show", kinds, "loss").stdout


def test_show_says_what_is_close(tbq: Any, kinds: Path) -> None:
    wrong = tbq("show", kinds, "weigths")
    assert wrong.returncode == 1
    assert "closest: weights" in wrong.stderr
    wrong = tbq("show", kinds, "sample", "--step", 10)
    assert wrong.returncode == 1
    assert "closest: 0, 1, 2" in wrong.stderr


def test_media(tbq: Any, kinds: Path, tmp_path: Path) -> None:
    done = tbq("media", kinds, "-o", tmp_path / "out", "--every", 2)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out" / "manifest.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["kind"], row["step"]) for row in rows] == [
        ("images", "0"),
        ("images", "2"),
        ("texts", "0"),
        ("texts", "2"),
    ]
    assert (tmp_path / "out" / rows[3]["path"]).read_text() == "step *2*"
    again = tbq("media", kinds, "-o", tmp_path / "out")
    assert again.returncode == 1
    assert "--force" in again.stderr
    assert tbq("media", kinds, "-o", tmp_path / "out", "--force").returncode == 0


def test_export_of_a_kind(tbq: Any, kinds: Path, tmp_path: Path) -> None:
    out = tmp_path / "images.parquet"
    assert tbq("export", kinds, "--kind", "images", "--steps", "1:", "-o", out).returncode == 0
    table = library.read(out)
    assert table.kind == "images"
    assert table.to_arrow()["step"].to_pylist() == [1, 2]
    texts = tbq("export", kinds, "--kind", "texts").stdout
    assert texts.splitlines()[0] == "run,tag,step,wall_time,index,text"
    refused = tbq("export", kinds, "--kind", "images", "-o", tmp_path / "images.csv")
    assert refused.returncode == 1
    assert "tbq media" in refused.stderr
    assert not (tmp_path / "images.csv").exists()


def test_export_of_everything(tbq: Any, kinds: Path, tmp_path: Path) -> None:
    assert tbq("export", kinds, "--kind", "all", "-o", tmp_path / "all").returncode == 0
    names = ["histograms", "images", "scalars", "texts"]
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == [f"{name}.parquet" for name in names]
    assert tbq("export", kinds, "--kind", "all", "-o", tmp_path / "all.duckdb").returncode == 0
    import duckdb

    with duckdb.connect(str(tmp_path / "all.duckdb"), read_only=True) as connection:
        assert sorted(row[0] for row in connection.execute("show tables").fetchall()) == names
        assert connection.execute("select count(*) from images").fetchall() == [(3,)]
    assert tbq("export", kinds, "--kind", "all").returncode == 2
    wrong = tbq("export", kinds, "--kind", "images", "--layout", "wide")
    assert wrong.returncode == 2


def test_thumbnails_in_html(kinds: Path, tmp_path: Path) -> None:
    images = library.open(kinds).images()
    assert images._repr_html_().count("<img src=") == 3
    images.write(tmp_path / "images.html")
    assert (tmp_path / "images.html").read_text().count("data:image/png;base64,") == 3


def test_the_elements_of_tensors(tbq: Any, tmp_path: Path) -> None:
    with library.SummaryWriter(tmp_path / "run") as writer:
        writer.add_tensor("t", [[1.5, 2.0], [3.0, 4.0]], 7)
    rows = tbq("export", tmp_path, "--kind", "tensors", "--elements").stdout.splitlines()
    assert [line.rsplit(",", 2)[1:] for line in rows] == [
        ["index", "value"],
        ["0", "1.5"],
        ["1", "2.0"],
        ["2", "3.0"],
        ["3", "4.0"],
    ]
    wrong = tbq("export", tmp_path, "--elements")
    assert wrong.returncode == 2
    assert "add --kind tensors" in wrong.stderr


@pytest.mark.parametrize("kind", ["runs", "files", "problems", "projector"])
@pytest.mark.parametrize("option", [("--tag", "loss"), ("--steps", "1:")])
def test_a_table_without_tags_names_the_option(
    tbq: Any, kinds: Path, kind: str, option: tuple[str, str]
) -> None:
    wrong = tbq("export", kinds, "--kind", kind, *option)
    assert wrong.returncode == 2
    assert f"{option[0]} is not for {kind}" in wrong.stderr


def test_a_query_before_its_log(tbq: Any, kinds: Path) -> None:
    wrong = tbq("sql", "select 1", kinds)
    assert wrong.returncode == 2
    assert "the query comes last" in wrong.stderr
