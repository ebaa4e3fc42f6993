"""The pictures of the manual are what their commands and scripts draw today, except for the rendering of letters."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

DOCS = Path(__file__).parents[2] / "docs"


def script(name: str = "gallery") -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / "images" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_ten_pictures_and_no_other_is_there() -> None:
    names = {arguments[-1] for arguments in script().commands()}
    assert len(names) == 10
    assert {path.name for path in (DOCS / "images" / "gallery").iterdir()} == names
    page = (DOCS / "gallery.md").read_text("utf-8")
    assert all(f"(images/gallery/{name})" in page for name in names)


def test_the_drawings_are_those_of_the_script_and_shown() -> None:
    drawn = dict(script("drawings").drawings())
    stored = {path.name: path.read_text("utf-8") for path in (DOCS / "images" / "drawings").iterdir()}
    assert stored == drawn, "run: make gallery"
    page = (DOCS / "how-it-works.md").read_text("utf-8")
    assert all(f"(images/drawings/{name})" in page for name in drawn)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
def test_pictures_are_what_their_commands_draw(tmp_path: Path) -> None:
    for each in script().draw(tmp_path):
        baseline = DOCS / "images" / "gallery" / each.name
        small, widths = [], []
        for path in (each, baseline):
            with Image.open(path) as image:
                widths.append(image.width)
                small.append(np.asarray(image.convert("RGB").resize((400, 400), Image.Resampling.BOX), float))
        assert abs(widths[0] - widths[1]) <= 2, each.name
        difference = float(np.sqrt(((small[0] - small[1]) ** 2).mean()))
        assert difference < 8, f"{each.name} differs by {difference:.1f}; look at it, then: make gallery"
