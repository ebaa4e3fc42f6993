"""`tbq sql`, `summary`, `reduce` and `compare` as users run them."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from started import records
from tensorboardX import SummaryWriter

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two learning rates with three seeds each, hyperparameters logged, and a run that is neither."""
    root = tmp_path_factory.mktemp("seeds") / "runs"
    for rate in (0.5, 0.25):
        for seed in range(3):
            with SummaryWriter(str(root / f"lr={rate}/seed={seed}")) as writer:
                for step in range(5):
                    writer.add_scalar("val/loss", rate + 4 - step + seed, step)
                writer.add_hparams(
                    {"lr": rate, "seed": seed, "optimizer": "sgd"}, {"hparam/done": 1.0}, name="1700000000.5"
                )
    with SummaryWriter(str(root / "other")) as writer:
        writer.add_scalar("train/loss", 1.0, 0)
    return root


def test_best_loss_of_each_rate_over_seeds_in_one_line(tbq: Run, seeds: Path, tmp_path: Path) -> None:
    query = (
        'select "hparam.lr" as rate, avg("val/loss.min") as best, stddev("val/loss.min") as std, count(*) as n '
        "from summary where rate is not null group by rate order by best"
    )
    done = tbq("sql", seeds, query)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["rate,best,std,n", "0.25,1.25,1.0,3", "0.5,1.5,1.0,3"]
    assert tbq("sql", seeds, query, "-o", tmp_path / "best.csv").returncode == 0
    assert (tmp_path / "best.csv").read_text() == done.stdout


def test_sql_parameters(tbq: Run, seeds: Path) -> None:
    query = "select count(*) as n from scalars where tag = $tag and step >= $first"
    done = tbq("sql", seeds, query, "--param", "tag=val/loss", "--param", "first=3")
    assert done.stdout.splitlines() == ["n", "12"]
    done = tbq(
        "sql",
        seeds,
        "select $a as a, $b as b, $c as c",
        "--param",
        'a="5"',
        "--param",
        "b=x=y",
        "--param",
        "c=null",
    )
    assert records(done.stdout) == [{"a": "5", "b": "x=y", "c": ""}]
    done = tbq("sql", seeds, query, "--param", "tag=val/loss")
    assert done.returncode == 1
    assert "$first was not given" in done.stderr and "--param first=" in done.stderr
    done = tbq("sql", seeds, query, "--param", "tag")
    assert (done.returncode, "want NAME=VALUE" in done.stderr) == (2, True)


def test_sql_from_stdin(tbq: Run, seeds: Path) -> None:
    done = tbq("sql", seeds, "-", given="select count(distinct run) as n\nfrom scalars")
    assert done.stdout.splitlines() == ["n", "7"]


def test_sql_errors(tbq: Run, seeds: Path) -> None:
    done = tbq("sql", seeds, "select valu from scalars")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "LINE 1: select valu from scalars\n                 ^^^^" in done.stderr
    assert "did you mean the column value?" in done.stderr
    done = tbq("sql", seeds, "select * from scalars where tag = 'val/los'")
    assert done.returncode == 0
    assert "no tag is called 'val/los'; closest: val/loss" in done.stderr


def test_sql_without_a_query_or_a_log(tbq: Run, seeds: Path) -> None:
    for args, says in (
        ([seeds], "the query is missing after "),
        (["typo"], "the query is missing after typo"),
        ([], "want a log directory and a query"),
        (["select * from scalars"], "the log directory is missing before the query"),
    ):
        done = tbq("sql", *args)
        assert done.returncode == 2 and done.stderr.startswith(f"tbq: {says}"), done.stderr
        assert "select * from scalars limit 10" in done.stderr


def test_columns_of_layouts_are_quoted(tbq: Run, seeds: Path) -> None:
    done = tbq("sql", seeds, "select hparam.lr from summary")
    assert done.returncode == 1 and 'write "hparam.lr", in double quotes; columns: run, ' in done.stderr
    done = tbq("sql", seeds, "select hparam.rate from summary")
    assert '"hparam.' in done.stderr


def test_sql_is_safe_unless_asked(tbq: Run, seeds: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    done = tbq("sql", seeds, f"copy (select 1 as a) to '{target.as_posix()}'")
    assert done.returncode == 1 and "--unsafe" in done.stderr and not target.exists()
    assert tbq("sql", seeds, f"copy (select 1 as a) to '{target.as_posix()}'", "--unsafe").returncode == 0
    assert target.exists()


def test_sql_over_several_logdirs(tbq: Run, seeds: Path) -> None:
    query = "select split_part(run, '/', 1) as which, count(*) as n from scalars group by 1 order by 1"
    done = tbq("sql", f"a:{seeds}", f"b:{seeds}", query)
    assert records(done.stdout) == [{"which": "a", "n": "37"}, {"which": "b", "n": "37"}]
    done = tbq("sql", f"a:{seeds}", f"a:{seeds}", query)
    assert records(done.stdout) == [{"which": "a", "n": "37"}]
    done = tbq("sql", query)
    assert (done.returncode, "the log directory is missing" in done.stderr) == (2, True)


def test_nothing_of_duckdb_is_said_at_the_end(tbq: Run, seeds: Path) -> None:
    """Its module complains on stderr about connections that are open when Python ends."""
    assert tbq("sql", seeds, "select 1 as a").stderr == ""


def test_summary_is_a_leaderboard(tbq: Run, seeds: Path) -> None:
    done = tbq("summary", seeds, "--best", "val/loss:min", "--top", "2", "--require", "hparam.lr")
    assert (done.returncode, done.stderr) == (0, "")
    rows = records(done.stdout)
    assert [row["run"] for row in rows] == ["lr=0.25/seed=0", "lr=0.5/seed=0"]
    assert (rows[0]["val/loss.best"], rows[0]["val/loss.best_step"], rows[0]["hparam.lr"]) == (
        "0.25",
        "4",
        "0.25",
    )
    rows = records(tbq("summary", seeds, "--sort", "hparam.lr:desc", "--sort", "hparam.seed:desc").stdout)
    assert [row["run"] for row in rows][:2] == ["lr=0.5/seed=2", "lr=0.5/seed=1"]
    assert rows[-1]["run"] == "other"
    assert len(rows) == 7
    done = tbq("summary", seeds, "--best", "val/loss")
    assert (done.returncode, "TAG:min or TAG:max" in done.stderr) == (2, True)
    done = tbq("summary", seeds, "--best", "val/los:min")
    assert (done.returncode, "closest: val/loss" in done.stderr) == (1, True)
    done = tbq("summary", seeds, "--sort", "hparam.rl")
    assert (done.returncode, "closest: hparam.lr" in done.stderr) == (2, True)


def test_reduce(tbq: Run, seeds: Path, tmp_path: Path) -> None:
    done = tbq("reduce", seeds, "--by", "re:(.*)/seed=.$", "--stat", "mean,ci95,n", "--tag", "val/loss")
    assert done.returncode == 0
    assert "1 of 7 runs has no group" in done.stderr
    rows = records(done.stdout)
    assert rows[0] == {
        "group": "lr=0.25",
        "tag": "val/loss",
        "step": "0",
        "mean": "5.25",
        "ci95": rows[0]["ci95"],
        "n": "3",
    }
    assert round(float(rows[0]["ci95"]), 5) == 2.48414
    assert len(rows) == 10
    out = tmp_path / "reduced"
    done = tbq(
        "reduce",
        seeds,
        "--run",
        "*/seed=?",
        "--by",
        "re:(.*)/seed=.",
        "--stat",
        "mean",
        "-o",
        out,
        "--as-events",
    )
    assert done.returncode == 0
    assert records(tbq("ls", out).stdout)[0]["run"] == "lr=0.25/mean"
    done = tbq("reduce", seeds, "--as-events")
    assert (done.returncode, "-o DIR" in done.stderr) == (2, True)


def test_compare(tbq: Run, seeds: Path) -> None:
    done = tbq("compare", seeds, "lr=0.5/seed=0", "lr=0.25/seed=0", "--tag", "val/loss")
    assert (done.returncode, done.stderr) == (0, "")
    rows = records(done.stdout)
    assert [
        (row["what"], row["name"], row["stat"], row["a"], row["b"], row["difference"]) for row in rows
    ] == [
        ("hparam", "lr", "", "0.5", "0.25", "-0.25"),
        ("scalar", "val/loss", "last", "0.5", "0.25", "-0.25"),
        ("scalar", "val/loss", "min", "0.5", "0.25", "-0.25"),
        ("scalar", "val/loss", "max", "4.5", "4.25", "-0.25"),
    ]
    done = tbq(
        "compare", seeds, "lr=0.5/seed=0", "lr=0.25/seed=0", "--tag", "val/loss", "--stat", "first, mean"
    )
    assert [row["stat"] for row in records(done.stdout)] == ["", "first", "mean"]
    done = tbq("compare", seeds, "lr=0.5/seed=0", "lr=0.25/seed=0", "--stat", "median")
    assert (done.returncode, "want one of first, last" in done.stderr) == (2, True)
    done = tbq("compare", seeds, "lr=0.5/seed=0", "lr=0.5/sed=1")
    assert (done.returncode, "closest: lr=0.5/seed=1" in done.stderr) == (1, True)


def test_curves_of_export(tbq: Run, seeds: Path) -> None:
    few = records(
        tbq("export", seeds, "--run", "lr=0.5/seed=0", "--tag", "val/loss", "--max-points", "3").stdout
    )
    assert [row["step"] for row in few] == ["0", few[1]["step"], "4"]
    smooth = records(
        tbq("export", seeds, "--run", "lr=0.5/seed=0", "--tag", "val/loss", "--smooth", "0.5").stdout
    )
    assert float(smooth[1]["value"]) == pytest.approx((4.5 * 0.25 + 3.5 * 0.5) / 0.75)
    every = records(
        tbq("export", seeds, "--run", "lr=0.5/seed=0", "--tag", "val/loss", "--every", "2").stdout
    )
    assert [row["step"] for row in every] == ["0", "2", "4"]
    assert tbq("export", seeds, "--smooth", "2").returncode == 2


@pytest.mark.parametrize(
    "words",
    [
        ("ls",), ("tags",), ("export",), ("export", "--kind", "texts"), ("summary",), ("reduce", "--by", "re:(.*)"),
        ("sql", "select run from scalars"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_session_is_a_run(tbq: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    for number in range(2):
        with SummaryWriter(str(tmp_path / "exp"), filename_suffix=str(number)) as writer:
            writer.add_scalar("loss", number, 0, walltime=1.7e9 + number)
            writer.add_text("notes", "x", 0, walltime=1.7e9 + number)
    name, *rest = words
    done = tbq(name, tmp_path, *rest, "--restarts", "split")
    assert done.returncode == 0, done.stderr
    column = "group" if name == "reduce" else "run"
    assert {row[column] for row in records(done.stdout)} == {"exp@1", "exp@2"}
    done = tbq("show", tmp_path, "loss", "--run", "exp@2", "--restarts", "split")
    assert "1 at step 0" in done.stdout


def test_the_restarts_of_commands_are_those_of_the_library(tbq: Run, tmp_path: Path) -> None:
    from tbq.cli.export import command as export
    from tbq.cli.rewrite import command as rewrite
    from tbq.decode.options import RESTARTS
    from tbq.rewriting.options import RESTARTS as OF_REWRITE

    for command, known in ((export, RESTARTS), (rewrite, OF_REWRITE)):
        (option,) = [each for each in command.params if each.name == "restarts"]
        assert tuple(option.type.choices) == known


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("rewrite", "-o", "new", "--merge-runs", "a,b"), "--merge-runs: got 'a,b', want A,B=NAME"),
        (("rewrite", "-o", "new", "--merge-runs", "re:.*"), "an expression with brackets around the name"),
        (("export", "--merge-runs", "a"), "--merge-runs: got 'a', want A,B=NAME"),
        (("export", "--merge-runs", "lr=0.5/seed=0=c"), "--merge-runs: 'c' needs at least two runs"),
    ],
)
def test_merge_runs_names_the_form_it_takes(
    tbq: Run, seeds: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    done = tbq(words[0], seeds, *words[1:], cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr


def test_help_names_every_statistic() -> None:
    """The options repeat these words, because the module that owns them takes long to import."""
    from tbq.cli.options import STATS
    from tbq.summary import statistics

    assert STATS.split(", ") == list(statistics.STATS)


def test_a_report_merges_runs_and_is_strict(tbq: Run, seeds: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = tbq("report", seeds, "-o", page, "--merge-runs", r"re:(lr=.*)/seed=\d")
    assert done.returncode == 0
    (runs,) = re.findall(r'data-url="api/runs"[^>]*>(.*?)</script>', page.read_text())
    names = {row["name"] for row in json.loads(runs)["runs"]}
    assert {"lr=0.25", "lr=0.5"} <= names and not {"lr=0.25/seed=0", "lr=0.5/seed=0"} & names
    damaged = tmp_path / "runs" / "a"
    damaged.mkdir(parents=True)
    cut = damaged / "events.out.tfevents.1.a"
    cut.write_bytes(next(seeds.rglob("*tfevents*")).read_bytes()[:-5])
    os.utime(cut, (1e9, 1e9))  # so that it does not seem to be written now
    done = tbq("report", tmp_path / "runs", "-o", tmp_path / "strict.html", "--strict")
    assert (done.returncode, (tmp_path / "strict.html").exists()) == (1, False)
    assert tbq("report", tmp_path / "runs", "-o", tmp_path / "strict.html").returncode == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--stat", "min"], "--stat is for --layout summary"),
        (["--layout", "wide", "--stat", "min"], "--stat is for --layout summary"),
        (["--method", "minmax"], "--method is for --max-points"),
    ],
)
def test_export_ignores_no_option(tbq: Run, seeds: Path, options: list[str], says: str) -> None:
    done = tbq("export", seeds, *options)
    assert (done.returncode, done.stdout, says in done.stderr) == (2, "", True)


def test_every_table_has_its_name() -> None:
    from typing import get_args

    from tbq import schema

    assert list(get_args(schema.TableName)) == list(schema._COLUMNS) == list(schema.KINDS)
