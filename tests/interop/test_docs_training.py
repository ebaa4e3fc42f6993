"""The programs of docs/training, which need the real trainers; tests/docs runs those of all other pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tbq

PAGES = Path(__file__).parents[2] / "docs" / "training"
ELSEWHERE = {"script"}  # tests/docs
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]

#: What each page's program logs: runs, and some of the tags.
LOGGED: dict[str, tuple[set[str], set[str]]] = {
    "loop": ({"runs/exp1", "runs/exp2"}, {"loss", "gradients/norm"}),
    "lightning": ({"runs/exp1/version_0"}, {"train/loss", "gradients/norm"}),
    "transformers": (
        {"runs/exp1", "runs/exp1/run-0", "runs/exp1/run-1"}, {"train/loss", "eval/loss", "objective", "gradients/norm"}
    ),
    "keras": ({"logs/train", "logs/validation"}, {"epoch_loss"}),
    "accelerate": ({"runs/exp1"}, {"loss", "gradients/norm"}),
    "optuna": ({f"runs/trial-{number}" for number in range(8)}, {"loss", "objective"}),
    "ray-tune": (set(), {"ray/tune/loss"}),
    "others": ({"runs/ignite", "runs/skorch"}, {"loss", "gradients/norm", "Loss/train_loss"}),
}  # fmt: skip


def program(page: str, language: str = "python") -> str:
    """All blocks of a page in one language."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(rf"```{language}\n(.*?)```", text, re.S))


def run(folder: Path, *command: str) -> str:
    """The output of a program in a folder, which is its home, too."""
    environment = {
        **os.environ, "HOME": str(folder), "CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": "torch",
        "RAY_USAGE_STATS_ENABLED": "0",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert "TbqWarning" not in done.stderr.replace("UserWarning", ""), done.stderr
    return done.stdout


def test_every_page_is_tested() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == LOGGED.keys() | ELSEWHERE


@pytest.mark.parametrize("page", LOGGED)
def test_the_program_of_a_page(page: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(program(page))
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text("lr: 0.5\nmodel: {layers: 2}\n")
    printed = run(tmp_path, "train.py", *(["-m", "lr=0.1,0.01"] if page == "others" else []))  # Hydra's jobs
    runs, tags = LOGGED[page]
    log = tbq.open(tmp_path, source="events")
    assert set(log.runs) >= runs
    assert {row.tag for row in log.tags(on_error="ignore")} >= tags
    if page in ("loop", "optuna"):
        assert {"loop": "nonfinite", "optuna": "trial-7"}[page] in printed
    if page == "transformers":
        (patched,) = tbq.open(tmp_path / "patched", source="events").table("runs")
        assert patched.writer == "tbq"
    if page == "ray-tune":
        rows = tbq.open(tmp_path / "ray_results" / "exp1", source="events").summary().to_dicts()
        assert sorted(row["hparam.lr"] for row in rows) == [0.01, 0.1]
    if page == "others":
        rows = tbq.open(tmp_path / "multirun").summary(on_error="ignore").to_dicts()
        assert [(row["run"][-2:], row["hparam.lr"], row["hparam.model/layers"]) for row in rows] == [
            ("/0", 0.1, 2.0), ("/1", 0.01, 2.0),
        ]  # fmt: skip
        assert rows[0]["loss"] == pytest.approx(0.01)


CLI = """
import sys
sys.argv[1:1] = [".", "ours"]  # of lightning_runs
import lightning_runs
del sys.argv[1:3]
from lightning.pytorch.cli import LightningCLI

class Data(lightning_runs.pl.LightningDataModule):
    def train_dataloader(self):
        return lightning_runs.data()

LightningCLI(lightning_runs.Model, Data)
"""


def test_lightning_from_yaml(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(program("lightning", "yaml"))
    (tmp_path / "train.py").write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).with_name('programs'))!r})\n{CLI}"
    )
    run(
        tmp_path,
        "train.py",
        "fit",
        "--config",
        "config.yaml",
        "--trainer.max_epochs=4",
        "--trainer.accelerator=cpu",
    )
    log = tbq.open(tmp_path / "runs")
    assert log.series("gradients/norm", run="exp2/version_0").steps.tolist() == [0, 10]
