"""tbq in notebooks: `tbq.live`, and the magics of `%load_ext tbq`."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from tbq.errors import missing

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from tbq.notebook.widget import LiveChart
    from tbq.select import Names, Steps
    from tbq.source.discover import Source


def live(
    path: Source, *, tag: Names = None, run: Names = None, steps: Steps = None, smooth: float = 0.0
) -> LiveChart:
    """A chart for a notebook that grows while a job writes its log: the last expression of a cell shows it.

    It draws the charts of `tbq serve`: the first 12 tags, of the newest 100 runs. The notebook stores it with a
    picture, which shows where no kernel runs. `path`, `tag`, `run` and `steps` are those of `tbq.follow`; `smooth` is
    TensorBoard's weight. The same call again returns the same chart; `close()` ends it, and so does the kernel.
    Needs the extra "notebook".

    >>> tbq.live("runs", tag="val/*")  # doctest: +SKIP
    """
    _need("tbq.live")
    from tbq.notebook.widget import chart_of

    return chart_of(path, tag, run, steps, smooth)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What `%load_ext tbq` calls: adds the magics `%tbq` and `%%tbqsql`.

    >>> tbq.load_ipython_extension(get_ipython())  # doctest: +SKIP
    """
    _need("%load_ext tbq")
    from tbq.notebook.magics import TbqMagics

    shell.register_magics(TbqMagics)


def _need(what: str) -> None:
    for module in ("IPython", "anywidget", "matplotlib", "starlette", "uvicorn"):
        if importlib.util.find_spec(module) is None:
            raise missing(module, needed_for=what, extra="notebook")
