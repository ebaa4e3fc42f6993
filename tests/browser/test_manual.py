"""The manual as people read it: its search, on a telephone and a desk, light and dark, without a network."""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from searches import QUESTIONS, SEARCHES, WORDS

ROOT = Path(__file__).parents[2]
SCREENS = Path(os.environ.get("TBQ_SCREENS", ROOT / "build" / "screens"))
#: Asks the search of the site, as its page does, and returns the address of the first result of each query.
ASK = """async ([worker, queries]) => {
  const search = new Worker(worker);
  const ask = (message) => new Promise((resolve) => {
    search.onmessage = (event) => resolve(event.data);
    search.postMessage(message);
  });
  const index = await (await fetch("/search.json")).json();
  await ask({ type: 0, data: index });
  const first = {};
  for (const query of queries) {
    const { data } = await ask({ type: 2, data: { input: query } });
    first[query] = data.items.length ? index.items[data.items[0].id].location : null;
  }
  return first;
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual")
    subprocess.run([sys.executable, "-m", "docs.site", folder], cwd=ROOT, check=True)
    return folder / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_searches_lead_to_their_pages(site: Path, address: str, chromium: Any) -> None:
    (worker,) = site.glob("assets/javascripts/workers/search.*.js")
    page = chromium.new_page()
    page.goto(f"{address}/start.html")
    found = page.evaluate(ASK, [f"/{worker.relative_to(site).as_posix()}", list(SEARCHES)])
    page.close()
    assert len(WORDS) >= 60 and len(QUESTIONS) >= 60
    first = {query: (place or "").partition("#")[0].removesuffix(".html") for query, place in found.items()}
    assert first == SEARCHES


def test_a_question_that_is_typed_leads_to_its_page(address: str, chromium: Any) -> None:
    page = chromium.new_page()
    page.goto(f"{address}/board.html", wait_until="networkidle")  # which does not link to it
    page.keyboard.press("/")
    page.keyboard.type("can I export a tensorflow summary to csv", delay=10)
    page.locator("a[href*='how/csv.html']:visible").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/how/csv.html*")
    page.close()


def test_commands_are_copied_without_prompts_and_output(address: str, chromium: Any) -> None:
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{address}/sql.html", wait_until="networkidle")
    block = page.locator(".highlight", has_text="asof join scalars").first
    block.hover()
    block.locator("button").first.click()
    page.wait_for_function("navigator.clipboard.readText()")
    copied = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    assert copied[:3] == ["tbq", "sql", "demo"] and len(copied) == 4
    assert copied[3].startswith("select") and copied[3].endswith("limit 3")
    context.close()


@pytest.mark.parametrize(
    "name", ["index", "start", "how/csv", "reference/commands/export", "notebooks/figure"]
)
@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]
)
def test_pages_are_readable(address: str, chromium: Any, name: str, width: int, scheme: str) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{address}/{name}.html", wait_until="networkidle")
    assert not [url for url in asked if not url.startswith((address, "data:", "blob:"))]
    assert not wrong
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[ground.index("(") + 1 : -1].split(",")[:3])) < 200) == (scheme == "dark"), (
        ground
    )
    SCREENS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENS / f"manual-{name.replace('/', '-')}-{width}-{scheme}.png")
    context.close()
