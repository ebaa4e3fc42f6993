"""A typical sweep leads to the known decision, in every view and with the commands of docs/sweeps.md."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import started
import torch_sweep

import tbq
from tbq.dashboard.feed import Feed
from tbq.dashboard.model import Model

PAGE = Path(__file__).parents[2] / "docs" / "sweeps.md"
pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sweep") / "runs"
    torch_sweep.write(root)
    return root


def test_the_decision(runs: Path) -> None:
    torch_sweep.check_decision(runs)


def test_states_and_the_runs_to_repeat(runs: Path) -> None:
    states = {row["run"]: row["state"] for row in tbq.open(runs).table("runs").to_dicts()}
    expected = dict.fromkeys(states, "finished") | {torch_sweep.DIVERGED: "diverged"}
    assert states == expected | dict.fromkeys(torch_sweep.CRASHED, "crashed")
    assert [each.run for each in tbq.doctor(runs, select="TBQ409")] == sorted(torch_sweep.CRASHED)


def test_the_commands_of_the_page(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to(runs)
    section = PAGE.read_text(encoding="utf-8").split("## From a sweep to a decision")[1].split("\n## ")[0]
    commands = re.findall(r"^\$ tbq (.*)$", section, re.MULTILINE)
    assert len(commands) == 6
    said = []
    for command in commands:
        words = shlex.split(command.replace("hparam.lr", ",".join(torch_sweep.BY)), comments=True)
        done = started.tbq(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said.append((done.stdout, done.stderr))
    assert said[0][0].splitlines()[1].startswith("0.003,32")
    assert "(lr=0.003, batch_size=32) and (lr=0.003, batch_size=64) differ beyond chance" in said[0][1]
    assert said[0][1].count("2 of 60 runs have no hyperparameter lr or batch_size") == 1
    assert said[1][0].splitlines()[1].startswith("lr,")
    repeat = {line.split(",")[0] for line in said[2][0].splitlines()[1:]}
    assert repeat == {*torch_sweep.CRASHED, torch_sweep.DIVERGED}
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(name in report for name in (*torch_sweep.CRASHED, torch_sweep.DIVERGED))


@pytest.mark.parametrize("command", ["summary", "plot", "reduce"])
@pytest.mark.parametrize("by", ["lr", "lr,batch_size"])
def test_bare_names_of_hyperparameters(runs: Path, command: str, by: str) -> None:
    options = {"summary": ["--best", "val/loss:min"]}.get(command, ["--tag", "val/loss"])
    done = started.tbq(command, runs, "--by", by, *options)
    wanted = ",".join(f"hparam.{name}" for name in by.split(","))
    assert done.returncode == 1 and f"hyperparameters are written {wanted}" in done.stderr


def test_words_for_what_was_guessed(runs: Path, tmp_path: Path) -> None:
    assert "for a tag: --tag val/loss" in started.tbq("plot", runs, "val/loss", cwd=tmp_path).stderr
    assert "want: tbq compare LOGDIR RUN_A RUN_B" in started.tbq("compare", runs).stderr
    done = started.tbq("report", runs, "-o", tmp_path / "report.pdf")
    assert done.returncode == 2 and "a report is an HTML file" in done.stderr and not list(tmp_path.iterdir())


def test_runs_without_a_group_are_reported_once_per_log(runs: Path) -> None:
    log = tbq.open(runs)
    with pytest.warns(tbq.TbqWarning) as caught:
        for _ in range(2):
            log.summary(by=torch_sweep.BY, best={"val/loss": "min"})
    assert sum("and so no group" in str(each.message) for each in caught) == 1


def test_the_words_on_figures(runs: Path) -> None:
    log = tbq.open(runs)
    titles = [ax.get_title(loc="right") for ax in log.plot("val/loss").axes]
    assert titles == ["dotted vertical: 3 runs resumed\n1 run leaves the range"]
    one = log.plot("val/loss", run=torch_sweep.RESUMED[0]).axes[0]
    assert one.get_title(loc="right") == "dotted vertical: 1 run resumed"
    assert "dotted vertical: 3 runs resumed" in log.plot_text("val/loss", width=120).splitlines()[0]
    assert log.plot("val/loss", run=torch_sweep.DIVERGED).axes[0].get_title(loc="right") == ""


def test_a_mean_that_leaves_the_range_suggests_the_median(runs: Path) -> None:
    said = r"1 group leaves the range: .*--band quantiles"
    with pytest.warns(tbq.TbqWarning, match=said) as caught:
        tbq.open(runs).plot("val/loss", by="hparam.lr", band="ci95")
    assert sum("medians" in str(each.message) for each in caught) == 1
    with pytest.warns(tbq.TbqWarning) as caught:
        tbq.open(runs).plot("val/loss", by="hparam.lr", band="quantiles")
    assert not [each for each in caught if "medians" in str(each.message)]


def test_watch_shows_curves_first(runs: Path) -> None:
    with tbq.follow(runs) as follower:
        model = Model(str(runs))
        feed = Feed(follower)
        while model.left or not model.loaded:
            model.take(feed.poll())
    assert model.tags == ["val/loss", "train/loss", "hparam/val_loss"]
    assert model.value_tags == ["val/loss"]
