"""Rules that the page shares with Python: one table of cases for both languages."""

from __future__ import annotations

import fnmatch
import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from served import Asked

import tbq
from tbq import roles
from tbq.dashboard.runs import SIGNS
from tbq.dashboard.runs import UNREAD as NOT_READ
from tbq.diagnosis.finding import SEVERITIES
from tbq.following.states import STATES, UNREAD
from tbq.numbers import compact, duration, number, sized
from tbq.plot.options import BANDS as PLOT_BANDS
from tbq.roles import best_of, better, role, split, tells_repeats
from tbq.select import name_filter
from tbq.server.answers.groups import BANDS
from tbq.states import GLYPHS
from tbq.text import counted, natural

RULES = Path(__file__).parents[1] / "fixtures" / "rules"
ORDER: dict[str, list[str]] = json.loads((RULES / "order.json").read_text("utf-8"))
FILTERS: dict[str, Any] = json.loads((RULES / "filters.json").read_text("utf-8"))
NUMBERS: dict[str, list[tuple[Any, str]]] = json.loads((RULES / "numbers.json").read_text("utf-8"))
TAGS: dict[str, list[str | None]] = json.loads((RULES / "tags.json").read_text("utf-8"))


def test_the_page_has_the_same_rules(tmp_path: Path) -> None:
    """The unit tests of the page's modules, which read the same tables, and random cases that Python decides."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node: the page's modules are not tested")
    cases = {"order.json": random_order(), "filters.json": random_filters(), "numbers.json": random_numbers()}
    for name, table in cases.items():
        (tmp_path / name).write_text(json.dumps(table), "utf-8")
    scripts = sorted((Path(__file__).parents[1] / "page").glob("*.test.mjs"))
    ended = subprocess.run(
        [node, "--test", *map(str, scripts)],
        env={**os.environ, "TBQ_CASES": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    counts = dict(re.findall(r"^\S+ (\w+) (\d+)$", ended.stdout, re.MULTILINE))
    tables = [ORDER, FILTERS["filters"], NUMBERS, *cases.values()]
    assert int(counts["pass"]) > sum(map(len, tables))


def random_order() -> dict[str, list[str]]:
    """Names out of the parts that matter, sorted by Python."""
    tables: dict[str, list[str]] = {}
    part = st.sampled_from([*"aBéÉ-+._=/019eEßΣ😀\uffff ", "10"])

    @examples(60)
    @given(st.lists(st.lists(part, max_size=7).map("".join), min_size=2, max_size=12, unique=True))
    def collect(names: list[str]) -> None:
        tables[str(len(tables))] = sorted(names, key=natural)

    collect()
    assert len(tables) > 20
    return tables


def random_filters() -> dict[str, Any]:
    """Any number of words, stars, letters beyond U+FFFF and signs of regular expressions."""
    chance = random.Random(5)
    signs = [*"aBb01.-_()$^+|\\[]{}/=*? \n", "é", "😀"]
    names = sorted({"".join(chance.choices(signs, k=chance.randint(1, 8))) for _ in range(200)})
    names = [*names, "a" * 3000, "run -x", "-x", " led", "trail  ", "re:a", "/a/", "step > 1"]
    texts = ["*a" * 30 + "*b"]
    while len(texts) < 400:
        text = "".join(chance.choice([*"**?", *sign * 5]) for sign in chance.choice(names)[:12])
        if not text.startswith(("/", "re:")):
            texts.append(text)
    letters = [*"abB01é😀-_/ .{}", *re.findall(r"\S+", r"\w \W \d \D \. \_ \[ [^a] [\w-] []b] (?:a|b) {}")]
    for begin, end in [("re:", ""), ("/", "/")] * 150:
        parts = [chance.choice([*letters, r"\b", r"\B", "^", "$"]) for _ in range(chance.randint(1, 4))]
        repeats = chance.choice("abé😀") + chance.choice(["*", "+?", "{,2}", "{1,2}", "{2}", "{1,}"])
        texts.append(f"{begin}{''.join(parts)}{repeats}{end}")
    return {"names": names, "filters": {text: list(filter(name_filter(text), names)) for text in texts}}


def random_numbers() -> dict[str, list[tuple[float, str]]]:
    """Numbers of all sizes, and those that end in a half."""
    chance = random.Random(7)
    values = [chance.choice((-1, 1)) * chance.random() * 10.0 ** chance.randint(-12, 24) for _ in range(2000)]
    values += [chance.randint(-(10**6), 10**6) / 2 ** chance.randint(0, 6) for _ in range(2000)]
    sizes = [float(int(abs(value))) for value in values]
    return {
        "number": [(value, number(value)) for value in values],
        "number with two digits": [(value, number(value, 2)) for value in values],
        "number with twelve digits": [(value, number(value, 12)) for value in values],
        "compact": [(value, compact(value)) for value in values],
        "sized": [(value, sized(value)) for value in sizes],
        "duration": [(value, duration(value)) for value in values],
    }


RULES_OF_NUMBERS: dict[str, Callable[[Any], str]] = {
    "number": number,
    "number with two digits": lambda value: number(value, 2),
    "number with twelve digits": lambda value: number(value, 12),
    "compact": compact,
    "sized": sized,
    "duration": duration,
    "counted": lambda value: counted(value, "run"),
}


@pytest.mark.parametrize("rule", NUMBERS)
def test_numbers_as_people_read_them(rule: str) -> None:
    as_text = RULES_OF_NUMBERS[rule]
    for value, text in NUMBERS[rule]:
        assert as_text(float(value) if isinstance(value, str) else value) == text, value


def test_filters_of_names() -> None:
    names = FILTERS["names"]
    assert {text: list(filter(name_filter(text), names)) for text in FILTERS["filters"]} == FILTERS["filters"]
    for text in FILTERS["wrong"]:
        with pytest.raises(tbq.errors.UsageError, match="regular expression"):
            name_filter(text)


def test_globs_of_filters_fit_as_shell_globs() -> None:
    """By fnmatch, in which brackets have no meaning if they are escaped."""
    table = random_filters()
    globs = [
        text
        for text in table["filters"]
        if {"*", "?"} & {*text} and text.split() == [text] and not text.startswith(("-", "/", "re:"))
    ]
    assert len(globs) > 100
    for text in globs:
        pattern = text.lower().replace("[", "[[]")
        fitting = [name for name in table["names"] if fnmatch.fnmatchcase(name.lower(), pattern)]
        assert table["filters"][text] == fitting


def test_lists_that_every_view_shows() -> None:
    words = json.loads((RULES / "words.json").read_text("utf-8"))
    assert words["states"] == dict(GLYPHS)
    assert list(words["states"]) == list(STATES)
    assert words["unread"] == UNREAD
    assert {sign.shape for sign in (*SIGNS.values(), NOT_READ)} == {*GLYPHS.values(), UNREAD}
    assert sorted(words["bands"]) == sorted(BANDS)
    assert {*BANDS} <= {*PLOT_BANDS}
    assert words["severities"] == list(SEVERITIES)
    assert {name: tells_repeats(name) for name in words["repeats"]} == words["repeats"]


@pytest.mark.parametrize("case", ORDER)
def test_names_are_sorted_as_people_sort(case: str) -> None:
    names = ORDER[case]
    assert sorted(sorted(names, reverse=True), key=natural) == names
    for i, name in enumerate(names):
        assert all(natural(name) < natural(after) for after in names[i + 1 :])


@pytest.mark.parametrize("tag", TAGS)
def test_what_a_tag_means_is_decided_by_words(tag: str) -> None:
    assert [role(tag), split(tag), better(tag)] == TAGS[tag]
    assert best_of(tag) == ("max" if TAGS[tag][2] == "higher" else "min")


def test_every_word_that_means_something_can_be_found() -> None:
    """Words are looked up in the singular: a plural in the lists would never be found."""
    for word in (*roles._LOSSES, *roles._SCORES, *roles._SPEEDS, *roles._SETTINGS):
        assert word in roles.words_of(word)


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
