"""Rules that the page shares with Python: one table of cases for both languages."""

from __future__ import annotations

import fnmatch
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from served import Asked

import tbq
from tbq.roles import best_of, better, role, split
from tbq.text import natural

RULES = Path(__file__).parents[1] / "fixtures" / "rules"
ORDER: dict[str, list[str]] = json.loads((RULES / "order.json").read_text("utf-8"))
TAGS: dict[str, list[str | None]] = json.loads((RULES / "tags.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's modules, run by node."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(Path(tbq.__file__).parent / "server" / "static", folder / "static")
    (folder / "package.json").write_text('{"type": "module"}')
    return folder / "static"


def node_test(modules: Path, cases: Path, name: str = "order.test.mjs") -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not there: the page's modules are not tested")
    script = Path(__file__).with_name(name)
    environment = {**os.environ, "TBQ_STATIC": str(modules), "TBQ_CASES": str(cases)}
    ended = subprocess.run(
        [node, "--test", str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-4000:]
    counts = dict(
        line.removeprefix("# ").split(" ", 1) for line in ended.stdout.splitlines() if "# " in line[:2]
    )
    assert int(counts["pass"]) == len(json.loads(cases.read_text("utf-8")))


def test_patterns_of_names_fit_as_in_python(modules: Path, tmp_path: Path) -> None:
    """With any number of stars, characters beyond U+FFFF and special characters of regular expressions."""
    chance = random.Random(5)
    signs = [*"aBb01.-_()$^+|\\[]{}/=*? \n", "é", "😀"]
    names = sorted({"".join(chance.choices(signs, k=chance.randint(1, 8))) for _ in range(200)})
    names = [*names, "a" * 3000, "run -x", "-x", " led", "trail  ", "re:a", "/a/", "step > 1"]
    patterns = ["*a" * 30 + "*b"]
    while len(patterns) < 400:
        pattern = "".join(chance.choice([*"**?", *sign * 5]) for sign in chance.choice(names)[:12])
        words = pattern.split() == [pattern] and not pattern.startswith(("-", "/", "re:"))
        if words and {"*", "?"} & {*pattern}:
            patterns.append(pattern)
    cases = {
        pattern: [
            name for name in names if fnmatch.fnmatchcase(name.lower(), pattern.lower().replace("[", "[[]"))
        ]
        for pattern in patterns
    }
    (tmp_path / "cases.json").write_text(json.dumps({"names": names, "patterns": cases}))
    node_test(modules, tmp_path / "cases.json", "match.test.mjs")


@pytest.mark.parametrize("case", ORDER)
def test_names_are_sorted_as_people_sort(case: str) -> None:
    names = ORDER[case]
    assert sorted(sorted(names, reverse=True), key=natural) == names
    for i, name in enumerate(names):
        assert all(natural(name) < natural(after) for after in names[i + 1 :])


def test_the_page_sorts_names_by_the_same_rule(modules: Path) -> None:
    node_test(modules, RULES / "order.json")


def test_the_page_sorts_any_names_by_the_same_rule(modules: Path, tmp_path: Path) -> None:
    """Names of the parts that matter, sorted by Python, in one table for node."""
    tables: dict[str, list[str]] = {}
    part = st.sampled_from(
        [
            "a",
            "B",
            "é",
            "É",
            "-",
            "+",
            ".",
            "_",
            "=",
            "/",
            "0",
            "1",
            "9",
            "10",
            "e",
            "E",
            "ß",
            "Σ",
            "😀",
            "\uffff",
            " ",
        ]
    )

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(st.lists(st.lists(part, max_size=7).map("".join), min_size=2, max_size=12, unique=True))
    def collect(names: list[str]) -> None:
        tables[str(len(tables))] = sorted(names, key=natural)

    collect()
    assert len(tables) > 20
    (tmp_path / "cases.json").write_text(json.dumps(tables))
    node_test(modules, tmp_path / "cases.json")


@pytest.mark.parametrize("tag", TAGS)
def test_what_a_tag_means_is_decided_by_words(tag: str) -> None:
    assert [role(tag), split(tag), better(tag)] == TAGS[tag]
    assert best_of(tag) == ("max" if TAGS[tag][2] == "higher" else "min")


def test_the_page_gets_what_a_tag_means_from_the_server(tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path / "run") as writer:
        for tag in TAGS:
            for step in range(2):
                writer.add_scalar(tag, 1.0 + step, step)
        writer.add_text("notes", "some")
    asked = Asked(tmp_path)
    listed = {each["tag"]: each for each in asked.json("tags")["tags"]}
    assert {tag: [listed[tag][name] for name in ("role", "split", "better")] for tag in TAGS} == TAGS
    assert "role" not in listed["notes/text_summary"]
    _, columns = asked.frame("metrics", columns=json.dumps([[tag, "best"] for tag in TAGS]))
    assert {tag: columns[str(i)][0] for i, tag in enumerate(TAGS)} == {
        tag: 2.0 if best_of(tag) == "max" else 1.0 for tag in TAGS
    }
    asked.log.close()
