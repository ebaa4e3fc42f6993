"""Thirty questions about a sweep whose answers are known: each is answered by one or two calls, within the budgets."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import torch_sweep
from assistants import BUDGETS, NOW, Assistant, write

from tbq.assistant.tokens import tokens

BEST, DIVERGED, CRASHED = "lr0.003_bs32_s0", torch_sweep.DIVERGED, torch_sweep.CRASHED[0]
SEED = "lr=0.003, batch_size=32"


class Asked(NamedTuple):
    """A question, the calls that answer it, and what their answers say."""

    question: str
    calls: list[tuple[str, dict[str, Any]]]
    says: list[str]


def asked(question: str, tool: str, *says: str, **arguments: Any) -> Asked:
    return Asked(question, [(tool, arguments)], list(says))


QUESTIONS = [
    asked("what is here?", "overview", "67 runs", "train/loss (66 runs", "lr: 0.001 (19), 0.003 (20), 0.01 (19)"),
    asked("is anything still running?", "overview", "1 running", "running: jobs/live (step 59)"),
    asked("which runs failed?", "diagnose", f"{DIVERGED}: diverged", f"{CRASHED}: crashed at step 19", "stalled"),
    asked("was anything lost?", "overview", "rows dropped, because a later session", "jobs/resumed 10"),
    asked("which metrics are there?", "overview", "val/loss", tag="*loss*"),
    asked("which configuration is best?", "leaderboard", f"1. {SEED}: mean 0.2464 ± 0.0065, n 5"),
    asked("is it beyond chance?", "leaderboard", "differ beyond chance: p = 0.00012"),
    asked("over how many seeds?", "leaderboard", "n 5", "12 configurations"),
    asked("which learning rate is best?", "leaderboard", "1. lr=0.003", "differ beyond chance", by="lr"),
    asked("what matters most?", "leaderboard", "what matters", "lr: 0.", "seed: 0"),
    asked("which single run is best?", "leaderboard", f"{BEST}: 0.2382", by="run"),
    asked("and by the training loss?", "leaderboard", "min of train/loss", metric="train/loss"),
    asked("which seed of the best is worst?", "leaderboard", "lr0.003_bs32_s3: 0.2545", by="run", run=SEED),
    asked("how did the best run go?", "curve", "last 0.2382", "12 points, steps 4 to 59", tag="val/loss", run=BEST),
    asked("how did the rates compare?", "curve", "lr=0.001, mean of 19 runs", tag="val/loss", by="lr"),
    asked("what happened around step 30?", "curve", "34:0.2654", tag="val/loss", run=BEST, steps="25:40"),
    asked("when did it become NaN?", "curve", "not finite: 10 (first at 50)", tag="train/loss", run=DIVERGED),
    asked("what differs between two rates?", "compare", "lr: 0.003 | 0.01", "b is higher", a="lr=0.003", b="lr=0.01"),
    asked("when do they part?", "compare", "they part at step 4", a="lr=0.003", b="lr=0.01"),
    asked("what differs between two runs?", "compare", "seed: 0 | 1", a=BEST, b="lr0.003_bs32_s1"),
    asked("why did seed 3 diverge?", "diagnose", "left its course after step 24", "4 finished", run=DIVERGED),
    asked("why did it crash?", "diagnose", "crashed at step 19", "reached step 59", run=CRASHED),
    asked(
        "why did the spike happen?", "diagnose", "lr went from 0.001 to 0.1 at step 30", "grad_norm went",
        "perf/samples_per_second went from 1,000 to 250", run="jobs/spike",
    ),
    asked("did the resumed run lose anything?", "diagnose", "resumed once, from step 40", "10 rows", run="*resumed"),
    asked("is it still running?", "diagnose", "running at step 59", run="jobs/live"),
    asked("is it stuck?", "diagnose", "stalled: nothing was logged since step 59", run="jobs/stalled"),
    asked("was there a pause?", "diagnose", "nothing was logged for 2h between steps 20 and 21", run="jobs/paused"),
    asked("does it overfit?", "diagnose", "val/loss rose from step 24 on", "overfits", run="jobs/overfit"),
    asked(
        "how many runs per batch size?", "sql", "64 | 14",
        query="select number, count(*) from hparams where name = 'batch_size' group by number order by number",
    ),
    asked("what is written in the notes?", "look", "step 10", "<data ", tag="notes"),
    asked("show me the samples", "look", "64 × 48 pixels, png", tag="samples"),
    asked("how are the weights distributed?", "look", "100 values from 0 to 99", tag="weights"),
    asked("show me the curve of the best run", "look", "curves of val/loss", tag="val/loss", run=BEST),
]  # fmt: skip


@pytest.fixture(scope="module")
def assistant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    root = write(tmp_path_factory.mktemp("assistant") / "runs")
    asking = Assistant(root, clock=lambda: NOW)
    yield asking
    asking.close()


@pytest.mark.parametrize("each", QUESTIONS, ids=[each.question for each in QUESTIONS])
def test_a_question_is_answered(assistant: Assistant, each: Asked) -> None:
    assert len(each.calls) <= 2
    said = ""
    for tool, arguments in each.calls:
        reply = assistant.ask(tool, **arguments)
        assert not reply.is_error, reply.text
        assert tokens(reply.text) <= BUDGETS[tool]
        assert reply.text.splitlines()[-1].startswith("same: tbq ")
        said += reply.text
    for part in each.says:
        assert part in said, said


def test_thirty_questions() -> None:
    assert len(QUESTIONS) >= 30 and {tool for each in QUESTIONS for tool, _ in each.calls} == set(BUDGETS)


def test_an_image_comes_back_as_a_picture(assistant: Assistant) -> None:
    for tag in ("samples", "val/loss"):
        (picture,) = assistant.ask("look", tag=tag).images
        assert picture.startswith("iVBORw0KGgo")  # PNG in base64


def test_the_answers_are_those_of_the_library(assistant: Assistant) -> None:
    import tbq

    with pytest.warns(tbq.TbqWarning, match="dropped 10 rows"):
        tbq.open(assistant.log.follower.discovery.paths[0]).diagnose("jobs/resumed")
    log = tbq.open(assistant.log.follower.discovery.paths[0])
    for run in (DIVERGED, "jobs/spike", "jobs/resumed", "jobs/paused", "jobs/overfit"):
        found = log.diagnose(run, on_error="ignore")
        said = assistant.ask("diagnose", run=run).text
        for line in (*found.happened, *found.before, *found.missing):
            assert line in said


MORE = [
    ("overview", {"run": "jobs"}), ("overview", {"tag": "*grad*"}), ("leaderboard", {"run": "lr0.01*"}),
    ("leaderboard", {"run": SEED, "by": "batch_size"}), ("curve", {"tag": "train/loss", "run": "*"}),
    ("curve", {"tag": "train/loss", "run": "lr=0.003"}), ("curve", {"tag": "train/loss", "run": "#9"}),
    ("curve", {"tag": "val/loss", "run": "lr0*", "by": "lr"}), ("compare", {"a": "jobs", "b": BEST}),
    ("compare", {"a": "#9", "b": "jobs"}), ("look", {"tag": "train/loss", "run": "lr=0.003"}),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
def test_each_answer_ends_with_a_command_that_works(assistant: Assistant) -> None:
    from click.testing import CliRunner

    from tbq.cli.app import app

    for tool, arguments in [*(call for each in QUESTIONS for call in each.calls), *MORE]:
        reply = assistant.ask(tool, **arguments)
        assert not reply.is_error, reply.text
        words = shlex.split(reply.text.splitlines()[-1].removeprefix("same: tbq "), comments=True)
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (words, done.output[:1000])


def test_only_the_runs_that_are_asked_about_count(assistant: Assistant) -> None:
    """The counts of tags, the metric that is taken, and the commands."""
    said = assistant.ask("overview", run="jobs/overfit").text
    assert "train/loss (1 run, 60 rows)" in said and "val/loss (1 run, 20 rows)" in said
    assert said.endswith("--run jobs/overfit")
    said = assistant.ask("leaderboard", run=["jobs/spike", "jobs/paused"]).text
    assert "by the min of train/loss" in said
    assert said.endswith("--run jobs/spike --run jobs/paused --best train/loss:min")
    said = assistant.ask("compare", a="jobs/spike", b="jobs/paused").text
    assert "train/loss: they part at" in said and "metric: took" not in said
    said = assistant.ask("compare", a="jobs", b="lr0.003_bs32_s1").text
    assert said.endswith("""--by 're:(jobs|lr0\\.003_bs32_s1)(/.*)?'""")
    said = assistant.ask("diagnose").text
    assert "select run, state, last_step from runs where state in" in said.splitlines()[-1]
