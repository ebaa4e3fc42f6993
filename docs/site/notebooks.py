"""The notebooks of docs/notebooks, run from top to bottom, as pages with their output."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from docs.site.pages import DOCS

FOLDER = DOCS / "notebooks"
SECONDS = 120  # per cell, so that a hang ends


def pages() -> Iterator[tuple[str, str]]:
    """One page per notebook; two run at a time."""
    paths = sorted(FOLDER.glob("*.ipynb"))
    with ThreadPoolExecutor(2) as pool:
        for path, notebook in zip(paths, pool.map(run, paths), strict=True):
            yield f"notebooks/{path.stem}.md", page(notebook, path.name)


def run(path: Path) -> Any:
    """A notebook after its cells were run, in an empty folder; a cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            notebook, timeout=SECONDS, kernel_name="python3", extra_arguments=["--log-level=ERROR"]
        )
        client.execute(cwd=folder)
    return notebook


def page(notebook: Any, name: str) -> str:
    """The cells as Markdown; the file itself is in the repository."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += [shown(each) for each in cell.outputs]
    return (
        "\n\n".join([*(part for part in parts if part), f"The notebook is `docs/notebooks/{name}`."]) + "\n"
    )


def shown(output: Any) -> str:
    """One output of a cell: a picture, or its text."""
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    data = output.data
    if "image/png" in data:
        return f'<img alt="what the cell draws" src="data:image/png;base64,{data["image/png"].strip()}">'
    return f"```text\n{data['text/plain']}\n```"
