"""One row per run: names of its columns, tags of any kind by name, and the sub-runs that add_hparams makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from protos import add_hparams, hparams_value, session_end, session_start, strings, value, write
from tensorboard.compat.proto.summary_pb2 import Summary

import tbq

PNG = b"\x89PNG\r\n\x1a\n"


def scalar(tag: str, number: float) -> Summary.Value:
    return value(tag, simple_value=number)


def text(tag: str, words: str) -> Summary.Value:
    return value(tag, "text", tensor=strings((), words.encode()))


def rows(log: tbq.LogDir, *args: Any, **options: Any) -> list[dict[str, Any]]:
    table = log.summary(*args, **options)
    assert len(set(table.columns)) == len(table.columns)
    return table.to_arrow().to_pylist()  # type: ignore[no-any-return]


# ---- names ----


def test_names_that_two_would_like_to_have(tmp_path: Path) -> None:
    values = [scalar("hparam.lr", 1.0), scalar("loss", 4.0), scalar("loss", 2.0), scalar("loss", 3.0)]
    values += [scalar("loss.best", 7.0), scalar("loss.min", 8.0), scalar("run", 9.0), scalar("notes", 5.0)]
    values += [text("notes", "a"), text("notes/text_summary", "b"), scalar("hparam.status", 6.0)]
    write(tmp_path, *values, *add_hparams({"lr": 0.5, "status": 2.0}))
    row = rows(tbq.open(tmp_path), stats=("last", "min"), best={"loss": "min"}, media=True)[0]
    assert (row["hparam.lr"], row["tag.hparam.lr"]) == (0.5, 1.0)
    assert (row["loss"], row["loss.min"], row["tag.loss.min"], row["loss.min.min"]) == (3.0, 2.0, 8.0, 8.0)
    assert (row["loss.best"], row["loss.best_step"], row["tag.loss.best"]) == (2.0, 2, 7.0)
    assert (row["run"], row["tag.run"]) == (".", 9.0)
    assert (row["notes"], row["notes.text"], row["notes/text_summary"]) == (5.0, "a", "b")
    assert (row["hparam.status"], row["hparam.hparam.status"], row["tag.hparam.status"]) == (
        "success",
        2.0,
        6.0,
    )


def test_texts_keep_their_suffix_if_the_short_name_is_another_text(tmp_path: Path) -> None:
    write(tmp_path, text("notes", "a"), text("notes/text_summary", "b"), text("more/text_summary", "c"))
    row = rows(tbq.open(tmp_path), media=True)[0]
    assert (row["notes"], row["notes/text_summary"], row["more"]) == ("a", "b", "c")


def test_what_the_user_names_has_its_own_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        scalar("hparam.lr", 1.0),
        scalar("loss.best", 7.0),
        scalar("loss", 2.0),
        *add_hparams({"lr": 0.5}),
    )
    log = tbq.open(tmp_path)
    row = rows(log, tag=["hparam.lr", "loss.best"], best={"loss": "min"})[0]
    assert (row["hparam.lr"], row["hparam.hparam.lr"]) == (1.0, 0.5)
    assert (row["loss.best"], row["tag.loss.best"]) == (7.0, 2.0)
    assert log.summary(tag="loss.best", best={"loss": "min"}).best == {
        "loss": ("tag.loss.best", "loss.best_step")
    }


def test_the_leaderboard_ranks_by_the_best_column_whatever_it_is_called(tmp_path: Path) -> None:
    write(tmp_path, scalar("loss", 2.0), scalar("loss.best", 1.0), run="a")
    write(tmp_path, scalar("loss", 1.0), scalar("loss.best", 2.0), run="b")
    log = tbq.open(tmp_path)
    for tag in (None, ["loss.best"]):
        table = log.summary(best={"loss": "min"}, tag=tag, media=False)
        assert table.to_arrow()["run"].to_pylist() == ["b", "a"]


@pytest.mark.parametrize("stats", ["last,last", ["last", "last"], "last, min,last"])
def test_a_statistic_that_is_asked_for_twice_comes_once(tmp_path: Path, stats: Any) -> None:
    write(tmp_path, scalar("loss", 2.0))
    log = tbq.open(tmp_path)
    want = ["run", "loss", *(["loss.min"] if "min" in stats else [])]
    assert log.scalars().summary(stats=stats).columns == want
    assert log.summary(stats=stats).columns == ["run", "state", *want[1:]]


def test_hparams_called_like_columns_of_the_wide_layout(tmp_path: Path) -> None:
    write(tmp_path, *add_hparams({"run": 1.0, "group": 2.0, "status": 3.0, "lr": 4.0}))
    table = tbq.open(tmp_path).hparams().wide()
    assert table.columns == ["run", "hparam.group", "lr", "hparam.run", "hparam.status", "group", "status"]
    row = table.to_arrow().to_pylist()[0]
    assert (row["hparam.run"], row["hparam.group"], row["hparam.status"], row["lr"]) == (1.0, 2.0, 3.0, 4.0)


# ---- tags of any kind, by name ----


def test_a_tag_of_any_kind_comes_under_its_own_name(tmp_path: Path) -> None:
    image = Summary.Image(encoded_image_string=PNG, width=1, height=1)
    write(tmp_path, scalar("loss", 1.0), text("experiment_name", "first"), value("pic", image=image), run="a")
    write(tmp_path, scalar("loss", 2.0), text("experiment_name/text_summary", "second"), run="b")
    write(tmp_path, scalar("loss", 3.0), run="c")
    log = tbq.open(tmp_path)
    for media in (True, False):
        with pytest.warns(tbq.TbqWarning, match="no tag matches 'nowhere'"):
            found = log.summary(tag=["experiment_name", "loss", "pic", "nowhere"], media=media)
        assert found.columns == ["run", "state", "loss", "nowhere", "experiment_name", "pic"] or set(found.columns) == {
            "run", "state", "loss", "nowhere", "experiment_name", "experiment_name/text_summary", "pic",
        }  # fmt: skip
        by_run = {row["run"]: row for row in found.to_arrow().to_pylist()}
        assert by_run["a"]["experiment_name"] == "first" and by_run["a"]["pic"] == PNG
        assert by_run["c"]["experiment_name"] is None and by_run["c"]["nowhere"] is None
    for options in ({"tag": ["experiment_name", "loss"]}, {}):
        kept = log.summary(require="experiment_name", media=False, **options)  # type: ignore[arg-type]
        assert kept.to_arrow()["run"].to_pylist() == ["a"]


def test_the_suffix_of_torch_need_not_be_named(tmp_path: Path) -> None:
    write(tmp_path, text("notes/text_summary", "words"), scalar("loss", 1.0))
    log = tbq.open(tmp_path)
    assert rows(log, tag="notes", media=False)[0]["notes"] == "words"
    assert rows(log, tag="notes/text_summary", media=False)[0]["notes/text_summary"] == "words"
    assert len(rows(log, tag="notes", require="notes", media=False)) == 1


def test_a_kind_without_one_value_is_refused(tmp_path: Path) -> None:
    histogram = Summary.Value(tag="weights")
    histogram.histo.bucket_limit.extend([0.5, 1.0])
    histogram.histo.bucket.extend([1, 2])
    write(tmp_path, histogram, scalar("loss", 1.0))
    log = tbq.open(tmp_path)
    with pytest.raises(tbq.TbqError, match="cannot show tag 'weights' of kind histograms"):
        log.summary(tag=["loss", "weights"])
    assert log.summary(tag="*").columns == ["run", "state", "loss"]


# ---- the sub-runs of add_hparams ----


def folds(log: tbq.LogDir) -> dict[str, str]:
    """The sub-runs that a rewrite folds."""
    from tbq.rewriting import plan

    reader = log._reader
    return plan.folds(reader.found, reader.unpacked, reader.survey())[0]


def test_a_sub_run_is_part_of_its_run_or_a_run(tmp_path: Path) -> None:
    write(tmp_path, scalar("loss", 1.0), run="exp")
    write(tmp_path, *add_hparams({"lr": 0.5}), scalar("acc", 0.75), run="exp/1700000000.12")
    log = tbq.open(tmp_path)
    assert [(row["run"], row["acc"], row["hparam.lr"]) for row in rows(log)] == [("exp", 0.75, 0.5)]
    with pytest.raises(tbq.errors.SelectionError, match="sub_runs='keep'"):
        log.summary(run="exp/1700000000.12")
    kept = tbq.open(tmp_path, sub_runs="keep")
    assert [row["run"] for row in rows(kept)] == ["exp", "exp/1700000000.12"]
    alone = rows(kept, run="exp/1700000000.12")
    assert [(row["run"], row["acc"], row["hparam.lr"]) for row in alone] == [("exp/1700000000.12", 0.75, 0.5)]
    row = kept.compare("exp", "exp/1700000000.12").to_arrow().to_pylist()[0]
    assert (row["what"], row["name"], row["a_text"], row["b_text"]) == ("hparam", "lr", None, "0.5")


def test_compare_shows_whole_numbers_without_a_point(tmp_path: Path) -> None:
    write(tmp_path, *add_hparams({"bs": 32.0, "lr": 0.5}), run="a")
    write(tmp_path, *add_hparams({"bs": 64.0, "lr": 0.25}), run="b")
    found = tbq.open(tmp_path).compare("a", "b").to_dicts()
    assert [(row["name"], row["a_text"], row["b_text"]) for row in found] == [
        ("bs", "32", "64"), ("lr", "0.5", "0.25"),
    ]  # fmt: skip


def test_folding_does_not_depend_on_the_selection(tmp_path: Path) -> None:
    write(tmp_path, scalar("loss", 1.0), run="exp")
    for i in range(2):
        write(tmp_path, *add_hparams({"lr": float(i)}), run=f"exp/170000000{i}.5")
    log = tbq.open(tmp_path)
    chosen = ["exp", "exp/1700000000.5"]
    assert [row["run"] for row in rows(log, run=chosen)] == chosen
    assert folds(log) == {}


def test_names_prove_nothing(tmp_path: Path) -> None:
    write(tmp_path, scalar("loss", 1.0), run="a")
    write(tmp_path, *add_hparams({"lr": 0.5}), scalar("acc", 0.5), run="a/named_by_the_user")
    write(tmp_path, scalar("loss", 1.0), run="b")
    write(
        tmp_path, *add_hparams({"lr": 0.5}), *[scalar("acc", 0.5)] * 3, run="b/1700000000.5"
    )  # trains itself
    write(tmp_path, hparams_value("experiment"), run="sweep")
    write(
        tmp_path, session_start({"lr": 1.0}), session_end(1), scalar("acc", 0.5), run="sweep/run-0"
    )  # TF2's trial
    log = tbq.open(tmp_path)
    assert folds(tbq.open(tmp_path, sub_runs="keep")) == log.sub_runs == {"a/named_by_the_user": "a"}
    assert [row["run"] for row in rows(log)] == ["a", "b", "b/1700000000.5", "sweep", "sweep/run-0"]


@pytest.mark.filterwarnings(
    "ignore:.*in common:tbq.TbqWarning",
    "ignore:.*sub-run has the tag:tbq.TbqWarning",
    "ignore:.*is a copy of:tbq.TbqWarning",  # two directories of one kind have the same bytes
)
@examples(30)
@given(
    st.dictionaries(
        st.sampled_from(["a", "a/x", "a/1700000000.1", "b", "b/1700000000.2", "c/1700000000.3"]),
        st.sampled_from(["trains", "hparams", "both", "torch"]),
        min_size=1,
    )
)
def test_reading_and_rewriting_fold_alike(
    tmp_path_factory: pytest.TempPathFactory, made: dict[str, str]
) -> None:
    root = tmp_path_factory.mktemp("fold")
    kinds: dict[str, list[Summary.Value]] = {
        "trains": [scalar("loss", 1.0), scalar("loss", 2.0)],
        "hparams": [session_start({"lr": 1.0})],
        "both": [*add_hparams({"lr": 1.0}), scalar("loss", 1.0), scalar("loss", 2.0)],
        "torch": [*add_hparams({"lr": 1.0}), scalar("acc", 1.0)],
    }
    for run, kind in made.items():
        write(root / "runs", *kinds[kind], run=run)
    log, kept = tbq.open(root / "runs"), tbq.open(root / "runs", sub_runs="keep")
    found = folds(kept)
    own = {run for run, kind in made.items() if kind != "trains"}
    # A file can have one set of hyperparameters, so a rewrite keeps a second one apart.
    assert found == {sub: above for sub, above in log.sub_runs.items() if above not in own}
    assert [row["run"] for row in rows(log)] == log.runs
    report = tbq.rewrite(root / "runs", root / "new", flatten_hparams=True)
    assert sorted(run.run for run in report.runs) == [run for run in kept.runs if run not in found]


def test_twenty_sub_runs_are_many(tmp_path: Path) -> None:
    write(tmp_path, scalar("loss", 1.0))
    for i in range(20):
        write(tmp_path, *add_hparams({"lr": 1.0}), scalar("acc", 1.0), run=f"17000000{i:02d}.5")
    found = tbq.doctor(tmp_path, select="TBQ604")
    assert [finding.message for finding in found] == [
        "20 sub-runs of add_hparams: tbq counts them as part of the runs above, TensorBoard as runs"
    ]
    for i in range(20):
        write(tmp_path, *add_hparams({"lr": float(i)}), scalar("acc", 1.0), run=f"trials/18000000{i:02d}.5")
    write(tmp_path, scalar("loss", 1.0), run="trials")
    found = tbq.doctor(tmp_path, select="TBQ604")
    assert [finding.message for finding in found] == [
        "20 sub-runs of add_hparams: tbq counts them as part of the runs above, TensorBoard as runs",
        "20 sub-runs of add_hparams with different hyperparameters: runs of their own, below trials",
    ]


def test_a_part_of_a_summary_keeps_its_curves_and_its_best(tmp_path: Path) -> None:
    write(tmp_path, scalar("loss", 4.0), scalar("loss", 2.0))
    table = tbq.open(tmp_path).summary(best={"loss": "min"})
    assert "<svg" in table._repr_html_()
    for part in (table.head(1), table.sort("loss"), table.filter([True]), table.select(table.columns)):
        assert "<svg" in part._repr_html_()
        assert part.best == table.best
    assert "<svg" not in table.select("loss")._repr_html_()
    assert table.select("run,loss").best == {}
