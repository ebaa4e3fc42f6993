"""Names and texts of a log are text, whatever they contain; and axe finds no accessibility problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from webpage import Tab, serving

import tbq

EVIL = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    '"><svg onload=alert(3)>',
    "javascript:alert(4)",
    "{{constructor.constructor('alert(5)')()}}",
    "${alert(6)}",
)
TEXT = """# <script>alert(7)</script>
<img src=x onerror=alert(8)> [click](javascript:alert(9)) [ok](https://example.com/)
<iframe srcdoc="<script>alert(10)</script>"></iframe>
| <b>a</b> | b |
|---|---|
| <a href="javascript:alert(11)">x</a> | ![y](x" onerror="alert(12)) |
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("hostile") / "log"
    for number, evil in enumerate(EVIL):
        with tbq.SummaryWriter(root / (evil.replace("/", "∕") + "x" * (200 if number == 0 else 0))) as writer:
            for step in range(3):
                writer.add_scalar(f"{evil}/{evil}", step, step)
                writer.add_scalar("loss", step + number, step)
                writer.add_text(evil, TEXT, step)
                writer.add_histogram(evil, [1.0, 2.0, 3.0], step)
            writer.add_hparams(
                {evil: evil, "lr": 0.1 * (number + 1)}, {"hparam/loss": float(number)}, run_name="."
            )
    with serving(root) as url:
        yield url


@pytest.mark.parametrize(
    "state", ["", "tab=media&kind=texts", "tab=media&kind=histograms", "tab=hparams", "tab=health", "wide=1"]
)
def test_nothing_of_a_log_is_run(hostile: str, tab: Tab, state: str) -> None:
    tab.open(hostile, state)
    tab.until(lambda: len(tab.runs()) == len(EVIL))
    tab.page.wait_for_timeout(700)
    assert not [said for said in tab.wrong if "dialog" in said or "Refused" in said or "violates" in said]
    # No element came from the data.
    found = tab.page.evaluate(
        "[...document.querySelectorAll('script, iframe, svg[onload], img:not(.pixels)')].map((e) => e.outerHTML)"
    )
    assert all("static/" in each for each in found), found
    links = tab.page.evaluate("[...document.querySelectorAll('a')].map((e) => e.href)")
    assert all(each.startswith("https://") for each in links)
    if "texts" in state:
        tab.page.locator(".text", has_text="<img src=x onerror=alert(8)>").first.wait_for()
        assert tab.page.locator(".text a").count() > 0  # a good link is one
        tab.keep("hostile-texts")
    assert tab.page.evaluate(
        "[...document.querySelectorAll('*')].every((e) => [...e.attributes].every((a) => !a.name.startsWith('on')))"
    )


def test_a_hostile_name_is_shown_as_it_is(hostile: str, tab: Tab) -> None:
    tab.open(hostile, "filter=script")
    tab.until(lambda: any(name.startswith("<script>alert(2)") for name in tab.runs()))
    tab.keep("hostile")


def test_the_policy_forbids_inline_code(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.drawn("val/loss")
    tab.page.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.owned = 1'; document.body.append(s) })()"
    )
    assert tab.page.evaluate("window.owned") is None
    asked = tab.page.evaluate("performance.getEntriesByType('resource').map((e) => new URL(e.name).host)")
    assert set(asked) == {tab.page.evaluate("location.host")}  # nothing from elsewhere


STATES = [
    "",
    "group=hparam.lr",
    "wide=1",
    "tab=media",
    "tab=media&kind=texts",
    "tab=media&kind=tensors",
    "tab=media&kind=graphs",
    "tab=hparams",
    "tab=sql&query=select+1",
    "tab=health",
    "full=val/loss",
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(demo: str, tabs: Any, scheme: str) -> None:
    tab = tabs(color_scheme=scheme)
    wrong: list[str] = []
    for state in STATES:
        tab.open(demo, state)
        tab.page.reload()
        tab.until(lambda: len(tab.runs()) == 9)
        tab.page.wait_for_timeout(600)
        tab.keep(
            f"{scheme}-{state.replace('=', '-').replace('&', '-').replace('/', '-').replace('+', '-')[:40] or 'curves'}"
        )
        for each in Axe().run(tab.page).response["violations"]:
            nodes = [
                node["html"][:160] + " " + node.get("failureSummary", "")[:200] for node in each["nodes"][:3]
            ]
            wrong.append(f"{state}: {each['id']} {nodes}")
    tab.page.keyboard.press("?")
    wrong += [
        f"help: {each['id']} {each['nodes'][0]['html'][:160]}"
        for each in Axe().run(tab.page).response["violations"]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("size", [(1024, 768), (390, 844)])
def test_narrow_screens(demo: str, tabs: Any, size: tuple[int, int]) -> None:
    tab = tabs(viewport={"width": size[0], "height": size[1]}, color_scheme="dark")
    for state in ("", "tab=media", "tab=hparams", "tab=sql", "tab=health"):
        tab.open(demo, state)
        tab.page.reload()
        tab.until(lambda: tab.runs())
        tab.page.wait_for_timeout(300)
        tab.keep(f"{size[0]}-{state or 'curves'}".replace("=", "-"))
        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), state


def test_texts_that_would_take_for_ever(tmp_path: Any, tab: Tab) -> None:
    texts = {
        "table": "a | b\n|-|" + "   |" * 60 + " x\n",  # one pattern would try 4^60 ways
        "quotes": ">" * 50_000 + " deep",
        "ticks": "`" * 150_000 + "x",
        "lines": "    code\n" + "\n" * 150_000 + "    more",
    }
    with tbq.SummaryWriter(tmp_path / "a") as writer:
        for name, text in texts.items():
            writer.add_text(name, text, 0)
    with serving(tmp_path) as url:
        tab.open(url, "tab=media&kind=texts")
        tab.page.locator(".text").nth(3).wait_for(timeout=30_000)
        tab.page.locator(".text blockquote", has_text="deep").first.wait_for()
        tab.page.locator(".text pre", has_text="more").first.wait_for(state="attached")
    assert not tab.wrong


def test_a_large_number_of_a_query_is_no_text(demo: str, tab: Tab) -> None:
    tab.open(demo, "tab=sql&query=" + quote("select -9223372036854775807 as a, '-1' as b"))
    tab.page.locator("#rows", has_text="1 row").wait_for()
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name="CSV", exact=True).click()
    assert Path(waiting.value.path()).read_text() == "a,b\n-9223372036854775807,'-1\n"
