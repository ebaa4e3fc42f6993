"""What a notebook shows, in a real kernel: each object once, and nothing else."""

from __future__ import annotations

import json
import sys

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

CELLS = {
    "setup": """
import pathlib, sys, tbq, tbq.progress
sys.stderr.isatty = lambda: True
tbq.progress._PATIENCE = 0
logs = pathlib.Path(LOGS)
for run, values in (("a", (1.0, 0.5)), ("b", (2.0, float("nan")))):
    with tbq.SummaryWriter(logs / run) as writer:
        for step, value in enumerate(values):
            writer.add_scalar("loss", value, step)
        writer.add_hparams({"lr": 0.1}, {"loss": values[-1]}, run_name=".")
log = tbq.open(logs)
kept = []
""",
    "table": "log.scalars()",
    "summary": "log.summary()",
    "rows": "tbq.results.weight_elements({'w': __import__('numpy').eye(2)}).to_table()",
    "repr": "kept += [repr(log.scalars()), str(log.summary()), f'{log.tags()!r}']",
    "print": "print(log.scalars())",
    "log": "log",
    "problems": "log.problems",
    "doctor": "tbq.doctor(logs)",
    "update": "tbq.follow(logs).poll()",
    "tables": "tbq.follow(logs).poll().tables",
    "bar": """
with tbq.progress.reporting(True) as call:
    call(1, 10, 0, 1)
    call(5, 10, 0, 1)
""",
    "command": """
import tbq.cli
sys.stdout.isatty = lambda: True
try:
    tbq.cli.main(["summary", str(logs)])
except SystemExit:
    pass
""",
    "kept": "print(__import__('json').dumps(kept))",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    spec = folder / "kernels" / "here"
    spec.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": command, "display_name": "here", "language": "python"})
    )
    cells = [
        nbformat.v4.new_code_cell(code.replace("LOGS", repr(str(folder / "logs")))) for code in CELLS.values()
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        notebook = nbformat.v4.new_notebook(cells=cells)
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="here").execute()
    return dict(zip(CELLS, (cell.outputs for cell in notebook.cells), strict=True))


def text(outputs):
    return "".join(each.get("text", "") for each in outputs)


@pytest.mark.parametrize("name", ["table", "summary", "rows"])
def test_a_table_is_shown_once_as_html_and_as_text(outputs, name):
    (shown,) = outputs[name]
    assert shown.output_type == "execute_result"
    assert "<table" in shown.data["text/html"]
    lines = shown.data["text/plain"].splitlines()
    assert len(lines) > 3 and " rows × " in lines[-1]


def test_repr_returns_all_of_a_table_and_shows_nothing(outputs):
    assert outputs["repr"] == []
    for kept in json.loads(text(outputs["kept"])):
        assert len(kept.splitlines()) > 3 and "run" in kept.splitlines()[0]
    (printed,) = outputs["print"]
    assert printed.output_type == "stream" and "loss" in printed.text


@pytest.mark.parametrize("name", ["log", "problems", "doctor", "update", "tables"])
def test_everything_else_is_one_result(outputs, name):
    results = [each for each in outputs[name] if each.output_type != "stream"]
    assert [each.output_type for each in results] == ["execute_result"], outputs[name]
    assert results[0].data["text/plain"]


@pytest.mark.parametrize("name", ["setup", "bar", "command"])
def test_bars_and_commands_write_text_and_no_display(outputs, name):
    assert {each.output_type for each in outputs[name]} <= {"stream"}, outputs[name]
