"""Metrics of other loggers as scalars: each format, the names of runs, and what is not a metric."""

import json
import math

import pytest

import tbq
from tbq.errors import SourceError, UsageError
from tbq.results import is_metrics_file, metrics


def found(table):
    """{tag: [(step, value)]} of a scalars table of one run."""
    got = {}
    for row in table.to_arrow().to_pylist():
        got.setdefault(row["tag"], []).append((row["step"], row["value"]))
    return got


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_history_and_a_dict():
    class History:
        epoch = (3, 4)
        history = {"loss": [0.5, 0.25], "val_loss": [0.6]}  # noqa: RUF012

    assert found(metrics(History())) == {"loss": [(3, 0.5), (4, 0.25)], "val_loss": [(3, 0.6)]}
    table = metrics({"epoch": [10, 20], "loss": [1, 2]}, run="mine")
    assert found(table) == {"loss": [(10, 1), (20, 2)]}
    assert table.kind == "scalars" and table.to_arrow().column("run").to_pylist() == ["mine"] * 2
    assert table.to_arrow().column("wall_time").null_count == 2


def test_it_is_a_scalars_table_that_everything_works_on(tmp_path):
    table = metrics({"loss": [0.5, 0.1], "acc": [0.2, 0.9]})
    wide = table.wide().to_arrow().to_pylist()
    assert wide == [
        {"run": ".", "step": 0, "acc": 0.2, "loss": 0.5},
        {"run": ".", "step": 1, "acc": 0.9, "loss": 0.1},
    ]
    assert table.summary(stats=["min"]).to_arrow().to_pylist()[0]["loss.min"] == 0.1
    table.write(tmp_path / "out.parquet")


def test_keras_csv_logger(tmp_path):
    path = write(tmp_path / "training.csv", "epoch,accuracy,loss,val_loss\n0,0.5,1.25,NA\n1,0.75,nan,0.5\n")
    got = found(metrics(path))
    assert got["accuracy"] == [(0, 0.5), (1, 0.75)] and got["val_loss"] == [(1, 0.5)]
    assert got["loss"][0] == (0, 1.25) and math.isnan(got["loss"][1][1])
    assert found(metrics(write(tmp_path / "s.csv", "epoch;loss\n0;0.5\n"))) == {"loss": [(0, 0.5)]}
    assert found(metrics(write(tmp_path / "bom.csv", "\ufeffepoch,loss\n4,0.5\n"))) == {"loss": [(4, 0.5)]}


def test_lightning_metrics_csv_takes_the_step_and_keeps_the_epoch(tmp_path):
    path = write(
        tmp_path / "lightning_logs/version_3/metrics.csv",
        "epoch,step,train_loss,val_loss\n0,49,0.5,\n0,99,,0.6\n1,149,0.4,\n",
    )
    table = metrics(path)
    assert found(table) == {
        "epoch": [(49, 0), (99, 0), (149, 1)], "train_loss": [(49, 0.5), (149, 0.4)], "val_loss": [(99, 0.6)],
    }  # fmt: skip
    assert set(table.to_arrow().column("run").to_pylist()) == {"version_3"}


def test_hugging_face_trainer_state(tmp_path):
    state = {
        "best_metric": None, "epoch": 1.0, "global_step": 20,
        "log_history": [
            {"epoch": 0.5, "learning_rate": 1e-5, "loss": 2.5, "step": 10},
            {"epoch": 1.0, "eval_loss": 2.25, "eval_name": "x", "step": 20},
        ],
    }  # fmt: skip
    path = write(tmp_path / "checkpoint-20/trainer_state.json", json.dumps(state))
    assert found(metrics(path)) == {
        "epoch": [(10, 0.5), (20, 1.0)], "learning_rate": [(10, 1e-5)],
        "loss": [(10, 2.5)], "eval_loss": [(20, 2.25)],
    }  # fmt: skip
    assert metrics(path).to_arrow().column("run")[0].as_py() == "checkpoint-20"


def test_ray_result_json_and_progress_csv(tmp_path):
    lines = [
        {"loss": 0.5, "training_iteration": 1, "timestamp": 100, "config": {"lr": 0.1}, "trial_id": "7",
         "pid": 4, "info": {"learner": {"kl": 0.25}}, "done": False},
        {"loss": math.nan, "training_iteration": 2, "timestamp": 110, "config": {"lr": 0.1}, "trial_id": "7"},
    ]  # fmt: skip
    table = metrics(write(tmp_path / "trial_7/result.json", "\n".join(map(json.dumps, lines)) + "\n"))
    got = found(table)
    assert sorted(got) == ["done", "info/learner/kl", "loss"] and got["info/learner/kl"] == [(1, 0.25)]
    assert math.isnan(got["loss"][1][1])
    times = {row["step"]: row["wall_time"] for row in table.to_arrow().to_pylist()}
    assert times == {1: 100, 2: 110}
    path = write(
        tmp_path / "progress.csv", "loss,training_iteration,timestamp,config/lr,trial_id\n0.5,1,100,0.1,7\n"
    )
    assert found(metrics(path)) == {"loss": [(1, 0.5)]}


def test_a_line_still_being_written_is_left_out(tmp_path):
    path = write(tmp_path / "result.json", '{"loss": 1, "training_iteration": 1}\n{"loss": 2, "trai')
    assert found(metrics(path)) == {"loss": [(1, 1)]}


def test_a_json_dict_of_lists(tmp_path):
    path = write(tmp_path / "history.json", json.dumps({"loss": [0.5, 0.25], "name": "x"}))
    assert found(metrics(path)) == {"loss": [(0, 0.5), (1, 0.25)]}


def test_runs_are_named_after_the_file_or_its_folder(tmp_path):
    assert metrics(write(tmp_path / "exp/lr3.csv", "loss\n1\n")).to_arrow().column("run")[0].as_py() == "lr3"
    assert metrics(write(tmp_path / "exp/log.csv", "loss\n1\n")).to_arrow().column("run")[0].as_py() == "exp"


def test_a_run_is_named_after_the_working_directory_too(tmp_path, monkeypatch):
    write(tmp_path / "exp/metrics.csv", "loss\n1\n")
    monkeypatch.chdir(tmp_path / "exp")
    assert metrics("metrics.csv").to_arrow().column("run")[0].as_py() == "exp"


def test_keras_csv_logger_to_a_log(tmp_path):
    path = write(tmp_path / "exp/training.log", "epoch,accuracy,loss\n0,0.5,2.0\n1,0.75,1.5\n")
    assert is_metrics_file(path) and found(metrics(path))["loss"] == [(0, 2.0), (1, 1.5)]
    log = tbq.open(path)
    assert log.runs == ["exp"] and log.series("accuracy").values.tolist() == [0.5, 0.75]


def test_a_log_that_is_no_csv_is_no_metrics(tmp_path):
    assert not is_metrics_file(write(tmp_path / "out.log", "started\n"))
    assert not is_metrics_file(tmp_path / "none.log") and not is_metrics_file(tmp_path)
    with tbq.SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalar("loss, total", 1.0, 1)
    (event_file,) = (tmp_path / "run").iterdir()
    assert not is_metrics_file(event_file.rename(tmp_path / "run.log"))
    assert tbq.open(tmp_path / "run.log").scalars().to_arrow()["value"].to_pylist() == [1.0]


def test_names_that_are_no_unicode_are_escaped(tmp_path):
    path = write(tmp_path / "exp/result.json", '{"training_iteration": 1, "loss\\ud800": 0.5}')
    assert found(metrics(path)) == {"loss\\ud800": [(1, 0.5)]}
    assert tbq.open(path).scalars().to_arrow()["value"].to_pylist() == [0.5]


def test_which_names_are_metrics():
    assert is_metrics_file("a/trainer_state.json") and is_metrics_file("x.parquet")
    assert not is_metrics_file("runs") and not is_metrics_file("events.out.tfevents.1.host.csv")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "no header"),
        ("a.csv", "epoch,loss\n", "no metric"),
        ("a.csv", "loss\n1,2\n", "line 2 has 2 cells"),
        ("a.csv", "name\nx\n", "no metric"),
        ("a.json", "{", "not JSON"),
        ("a.json", "[1]", "want an object"),
        ("a.json", "3\n4\n", "want an object"),
        ("a.jsonl", '{"loss": 1}\nnope\n{"loss": 2}\n', "line 2 is not JSON"),
        ("a.json", "[" * 100_000, "nested|not JSON"),
        ("a.parquet", "PAR1", "not a Parquet file"),
    ],
)
def test_wrong_files_say_what_is_wrong_and_where(tmp_path, name, text, message):
    path = write(tmp_path / name, text)
    with pytest.raises(SourceError, match=message) as error:
        metrics(path)
    assert error.value.path == str(path)


def test_unknown_endings_missing_files_and_wrong_objects(tmp_path):
    with pytest.raises(UsageError, match=r"it reads .*\.csv"):
        metrics(write(tmp_path / "a.txt", "x"))
    with pytest.raises(SourceError, match="no such file"):
        metrics(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="got a int, which has no metrics"):
        metrics(3)
    with pytest.raises(UsageError, match="'loss' is a float"):
        metrics({"loss": 0.5})
    (tmp_path / "latin.csv").write_bytes(b"\xff\xfeloss\n1")
    with pytest.raises(SourceError, match="not a CSV"):
        metrics(tmp_path / "latin.csv")


def test_deeply_nested_results_do_not_overflow(tmp_path):
    row = {"loss": 1}
    for _ in range(200):
        row = {"x": row, "loss": 1}
    assert "loss" in found(metrics(write(tmp_path / "result.json", json.dumps(row))))
