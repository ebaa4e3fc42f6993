"""Escape sequences of logs through every command: none reaches people unescaped; data stays exact."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import escapes
import numpy as np
import pytest
import safetensors.numpy
from console import on_a_terminal, piped
from escapes import RUN, TAG, raw

import tbq
from tbq.errors import TbqError, TbqWarning

pytestmark = pytest.mark.skipif(os.name != "posix", reason="names of files cannot be like that on Windows")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return escapes.write(tmp_path_factory.mktemp("hostile") / "runs\x1b[2J")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "m\x1b[31m.safetensors"
    safetensors.numpy.save_file({f"{TAG}.w": np.arange(4.0), "b": np.ones(2)}, path)
    return path


#: What prints: words for people on both streams, or data on stdout with words on stderr.
WORDS: dict[str, list[Any]] = {
    "doctor": ["doctor", "LOG"],
    "doctor all": ["doctor", "LOG", "--all"],
    "doctor json": ["doctor", "LOG", "--json"],
    "doctor missing": ["doctor", "LOG/no\x1b[31m"],
    "doctor neighbour": ["doctor", "LOG/empty"],
    "rewrite repair": ["rewrite", "LOG", "-o", "OUT", "--repair"],
    "rewrite json": ["rewrite", "LOG", "-o", "OUT", "--repair", "--json"],
    "rewrite damaged": ["rewrite", "LOG", "-o", "OUT"],
    "rewrite same names": ["rewrite", "LOG", "-o", "OUT", "--repair", "--rename", f"{TAG}/same={TAG}/Same"],
    "rewrite drop nothing": [
        "rewrite",
        "LOG",
        "-o",
        "OUT",
        "--repair",
        "--drop-tag",
        "tagg",
        "--flatten-hparams",
    ],
    **{
        f"show {kind}": ["show", "LOG", f"{TAG}{kind}", "--run", RUN]
        for kind in ("", "/text", "/image", "/histogram", "/audio", "/strings", "/other", "/wrong", "/v2")
    },
    "show graph": ["show", "LOG", "*graph*"],
    "show log": ["show", "LOG", "*log*"],
    "show many": ["show", "LOG", "tag*"],
    "show hparams": ["show", "LOG", "_hparams_/session_start_info", "--run", RUN],
    "show no step": ["show", "LOG", TAG, "--run", RUN, "--step", "77"],
    "show no image": ["show", "LOG", f"{TAG}/image", "--run", RUN, "--step", "77"],
    "show two runs": ["show", "LOG", TAG],
    "media": ["media", "LOG", "-o", "OUT"],
    "media again": ["media", "LOG", "-o", "LOG"],
    "no such tag": ["export", "LOG", "--tag", "tag-sound"],
    "no such run": ["export", "LOG", "--run", "runn"],
    "another kind": ["export", "LOG", "--tag", f"{TAG}/text"],
    "no such path": ["ls", "LOG/nothing\x1b[31m"],
    "no such command": ["\x1b[31mls"],
    "wrong option": ["ls", "LOG", "--\x1b[31m"],
    "too many": ["show", "LOG", "a", "b\x1b[31m"],
    "strict": ["export", "LOG", "--strict"],
    "to a file": ["export", "LOG", "-o", "OUT/no/where\x1b[31m.csv"],
    "wrong ending": ["export", "LOG", "-o", "OUT\x1b[31m.xyz"],
    "a file per run": ["export", "LOG", "-o", "OUT/{run}.csv"],
    "all kinds": ["export", "LOG", "--kind", "all", "-o", "OUT"],
    "wrong sql": ["sql", "LOG", f'select "{TAG}" from scalars'],
    "wrong sql tag": ["sql", "LOG", f'select "{TAG}x" from wide'],
    "wrong sort": ["summary", "LOG", "--sort", "tag"],
    "wrong best": ["summary", "LOG", "--best", "tag:min"],
    "wrong group": ["reduce", "LOG", "--by", "re:(nothing)"],
    "as events": ["reduce", "LOG", "--by", "*", "--as-events", "-o", "OUT"],
    "compare nothing": ["compare", "LOG", RUN, "other"],
    "weights of nothing": ["weights", "OUT\x1b[31m.npz"],
    "layer of nothing": ["weights", "MODEL", "--layer", "tagg"],
    "predictions of many": ["predictions", "MODEL"],
    "predictions of nothing": ["predictions", f"MODEL:{TAG}"],
    "demo": ["demo", "OUT\x1b[31m"],
}
DATA: dict[str, list[Any]] = {
    "ls": ["ls", "LOG"],
    "tags": ["tags", "LOG"],
    "export": ["export", "LOG"],
    "export wide": ["export", "LOG", "--layout", "wide"],
    "export summary": ["export", "LOG", "--layout", "summary"],
    "export texts": ["export", "LOG", "--kind", "texts"],
    "export hparams": ["export", "LOG", "--kind", "hparams"],
    "export hparams wide": ["export", "LOG", "--kind", "hparams", "--layout", "wide"],
    "export logs": ["export", "LOG", "--kind", "logs"],
    "export nodes": ["export", "LOG", "--kind", "nodes"],
    "sql": ["sql", "LOG", "select * from scalars"],
    "sql problems": ["sql", "LOG", "select * from problems"],
    "sql files": ["sql", "LOG", "select * from files"],
    "summary": ["summary", "LOG", "--best", f"{TAG}:min"],
    "reduce": ["reduce", "LOG", "--by", "re:(.*)"],
    "compare": ["compare", "LOG", RUN, f"other{RUN[3:]}"],
    "weights": ["weights", "MODEL"],
    "elements": ["weights", "MODEL", "--elements"],
}


def arguments(given: list[Any], log: Path, model: Path, out: Path) -> list[str]:
    places = {"LOG": log, "MODEL": model, "OUT": out}
    return [
        re.sub("^(LOG|MODEL|OUT)(?=$|[/:.\x1b])", lambda found: str(places[found[1]]), str(each))
        for each in given
    ]


@pytest.mark.parametrize("name", WORDS)
def test_words_are_harmless_in_pipes_too(log: Path, model: Path, tmp_path: Path, name: str) -> None:
    (log / "empty").mkdir(exist_ok=True)
    done = piped(arguments(WORDS[name], log, model, tmp_path / "out"))
    assert done.stdout or done.stderr or done.code == 0
    assert raw(done.stdout) == [] and raw(done.stderr) == []
    # A name with a line break in it must not look like a message of tbq.
    assert "tbq: everything is fine" not in done.stderr.splitlines()
    assert "tbq: everything is fine" not in done.stdout.splitlines() or name == "show /text"


@pytest.mark.parametrize("name", [*WORDS, *DATA])
def test_nothing_raw_reaches_a_terminal(log: Path, model: Path, tmp_path: Path, name: str) -> None:
    (log / "empty").mkdir(exist_ok=True)
    said = on_a_terminal(arguments({**WORDS, **DATA}[name], log, model, tmp_path / "out"))
    assert "Traceback" not in said
    assert raw(said) == []
    assert said.strip() or name == "rewrite"


@pytest.mark.parametrize("format", ["csv", "tsv", "json", "jsonl", "md", "html"])
@pytest.mark.parametrize("name", ["ls", "export", "export wide", "export texts", "elements"])
def test_formats_are_harmless_on_a_terminal(
    log: Path, model: Path, tmp_path: Path, name: str, format: str
) -> None:
    args = [*arguments(DATA[name], log, model, tmp_path), "--format", format]
    for more in ([], ["-o", "-"], ["-o", "/dev/stdout"]) if name == "export" else ([],):
        said = on_a_terminal([*args, *more])
        assert raw(said) == [] and "tag-" in said + "tag-" * (name == "ls")
    if format == "json":
        shown = said[said.index("[{") : said.rindex("]") + 1]
        assert json.loads(shown) == json.loads(piped(args).stdout)


@pytest.mark.parametrize("name", DATA)
def test_data_in_pipes_is_exact_and_words_are_not_in_it(
    log: Path, model: Path, tmp_path: Path, name: str
) -> None:
    args = arguments(DATA[name], log, model, tmp_path)
    done = piped(args)
    assert done.code == 0 and raw(done.stderr) == []
    rows = list(csv.reader(io.StringIO(done.stdout, newline="")))
    values = json.loads(piped([*args, "--format", "json"]).stdout)
    assert len(values) == len(rows) - 1 > 0
    cells = {cell for row in rows for cell in row}
    texts = {each for row in values for each in (*row, *row.values()) if isinstance(each, str)}
    assert texts - cells == set() or name == "elements"
    if name != "sql problems":
        assert any(TAG in cell or RUN in cell for cell in cells)


@pytest.mark.parametrize("format", ["md", "html"])
def test_pages_for_people_hold_no_control_characters(log: Path, tmp_path: Path, format: str) -> None:
    for name, options in (("scalars", []), ("wide", ["--layout", "wide"]), ("texts", ["--kind", "texts"])):
        target = tmp_path / f"{name}.{format}"
        assert piped(["export", str(log), *options, "-o", str(target)]).code == 0
        assert raw(target.read_text(encoding="utf-8")) == []


def test_python_says_nothing_raw_and_keeps_the_exact_names(log: Path, tmp_path: Path) -> None:
    with pytest.warns(TbqWarning) as reported:
        opened = tbq.open(log)
        table = opened.scalars()
        opened.scalars(tag=[TAG, "tagg"]).wide()
    assert reported and all(raw(str(each.message)) == [] for each in reported)
    for value in (opened, table, table.wide(), *opened.problems, *tbq.doctor(log)):
        for text in (str(value), repr(value)):
            assert raw(text) == []
    assert raw(table._repr_html_()) == []
    assert any(each.path and "\x1b" in each.path for each in opened.problems)
    assert RUN in opened.runs and TAG in opened.tags().to_arrow()["tag"].to_pylist()
    report = tbq.rewrite(log, tmp_path / "new\x1b", repair=True)
    assert raw(str(report)) == [] and "\x1b" in report.out
    with pytest.raises(TbqError) as wrong:  # this log has given its warnings before
        opened.scalars(tag="tagg")
    assert raw(str(wrong.value)) == []
    assert "\x1b" in (wrong.value.path or "")


def test_commands_that_are_suggested_are_harmless_in_a_shell(log: Path, tmp_path: Path) -> None:
    """Text after "Next:" or "as files:" is pasted into a shell: names in it are words, not commands."""
    lines = [finding.hint or "" for finding in tbq.doctor(log)]
    lines += piped(["show", str(log), f"{TAG}/image", "--run", RUN]).stdout.splitlines()
    commands = [line[line.index("tbq ") :] for line in lines if "tbq " in line]
    assert any("--rename" in each for each in commands) and any("tbq media" in each for each in commands)
    script = tmp_path / "script"
    stub = "tbq() { printf '%s\\0' \"$@\" >> words; }\n"
    script.write_text(stub + "\n".join(each.split(", where ")[0] for each in commands), encoding="utf-8")
    subprocess.run(["bash", str(script)], cwd=tmp_path, check=False, capture_output=True, timeout=120)
    assert not (tmp_path / "pwned").exists()
    words = (tmp_path / "words").read_bytes().split(b"\0")
    assert f"{TAG}/image".encode() in words  # and they are exact


def test_commands_print_by_one_module_alone() -> None:
    """`tbq.cli.emit` owns what commands print, so that a new command cannot forget the rule."""
    folder = Path(tbq.__file__).parent / "cli"
    for path in folder.glob("*.py"):
        # __init__ prints the help, which has nothing from a log; candidates answers a shell, with displayed names.
        if path.name in ("emit.py", "__init__.py", "candidates.py"):
            continue
        printing = r"\bprint\(|click\.(?:s?echo|echo_via_pager)|(?<!log)(?<!rows)\.write\("
        assert not re.search(printing, path.read_text()), path
