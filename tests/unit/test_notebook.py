"""What a notebook shows, in a real kernel: each object once, and nothing else."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from waiting import wait_for

import tbq
from tbq.errors import DependencyError

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("anywidget")

CELLS = {
    "setup": """
import pathlib, sys, tbq, tbq.progress
sys.stderr.isatty = lambda: True
tbq.progress._PATIENCE = 0
logs = pathlib.Path(LOGS)
for run, values in (("a", (1.0, 0.5)), ("b", (2.0, float("nan"))), ("<img src=x onerror=alert(1)>", (1.0, 0.25))):
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
    "series": "log.series('loss', run='a')",
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
    "load": "%load_ext tbq",
    "no such command": "%tbq nothing",
    "tags": "%tbq tags {logs}",
    "sql": "%%tbqsql {logs}\nselect run, count(*) as n from scalars group by run order by run",
    "sql into": "%%tbqsql {logs} -o df\nselect 7 as seven",
    "df": "print(type(df).__name__, df['seven'].tolist())",
    "sql wrong": "%%tbqsql {logs}\nselect nothing",
    "sql name": "%%tbqsql {logs} -o 2x\nselect 1",
    "sql quote": "%%tbqsql 'runs\nselect 1",
    "serve": "%tbq serve {logs} --title 'a <b> title'",
    "serve again": "%tbq serve {logs} --title 'a <b> title'",
    "serve wrong": "%tbq serve {logs} --nothing",
    "servers": """
from tbq.notebook.page import _servers
print(*(f"{server.pid} {address}" for server, address in _servers.values()))
""",
}
LIVE = {
    "empty": """
import tbq, threading, time
chart = tbq.live("runs", tag="loss")
chart
""",
    "job": """
def job():
    for run in ("a", "<img src=x onerror=alert(1)>"):
        with tbq.SummaryWriter(f"runs/{run}") as writer:
            for step in range(300):
                writer.log({"loss": 1 / (step + 1), "other": 1}, step)
thread = threading.Thread(target=job)
thread.start()
end = time.monotonic() + 60
while len(chart.facts["runs"]) < 2 or chart.facts["note"]:
    assert time.monotonic() < end, chart.facts
    time.sleep(0.05)
thread.join()
""",
    "shown": "tbq.live('runs', tag='loss')",
    "facts": """
import gzip
from tbq.server.http.encoding import unframe
points = []
while sum(points) < 600:
    assert time.monotonic() < end + 60, points
    time.sleep(0.05)
    facts, columns = unframe(gzip.decompress(chart.frames["loss"]))
    points = [each["points"] for each in facts["series"]]
names = sorted(each["name"] for each in chart.facts["runs"].values())
print(json.dumps([list(chart.frames), points, names, len(chart.frames["loss"])]))
""".replace("import gzip", "import gzip, json"),
    "watch": "%load_ext tbq\n%tbq watch runs --tag loss --smooth 0.5",
    "closed": "chart.close()\nassert tbq.live('runs', tag='loss') is not chart",
    "wrong": """
for wrong in (dict(smooth=2), dict(steps="x:y"), dict(tag=3)):
    try:
        tbq.live("runs", **wrong)
    except ValueError as error:
        print(error)
""",
}


def run(folder, named):
    """The outputs of these cells, by their names."""
    spec = folder / "kernels" / "here"
    spec.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": command, "display_name": "here", "language": "python"})
    )
    cells = [
        nbformat.v4.new_code_cell(code.replace("LOGS", repr(str(folder / "logs")))) for code in named.values()
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        patch.delenv("VSCODE_PID", raising=False)
        notebook = nbformat.v4.new_notebook(cells=cells)
        place = {"metadata": {"path": str(folder)}}
        nbclient.NotebookClient(
            notebook, timeout=300, kernel_name="here", resources=place, allow_error_names=["UsageError"]
        ).execute()
    return dict(zip(named, (cell.outputs for cell in notebook.cells), strict=True))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    return run(tmp_path_factory.mktemp("notebook"), CELLS)


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    return run(tmp_path_factory.mktemp("live"), LIVE)


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


@pytest.mark.parametrize("name", ["log", "doctor", "update", "series"])
def test_objects_draw_themselves_and_names_stay_text(outputs, name):
    (shown,) = [each for each in outputs[name] if each.output_type != "stream"]
    drawn = shown.data["text/html"]
    assert "<img" not in drawn
    if name in ("log", "series"):
        assert "<svg" in drawn
    if name in ("log", "update"):
        assert "&lt;img src=x onerror=alert(1)&gt;" in drawn


@pytest.mark.parametrize("name", ["log", "problems", "doctor", "update", "tables", "series"])
def test_everything_else_is_one_result(outputs, name):
    results = [each for each in outputs[name] if each.output_type != "stream"]
    assert [each.output_type for each in results] == ["execute_result"], outputs[name]
    assert results[0].data["text/plain"]


@pytest.mark.parametrize("name", ["setup", "command"])
def test_commands_write_text_and_no_display(outputs, name):
    assert {each.output_type for each in outputs[name]} <= {"stream"}, outputs[name]


def test_a_bar_is_one_output_which_is_empty_in_the_end(outputs):
    (bar,) = outputs["bar"]
    assert bar.output_type == "display_data" and not any(bar.data.values())


def test_commands_run_as_on_a_terminal(outputs):
    assert outputs["load"] == []
    assert "loss" in text(outputs["tags"])
    assert "no command 'nothing'" in text(outputs["no such command"])


def test_a_query_is_a_table_or_a_variable(outputs):
    (shown,) = [each for each in outputs["sql"] if each.output_type != "stream"]
    assert shown.output_type == "execute_result"
    assert re.findall("<td class='n'>(\\d+)</td>", shown.data["text/html"]) == ["3", "3", "3"]
    assert outputs["sql into"] == []
    assert text(outputs["df"]) == "Table [7]\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sql wrong", "nothing"),
        ("sql name", "not the name of a variable"),
        ("sql quote", "quotation"),
        ("serve wrong", "no such option '--nothing'"),
    ],
)
def test_errors_are_messages_without_a_traceback(outputs, name, words):
    assert {each.output_type for each in outputs[name]} == {"stream"}, outputs[name]
    assert words in text(outputs[name]) and "Traceback" not in text(outputs[name])


def test_the_page_ends_with_the_kernel_and_the_same_cell_has_the_same_server(outputs):
    (first,), (second,) = outputs["serve"], outputs["serve again"]
    place = r"\), (\d+), \"(/[\w-]+/)\"\);"
    found = re.search(place, first.data["text/html"])
    assert found and found.groups() == re.search(place, second.data["text/html"]).groups()
    assert "&lt;b&gt;" in first.data["text/html"] and "<b>" not in first.data["text/html"]
    pid, address = text(outputs["servers"]).split()
    assert address.endswith(f":{found[1]}{found[2]}")
    wait_for(lambda: not os.path.exists(f"/proc/{pid}"))  # the kernel has ended
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=5)


def test_a_live_chart_is_a_widget_and_a_picture_that_grow(live):
    assert [sorted(each.data) for each in live["empty"]] == [
        ["application/vnd.jupyter.widget-view+json", "text/plain"],
        ["image/png", "text/plain"],  # replaced when the chart was closed
    ]
    picture = base64.b64decode(live["empty"][1].data["image/png"])
    assert picture.startswith(b"\x89PNG") and picture == base64.b64decode(live["shown"][1].data["image/png"])
    assert live["job"] == []
    tags, points, names, size = json.loads(text(live["facts"]))
    assert tags == ["loss"] and points == [300, 300]
    assert names == ["<img src=x onerror=alert(1)>", "a"]
    assert size < 20_000  # for 600 points
    assert live["watch"][0].data["text/plain"] == "<tbq.live 'runs': 2 runs, 1 tag>"


def test_the_same_call_is_the_same_chart_until_it_is_closed(live):
    views = [live[name][0].data["application/vnd.jupyter.widget-view+json"] for name in ("empty", "shown")]
    assert views[0]["model_id"] == views[1]["model_id"]
    assert live["closed"] == []


def test_wrong_arguments_are_errors(live):
    assert len(text(live["wrong"]).splitlines()) >= 3


def test_without_the_extra_it_is_named(monkeypatch):
    from tbq import notebook

    monkeypatch.setattr(
        notebook.importlib.util, "find_spec", lambda name: None if name == "anywidget" else name
    )
    for call in (lambda: tbq.live("runs"), lambda: tbq.load_ipython_extension(None)):
        with pytest.raises(DependencyError, match="needs anywidget") as raised:
            call()
        assert raised.value.hint.endswith("[notebook]'") or "notebook" in raised.value.hint


def test_importing_tbq_imports_no_part_of_a_notebook():
    code = "import sys, tbq; print(sorted({'IPython', 'anywidget', 'tbq.notebook'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
