"""Metrics of other loggers as scalars: each format, the names of runs, and what is not a metric."""

import json
import math

import pytest

import tbq
from tbq.errors import SourceError, TbqWarning, UsageError
from tbq.results import MetricsTable, is_metrics_file, metrics


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


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_only_ray_has_keys_that_are_not_metrics(tmp_path, ending):
    with MetricsTable(tmp_path / f"a.{ending}") as table:
        table.log(3, config=0.5, pid=7, **{"config/lr": 0.25})
    assert found(metrics(tmp_path / f"a.{ending}")) == {
        "config": [(3, 0.5)], "pid": [(3, 7)], "config/lr": [(3, 0.25)],
    }  # fmt: skip


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


def cells(rows, names):
    return [[row.get(name) for name in names] for row in rows]


def store(folder, form, rows):
    """Rows (dicts) as a metrics file of the given format."""
    import csv

    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{form}.{form}"
    names = list(dict.fromkeys(name for row in rows for name in row))
    if form == "csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([names, *cells(rows, names)])
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "json":
        path.write_text(json.dumps(rows))
    else:
        columns = {name: [row.get(name) for row in rows] for name in names}
        large = {name: pa.uint64() for name in names if columns[name][0] == 2**63}
        pq.write_table(pa.table({name: pa.array(columns[name], large.get(name)) for name in names}), path)
    return path


FORMATS = pytest.mark.parametrize("form", ["csv", "jsonl", "json", "parquet"])
PAST = 2**53 + 1


@FORMATS
def test_fractional_epochs_are_a_metric_of_numbered_rows(tmp_path, form):
    rows = [{"epoch": 0.1, "loss": 3.0}, {"epoch": 0.2, "loss": 2.0}, {"epoch": 1.0, "loss": 1.0}]
    with pytest.warns(TbqWarning, match=r"'epoch' has 0\.1 in row 1.*: the rows are numbered"):
        got = found(metrics(store(tmp_path, form, rows)))
    assert got == {"epoch": [(0, 0.1), (1, 0.2), (2, 1.0)], "loss": [(0, 3.0), (1, 2.0), (2, 1.0)]}


def test_fractional_epochs_of_a_dict():
    with pytest.warns(TbqWarning, match="the rows are numbered instead"):
        got = found(metrics({"epoch": [0.5, 1.5], "loss": [2, 1]}))
    assert got == {"epoch": [(0, 0.5), (1, 1.5)], "loss": [(0, 2), (1, 1)]}


@FORMATS
def test_one_column_gives_the_steps_of_all_rows(tmp_path, form):
    rows = [
        {"epoch": 0, "step": 10, "loss": 3.0},
        {"epoch": 1, "step": None, "loss": 2.0},
        {"epoch": 2, "step": 30, "loss": 1.0},
    ]
    with pytest.warns(
        TbqWarning, match=r"'step' is blank in 1 of 3 rows, first in row 2: the steps .*'epoch'"
    ):
        got = found(metrics(store(tmp_path, form, rows)))
    assert got == {"step": [(0, 10), (2, 30)], "loss": [(0, 3.0), (1, 2.0), (2, 1.0)]}
    for row in rows:
        del row["epoch"]
    with pytest.warns(TbqWarning, match="gets the step of the row before"):
        got = found(metrics(store(tmp_path, form, rows)))
    assert got == {"loss": [(10, 3.0), (10, 2.0), (30, 1.0)]}


@FORMATS
def test_steps_past_2_53_are_exact_and_values_are_reported(tmp_path, form):
    rows = [{"step": PAST, "tokens": PAST, "loss": 0.5}, {"step": PAST + 2, "tokens": 4, "loss": 0.25}]
    with pytest.warns(TbqWarning, match=f"'tokens': 1 integers past .* rounded .*{PAST}"):
        table = metrics(store(tmp_path, form, rows))
    assert found(table)["loss"] == [(PAST, 0.5), (PAST + 2, 0.25)]
    with pytest.warns(TbqWarning, match="rounded"):
        assert tbq.open(tmp_path / f"{form}.{form}").series("loss").steps.tolist() == [PAST, PAST + 2]


def test_steps_past_2_53_as_pandas_writes_them_and_steps_of_numpy(tmp_path):
    import numpy as np

    assert found(metrics(write(tmp_path / "a.csv", f"step,loss\n{PAST}.0,1\n"))) == {"loss": [(PAST, 1)]}
    assert found(metrics({"step": np.array([PAST]), "loss": [1]})) == {"loss": [(PAST, 1)]}
    with pytest.warns(TbqWarning, match="rounded"):
        metrics({"loss": np.array([PAST])})


@FORMATS
@pytest.mark.parametrize("step", [2**63, -(2**64), 10**22])
def test_steps_that_do_not_fit_are_reported(tmp_path, form, step):
    if form == "parquet":
        step = 2**63  # the only such integer that Parquet can store
    with pytest.warns(TbqWarning, match="the rows are numbered instead"):
        got = found(metrics(store(tmp_path, form, [{"step": step, "loss": 1.0}])))
    assert got == {"loss": [(0, 1.0)], "step": [(0, float(step))]}


@FORMATS
@pytest.mark.parametrize("texts", [["1,000"], ["1_000"], ["0,5", "0,25"], ["50 %"], ["1e999"], ["-.5e1 %"]])
def test_text_that_looks_like_a_number_is_reported(tmp_path, form, texts):
    for beside in (0.5, None) if form != "parquet" else (None,):  # a column of Parquet has one type
        rows = [{"step": n, "acc": 1.0, "loss": text} for n, text in enumerate([*texts, beside])]
        path = store(tmp_path, form, rows)
        if texts == ["1e999"] and form != "parquet":
            path.write_text(path.read_text().replace('"1e999"', "1e999"))
        with pytest.warns(TbqWarning, match=rf"'loss': {len(texts)} of its values are left out"):
            got = found(metrics(path))
        assert got.get("loss", []) == ([(len(texts), 0.5)] if beside else [])


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("name", ["a,b", "a;b;c", "a\tb", 'a"b;c', "a;b\nc;d"])
def test_separators_in_names(tmp_path, ending, name):
    """tbq finds out what separates the cells of a file, and always recognises its own files."""
    for others in ((), ("loss",), ("loss", "x;y;z")):
        with MetricsTable(tmp_path / f"{len(others)}.{ending}") as table:
            table.log(1, **{name: 0.5})
            table.log(2, **{name: 0.25}, **dict.fromkeys(others, 1.0))
        want = {name: [(1, 0.5), (2, 0.25)], **{other: [(2, 1.0)] for other in others}}
        assert found(metrics(table.path)) == want


def test_the_separator_is_that_of_the_rows(tmp_path):
    path = write(tmp_path / "a.csv", "x;y;z,step,loss\n1,2,3\n4,5,6\n")
    assert found(metrics(path)) == {"x;y;z": [(2, 1), (5, 4)], "loss": [(2, 3), (5, 6)]}
    path = write(tmp_path / "b.csv", "step;a,b;c,d,e\n2;1;3\n")
    assert found(metrics(path)) == {"a,b": [(2, 1)], "c,d,e": [(2, 3)]}
    path = write(tmp_path / "c.csv", "step,loss,acc\n1,2\n2,3,4\n")
    assert found(metrics(path)) == {"loss": [(1, 2), (2, 3)], "acc": [(2, 4)]}


def test_columns_of_text_are_not_reported(tmp_path, recwarn):
    assert found(metrics(write(tmp_path / "a.csv", "step,name,loss\n1,adam,2\n"))) == {"loss": [(1, 2)]}
    assert found(metrics(write(tmp_path / "a.json", '[{"step": 1, "when": "2024-01-01", "loss": 2}]')))
    assert not recwarn


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "step,loss,loss\n1,2,3\n"),
        ("a.csv", "step,step,loss\n1,2,3\n"),
        ("a.jsonl", '{"step": 1, "loss": 2, "loss": 3}\n{"step": 2, "loss": 3}\n'),
        ("a.json", '[{"step": 1, "loss": 2, "loss": 3}]'),
        ("a.json", '{"a/loss": 2, "a": {"loss": 3}}'),
    ],
)
def test_two_values_of_one_name_are_an_error(tmp_path, name, text):
    with pytest.raises(SourceError, match="twice"):
        metrics(write(tmp_path / name, text))


def test_two_columns_of_one_name_in_parquet_and_in_a_dict(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["loss", "loss"]), tmp_path / "a.parquet"
    )
    with pytest.raises(SourceError, match="'loss' twice"):
        metrics(tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="'1' occurs twice"):
        metrics({1: [1], "1": [2]})
    blank = write(tmp_path / "blank.csv", "step,loss,,\n1,2,,\n")  # trailing separators of a spreadsheet
    assert found(metrics(blank)) == {"loss": [(1, 2)]}


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_a_newline_ends_a_json_line(tmp_path, separator):
    line = '{"step": %d, "note": "a' + separator + 'b", "loss": 2}\n'
    if separator < " ":
        line = line.replace(separator, "").replace('"step"', separator + '"step"').replace(separator, " ")
    path = tmp_path / "a.jsonl"
    path.write_text((line % 1 + line % 2).replace("\n", "\r\n"), newline="", encoding="utf-8-sig")
    assert found(metrics(path)) == {"loss": [(1, 2), (2, 2)]}


def test_a_row_of_json_with_a_list_keeps_its_numbers(tmp_path):
    line = '{"training_iteration": 1, "loss": 0.5, "lengths": [1, 2]}\n'
    assert found(metrics(write(tmp_path / "result.json", line))) == {"loss": [(1, 0.5)]}
    with pytest.warns(TbqWarning, match="'epochs' is one number beside lists"):
        assert found(metrics(write(tmp_path / "h.json", '{"loss": [1], "epochs": 3}'))) == {"loss": [(0, 1)]}


def test_nonfinite_numbers_that_tbq_itself_wrote_as_words(tmp_path):
    got = found(metrics(write(tmp_path / "a.json", '[{"step": 1, "a": "NaN", "b": "-Infinity"}]')))
    assert math.isnan(got["a"][0][1]) and got["b"] == [(1, -math.inf)]


def test_an_unfinished_line_of_csv_is_left_out_with_a_warning(tmp_path):
    with pytest.warns(TbqWarning, match="2 of 3 cells and is left out as unfinished"):
        assert found(metrics(write(tmp_path / "a.csv", "step,a,b\n1,2,3\n2,4"))) == {
            "a": [(1, 2)],
            "b": [(1, 3)],
        }


@pytest.mark.parametrize("text", ["step,note\n0,a\n1,b\n", "step;loss\n0;1,5\n"])
@pytest.mark.filterwarnings("ignore:metric 'loss'")
def test_steps_alone_are_no_metric(tmp_path, text):
    with pytest.raises(SourceError, match="has no metrics"):
        metrics(write(tmp_path / "x.csv", text))
    assert found(metrics(write(tmp_path / "y.csv", "step,epoch\n5,0\n6,1\n"))) == {"epoch": [(5, 0), (6, 1)]}


def test_a_row_of_step_columns_without_a_step_is_left_out(tmp_path):
    text = "step,epoch,loss\n4.875,31,\n25,32,0.5\n27,33,0.25\n"
    with pytest.warns(
        tbq.TbqWarning, match=r"column 'step': row 1 has 4.875, want .*: 1 such rows are left out"
    ):
        rows = found(metrics(write(tmp_path / "x.csv", text)))
    assert rows == {"loss": [(25, 0.5), (27, 0.25)], "epoch": [(25, 32), (27, 33)]}


def test_the_column_with_the_steps_can_be_given(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("step,epoch,loss\n0,0,3\n50,0,2\n100,1,1\n")
    assert found(metrics(path, step="epoch")) == {
        "loss": [(0, 3.0), (0, 2.0), (1, 1.0)],
        "step": [(0, 0.0), (0, 50.0), (1, 100.0)],
    }
    with pytest.raises(UsageError, match=r"step: got 'epochs' \(str\), want a column: step, epoch, loss"):
        metrics(path, step="epochs")


@pytest.mark.parametrize("column", ["run", "tag"])
def test_rows_of_several_runs_or_tags_are_reported(tmp_path, column, recwarn):
    path = write(tmp_path / "long.csv", f"{column},step,value\na,1,1\na,2,2\n,3,3\n")
    assert len(metrics(path)) == 3 and not recwarn
    path = write(tmp_path / "long.csv", f"{column},step,value\na,1,1\nb,1,2\n")
    with pytest.warns(TbqWarning, match=f"^column '{column}' has 2 different texts"):
        assert len(metrics(path)) == 2
