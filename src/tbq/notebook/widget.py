"""`LiveChart`: the widget of `tbq.live`, which shows the page's charts in a notebook, and leaves a picture there."""

from __future__ import annotations

import asyncio
import atexit
import base64
import contextlib
import json
import os
import secrets
import sys
import threading
import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from tbq.notebook.curves import LiveCurves
from tbq.server.http.page_files import bare_modules

if TYPE_CHECKING:
    from tbq.select import Names, Steps
    from tbq.source.discover import Source

_PATIENCE = 3.0  # seconds that a cell waits for what the log has already
_PAUSE = 0.5  # seconds between two updates
_RATE = 250_000  # bytes per second that updates may send
_QUIET = 5.0  # seconds without growth, after which the stored picture is drawn again
_PICTURES = 60.0  # seconds between two pictures of a log that grows

# JupyterLab shows nothing of an output whose widget is gone, so there the picture is an output of its own, which the
# chart's style sheet hides; a new picture then leaves the chart alone. Other notebooks have no such style.
_TWO_OUTPUTS = "VSCODE_PID" not in os.environ and "google.colab" not in sys.modules

# The browser makes an address for each module, after those of the modules that it imports.
_LOADER = """
const sources = %s;
const urls = {};
const url = (name) => (urls[name] ??= URL.createObjectURL(
  new Blob([sources[name].replace(/"tbq\\/([^"]+)"/g, (_, other) => `"${url(other)}"`)], { type: "text/javascript" }),
));
const { render } = await import(url("notebook.js"));
export default { render };
"""


class LiveChart(anywidget.AnyWidget):  # type: ignore[misc] # anywidget may be missing where mypy runs
    """A live chart of a log; made by `tbq.live`."""

    _esm = _LOADER % json.dumps(bare_modules("notebook.js"))
    _css = resources.files("tbq.server").joinpath("static", "notebook.css").read_text("utf-8")
    frames = traitlets.Dict().tag(sync=True)  # the curves of each tag, as bytes
    facts = traitlets.Dict().tag(sync=True)

    def __init__(self, curves: LiveCurves) -> None:
        self._curves = curves
        curves.read.wait(_PATIENCE)
        super().__init__(frames=curves.frames(), facts=self._facts())
        self._display_id = f"tbq-{secrets.token_hex(8)}"  # of the picture
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="tbq.live", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop following the log; the notebook then shows the picture."""
        if self._ended.is_set():
            return
        self._ended.set()
        if _TWO_OUTPUTS:
            self._draw_again()
        self._curves.close()
        for key in [key for key, chart in _charts.items() if chart is self]:
            del _charts[key]
        super().close()

    def _facts(self) -> dict[str, Any]:
        return self._curves.facts() | {"pictured": _TWO_OUTPUTS}

    def _follow(self) -> None:
        """Send what is new, and have the stored picture drawn again when the log pauses."""
        drawn = changed = time.monotonic()
        is_new = False  # since the last picture
        pause = _PAUSE
        while not self._ended.wait(pause):
            pause = _PAUSE
            now = time.monotonic()
            if self._curves.changed.is_set():
                self._curves.changed.clear()
                # The log may be closed now; otherwise the next change succeeds.
                with contextlib.suppress(Exception), self.hold_sync():
                    self.set_trait("frames", self._curves.frames())
                    self.set_trait(
                        "facts", self._facts()
                    )  # after the frames: it has every run that they have
                pause = max(pause, sum(map(len, self.frames.values())) / _RATE)
                changed, is_new = now, True
            is_due = now - changed > _QUIET or now - drawn > _PICTURES
            if _TWO_OUTPUTS and self._loop is not None and is_new and is_due:
                drawn, is_new = now, False
                # matplotlib's settings belong to the main thread, which may be busy with a cell.
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._draw_again)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        with contextlib.suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        widget = {"application/vnd.jupyter.widget-view+json": view, "text/plain": self._curves.words()}
        display(widget | ({} if _TWO_OUTPUTS else self._picture()), raw=True)  # type: ignore[no-untyped-call]
        if _TWO_OUTPUTS:
            display(self._picture(), raw=True, display_id=self._display_id)  # type: ignore[no-untyped-call]

    def _draw_again(self) -> None:
        """Replace the picture that the notebook stores."""
        from IPython.display import update_display

        update_display(self._picture(), raw=True, display_id=self._display_id)  # type: ignore[no-untyped-call]

    def _picture(self) -> dict[str, str]:
        picture = self._curves.picture()
        if picture is None:
            return {"text/plain": ""}
        return {"image/png": base64.b64encode(picture).decode(), "text/plain": self._curves.words()}

    def __repr__(self) -> str:
        return self._curves.words()


_charts: dict[str, LiveChart] = {}


def chart_of(path: Source, tag: Names, run: Names, steps: Steps, smooth: float) -> LiveChart:
    """The chart of these arguments: a cell that runs again does not follow the same log twice."""
    key = repr((Path.cwd(), path, tag, run, steps, smooth))
    if key not in _charts:
        _charts[key] = LiveChart(LiveCurves(path, tag, run, steps, smooth))
    return _charts[key]


@atexit.register
def _end() -> None:
    """End the threads before Python does."""
    for chart in _charts.values():
        chart._ended.set()
        chart._curves.close()
