"""Figures as PGF for LaTeX, made without LaTeX: matplotlib measures the text, and names are escaped."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedblright{}", "'": "'{}", "`": "`{}", "-": "-{}", "–": "--", "…": r"\dots{}",
    "−": r"\ensuremath{-}", "×": r"\ensuremath{\times}", "≤": r"\ensuremath{\leq}",
}  # fmt: skip


def escaped(text: str) -> str:
    r"""Text escaped for LaTeX, whatever characters it has.

    >>> print(escaped("val_loss 50% $x$"))
    val\_loss 50\% \$x\$

    Breaks LaTeX's ligatures, and uses only commands that every font encoding has.
    """
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def pgf(figure: Figure) -> str:
    """The figure as a pgfpicture, for `\\input` in a document that loads pgf."""
    from matplotlib.backends import backend_pgf
    from matplotlib.backends.backend_agg import RendererAgg

    width, height = figure.get_figwidth(), figure.get_figheight()
    measure = RendererAgg(int(width * 72) + 1, int(height * 72) + 1, 72)

    class Renderer(backend_pgf.RendererPgf):  # type: ignore[misc]
        """PGF, with matplotlib's own fonts for measuring text."""

        def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> tuple[float, float, float]:
            size: tuple[float, float, float] = measure.get_text_width_height_descent(s, prop, ismath)
            return size

        def draw_text(
            self,
            gc: Any,
            x: float,
            y: float,
            s: str,
            prop: Any,
            angle: float,
            ismath: Any = False,
            mtext: Any = None,
        ) -> None:
            super().draw_text(gc, x, y, s if ismath else escaped(s), prop, angle, ismath, mtext)

        def draw_image(self, *_: Any, **__: Any) -> None:
            raise UsageError("a pgf file cannot hold images", hint="write a pdf")

    out = io.StringIO()
    out.write(
        "%% Made by tbq plot. In the preamble: \\usepackage{pgf}; then \\input{<this file>}\n"
        "\\begingroup\n\\makeatletter\n\\def\\mathdefault#1{#1}\n\\begin{pgfpicture}\n"
        f"\\pgfpathrectangle{{\\pgfpointorigin}}{{\\pgfqpoint{{{width:f}in}}{{{height:f}in}}}}\n"
        "\\pgfusepath{use as bounding box}\n"  # no clip: the document's font may be wider than the measured one
    )
    dpi = figure.dpi
    figure.dpi = 72
    try:
        figure.draw(Renderer(figure, out))
    finally:
        figure.dpi = dpi
    out.write("\\end{pgfpicture}\n\\makeatother\n\\endgroup\n")
    return out.getvalue()
