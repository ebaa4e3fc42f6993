"""`tbq weights` and `tbq predictions`: what they print, write and refuse."""

import csv
import io
import json

import numpy as np
import pytest
import safetensors.numpy

from tbq.cli import main


def run(capfdbinary, *arguments):
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    out, err = capfdbinary.readouterr()
    return stop.value.code, out.decode(), err.decode()


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.safetensors"
    safetensors.numpy.save_file(
        {
            "dense.weight": np.array([[0.1, -2]], np.float32),
            "dense.bias": np.zeros(2),
            "out.bias": np.ones(1),
        },
        path,
    )
    return path


def test_weights_to_stdout_and_to_a_file(capfdbinary, model, tmp_path):
    code, out, err = run(capfdbinary, "weights", model)
    assert (code, err) == (0, "")
    rows = {(row["layer"], row["parameter"]): row for row in table(out)}
    assert rows["dense", "weight"]["shape"] == "[1,2]" and rows["dense", "weight"]["min"] == "-2.0"
    assert rows["dense", "bias"]["zeros"] == "2"
    assert run(capfdbinary, "weights", model, "-o", tmp_path / "w.csv") == (0, "", "")
    assert (tmp_path / "w.csv").read_text() == out
    code, _, err = run(capfdbinary, "weights", model, "-o", tmp_path / "w.csv")
    assert code == 1 and "--force" in err
    assert run(capfdbinary, "weights", model, "-o", tmp_path / "w.csv", "--force")[0] == 0


def test_elements_of_a_layer(capfdbinary, model, tmp_path):
    code, out, _ = run(capfdbinary, "weights", model, "--elements", "--layer", "dense")
    assert code == 0
    assert out.splitlines()[0] == "layer,parameter,index,value"
    assert 'dense,weight,"0,0",0.1' in out.splitlines() and len(out.splitlines()) == 5
    code, out, err = run(
        capfdbinary, "weights", model, "--elements", "--layer", "dens", "-o", tmp_path / "w.csv"
    )
    assert (code, out) == (1, "") and "closest: dense" in err
    assert not (tmp_path / "w.csv").exists()
    code, out, _ = run(capfdbinary, "weights", model, "--elements", "--layer", "out", "--format", "jsonl")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"layer": "out", "parameter": "bias", "index": "0", "value": 1.0}
    ]


def test_diff(capfdbinary, model, tmp_path):
    np.savez(tmp_path / "b.npz", **{"dense.weight": np.array([[0.5, -2]]), "dense.bias": np.zeros(2)})
    code, out, _ = run(capfdbinary, "weights", model, tmp_path / "b.npz", "--diff")
    assert code == 0
    assert {(r["layer"], r["parameter"]): r["status"] for r in table(out)} == {
        ("dense", "weight"): "changed", ("dense", "bias"): "same", ("out", "bias"): "removed",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["model.safetensors", "b.npz"], 2, "--diff takes two"),
        (["model.safetensors", "--diff"], 2, "--diff takes two"),
        (["model.safetensors", "model.safetensors", "--diff", "--elements"], 2, "omit --elements"),
        (["model.onnx"], 2, "known are .safetensors, .npz, .h5"),
        (["none.npz"], 1, "no such file"),
        (["cut.safetensors"], 1, "cut.safetensors @ byte 0: not a whole safetensors file"),
        (["model.safetensors", "-o", "w.xyz"], 2, "can be csv"),
    ],
)
def test_weights_that_cannot_be(capfdbinary, model, tmp_path, monkeypatch, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cut.safetensors").write_bytes(model.read_bytes()[:50])
    got, out, err = run(capfdbinary, "weights", *arguments)
    assert (got, out) == (code, "") and words in err and "Traceback" not in err


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    probabilities, labels = rng.dirichlet(np.ones(3), 40).astype(np.float32), rng.integers(0, 3, 40)
    np.save("p.npy", probabilities)
    np.save("y.npy", labels)
    np.savez("both.npz", logits=probabilities, y=labels)
    np.savetxt("p.csv", probabilities, delimiter=",")
    safetensors.numpy.save_file({"p": probabilities}, "p.safetensors")
    (tmp_path / "table.csv").write_text("id,y\n" + "".join(f"x{n},{y}\n" for n, y in enumerate(labels)))
    return probabilities, labels


def test_predictions_with_scores_and_confusion(capfdbinary, outputs, tmp_path):
    probabilities, labels = outputs
    predicted = probabilities.argmax(1)
    found = run(
        capfdbinary, "predictions", "p.npy", "--labels", "y.npy", "-o", "out.csv",
        "--confusion", "c.csv", "--scores", "-",
    )  # fmt: skip
    assert found[0] == 0 and found[2] == ""
    rows = table((tmp_path / "out.csv").read_text())
    assert list(rows[0]) == ["id", "label", "predicted", "confidence", "class_0", "class_1", "class_2"]
    assert [int(r["predicted"]) for r in rows] == predicted.tolist() and [
        int(r["label"]) for r in rows
    ] == labels.tolist()
    assert np.float32([r["confidence"] for r in rows]).tolist() == probabilities.max(1).tolist()
    matrix = table((tmp_path / "c.csv").read_text())
    assert sum(int(row[str(n)]) for n, row in enumerate(matrix)) == (predicted == labels).sum()
    assert [int(r["support"]) for r in table(found[1])] == [(labels == n).sum() for n in range(3)]


def test_predictions_of_every_file(capfdbinary, outputs, tmp_path):
    want = run(capfdbinary, "predictions", "p.npy", "--labels", "y.npy")[1]
    assert run(capfdbinary, "predictions", "both.npz:logits", "--labels", "both.npz:y")[1] == want
    assert run(capfdbinary, "predictions", "p.safetensors", "--labels", "table.csv:y")[1] == want
    assert len(table(run(capfdbinary, "predictions", "p.csv", "--labels", "y.npy")[1])) == 40
    run(capfdbinary, "predictions", "p.npy", "--labels", "y.npy", "-o", "p.parquet")
    import pyarrow.parquet as pq

    with pq.ParquetFile("p.parquet") as file:
        assert file.read().num_rows == 40
    named = table(run(capfdbinary, "predictions", "p.npy", "--ids", "table.csv:id", "--classes", "a,b,c")[1])
    assert named[3]["id"] == "x3" and named[3]["predicted"] == "abc"[outputs[0][3].argmax()]
    (tmp_path / "names.txt").write_text("a\nb\nc\n")
    assert list(table(run(capfdbinary, "predictions", "p.npy", "--classes", "names.txt")[1])[0])[3:] == [
        "a",
        "b",
        "c",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["p.npy", "--labels", "short.npy"], "tbq: 40 outputs and 10 labels"),
        (["p.npy", "--labels", "long.npy"], "tbq: 40 outputs and 80 labels"),
        (["p.npy", "--labels", "number.npz"], "'y' is one number, want an array"),
        (["both.npz"], "holds 2 arrays: logits, y"),
        (["both.npz:x"], "no array 'x'"),
        (["table.csv"], "column 'id' holds no numbers"),
        (["table.csv:z"], "no column 'z'"),
        (["p.txt"], "no such file"),
        (["names.txt"], "known are .npy"),
        (["p.npy", "--labels", "none.npy"], "no such file"),
        (["cut.npy"], "ends after"),
        (["p.npy", "--scores", "s.csv"], "no labels"),
    ],
)
def test_predictions_that_cannot_be(capfdbinary, outputs, tmp_path, arguments, words):
    np.save("short.npy", outputs[1][:10])
    np.save("long.npy", np.tile(outputs[1], 2))
    np.savez("number.npz", y=np.array(3))
    (tmp_path / "names.txt").write_text("a\n")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "p.npy").read_bytes()[:-5])
    code, _, err = run(capfdbinary, "predictions", *arguments, "-o", "out.csv")
    assert code in (1, 2) and words in err and "Traceback" not in err
    assert not (tmp_path / "out.csv").exists()


def test_existing_files_are_found_before_anything_is_written(capfdbinary, outputs, tmp_path):
    (tmp_path / "s.csv").write_text("mine")
    code, _, err = run(
        capfdbinary, "predictions", "p.npy", "--labels", "y.npy", "-o", "o.csv", "--scores", "s.csv"
    )
    assert code == 1 and "--force" in err and not (tmp_path / "o.csv").exists()
    assert (tmp_path / "s.csv").read_text() == "mine"


def test_help_ends_with_an_example(capfdbinary):
    for name in ("weights", "predictions"):
        code, out, _ = run(capfdbinary, name, "--help")
        assert code == 0 and "Examples:" in out.rstrip().rsplit("\n\n", 1)[-1]
