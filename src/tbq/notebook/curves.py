"""`LiveCurves`: what a live chart shows of a growing log, in the points of its pixels, and as a picture."""

from __future__ import annotations

import io
import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.errors import SelectionError, collected_warnings
from tbq.roles import main_first
from tbq.server.answers.points import having
from tbq.server.answers.runs import colours_of
from tbq.server.http.encoding import gzipped
from tbq.server.http.routes import answer
from tbq.server.live_log import LiveLog
from tbq.table.smooth import check_weight
from tbq.table.table import Table
from tbq.text import counted

if TYPE_CHECKING:
    from tbq.select import Names, Steps
    from tbq.source.discover import Source

MOST_TAGS = 12
MOST_RUNS = 100
_COLUMNS = 600  # of pixels: a chart is seldom wider
_FEWEST_COLUMNS = 100
_ALL_COLUMNS = 60_000  # of all curves together, about 1 MB
_DRAWN_TAGS, _DRAWN_RUNS = 6, 30  # of the picture, which the thread of the cells draws


class LiveCurves:
    """A followed log as charts; `changed` is set when it has grown. Threads may share it."""

    def __init__(self, path: Source, tag: Names, run: Names, steps: Steps, smooth: float) -> None:
        check_weight(smooth, "smooth")
        self.smooth = smooth
        self.log = LiveLog(path, tag=tag, run=run, steps=steps)
        self.changed = threading.Event()
        self.read = threading.Event()  # everything that the log had at first
        self.log.listen(self._listen)
        self.log.start()

    def _listen(self, change: Any) -> None:
        if not change.left:
            self.read.set()
        self.changed.set()

    def close(self) -> None:
        """Forget the log."""
        self.log.close()

    def tags(self) -> tuple[list[str], int]:
        """The tags to draw and the number of all: curves before single values, then as `runs_html` orders them."""
        with self.log.lock:
            totals = {
                name: (kinds["scalars"], rows)
                for name, kinds, rows in self.log.index.totals()
                if "scalars" in kinds
            }
        names = sorted(totals, key=lambda name: main_first(name, totals[name][1] <= totals[name][0]))
        return names[:MOST_TAGS], len(names)

    def runs(self) -> tuple[list[str], int]:
        """The runs to draw, in the order of the page, and the number of all; the newest if there are many."""
        shown, (tags, _) = self.log.shown(), self.tags()
        drawn = {run for tag in tags for run in having(self.log, tag, shown)}
        shown = [run for run in shown if run in drawn or not tags]
        with self.log.lock:
            began = {run: self.log.states[run].began for run in shown if run in self.log.states}
        newest = sorted(began, key=lambda run: -math.inf if math.isnan(began[run]) else began[run])[
            -MOST_RUNS:
        ]
        kept = set(newest)
        return [run for run in shown if run in kept], len(shown)

    def frames(self) -> dict[str, bytes]:
        """The curves of each tag as the page gets them, compressed: short curves fill few of the columns."""
        tags, _ = self.tags()
        runs, _ = self.runs()
        with self.log.lock:
            ids = ",".join(str(self.log.id_of(run)) for run in runs) or "-"
        columns = max(_FEWEST_COLUMNS, min(_COLUMNS, _ALL_COLUMNS // max(len(tags) * len(runs), 1)))
        asked = {"runs": ids, "width": str(columns), "smooth": str(self.smooth or "")}
        answers = {tag: answer(self.log, "curves", [("tag", tag), *asked.items()]) for tag in tags}
        return {tag: b"".join(gzipped([each.body])) for tag, each in answers.items() if each.status == 200}

    def facts(self) -> dict[str, Any]:
        """The drawn runs by their numbers, and what to say below the charts."""
        (tags, all_tags), (runs, all_runs) = self.tags(), self.runs()
        states, colours = self.log.states_now(), colours_of(self.log)
        with self.log.lock:
            about = {
                str(self.log.id_of(run)): {"name": run, "state": states.get(run), "colours": colours[run]}
                for run in runs
                if run in colours
            }
        return {"runs": about, "smooth": self.smooth, "note": self._note(tags, all_tags, runs, all_runs)}

    def _note(self, tags: list[str], all_tags: int, runs: list[str], all_runs: int) -> str:
        if not all_runs:
            return f"Waiting for event files in {self.log.title}."
        if self.log.left:
            return "reading …"
        if not all_tags:
            return "No scalars yet."
        parts = [f"{len(tags)} of {all_tags:,} tags: choose with tag="] if all_tags > len(tags) else []
        parts += (
            [f"the newest {len(runs)} of {all_runs:,} runs: choose with run="] if all_runs > len(runs) else []
        )
        return " · ".join(parts)

    def picture(self) -> bytes | None:
        """The charts as a PNG, for a notebook that is read without a kernel; None if there is nothing to draw."""
        (tags, _), (runs, _) = self.tags(), self.runs()
        if not tags:
            return None
        with collected_warnings():
            try:
                drawn = tags[:_DRAWN_TAGS]
                figure: Any = self._points(drawn, runs[-_DRAWN_RUNS:]).plot(drawn)
            except SelectionError:  # the rows went meanwhile
                return None
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=100)
        return out.getvalue()

    def _points(self, tags: list[str], runs: list[str]) -> Table:
        """The first, smallest, largest and last point of each pixel column, and where NaN begins, as a table."""
        pairs = [(run, tag) for tag in tags for run in having(self.log, tag, runs)]
        curves = self.log.view.curves(pairs, x="step", width=_COLUMNS, smooth=self.smooth)
        corners = np.stack([curves.first, curves.min, curves.max, curves.last], axis=2)
        keep = np.isfinite(corners)
        keep[:, :, 1:] &= (curves.max > curves.min)[:, :, np.newaxis]
        series, column, _ = np.nonzero(keep)
        x = curves.low + (column + 0.5) * ((curves.high - curves.low) / _COLUMNS)
        broken = np.flatnonzero(np.isfinite(curves.broken))
        series = np.concatenate([series, broken])
        step = np.rint(np.concatenate([x, curves.broken[broken]])).astype(np.int64)
        value = np.concatenate([corners[keep], np.full(len(broken), np.nan)])
        order = np.lexsort((step, series))
        run, tag = (
            pa.array(names, pa.string()).take(pa.array(series[order])) for names in zip(*pairs, strict=True)
        )
        columns = {
            "run": run,
            "tag": tag,
            "step": step[order],
            "value": pa.array(value[order], from_pandas=False),
        }
        return Table(pa.table(columns), "scalars")

    def words(self) -> str:
        """One line about the chart, for places that show no pictures."""
        (tags, _), (runs, _) = self.tags(), self.runs()
        return f"<tbq.live {self.log.title!r}: {counted(len(runs), 'run')}, {counted(len(tags), 'tag')}>"
