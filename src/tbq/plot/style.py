"""How pictures look: matplotlib's settings for each style, and those that all styles share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq.plot.backend import check_font

if TYPE_CHECKING:
    from tbq.plot.options import PlotOptions

#: Settings of all files: fonts that printers and editors accept, and the same bytes for the same picture.
SAVED: dict[str, Any] = {
    "pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "tbq", "pgf.rcfonts": False,
    "pdf.compression": 9,
}  # fmt: skip
_SCREEN: dict[str, Any] = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.serif": ["STIXGeneral"],
    "mathtext.fontset": "dejavusans", "font.size": 9.0, "axes.labelsize": 9.0, "axes.titlesize": 9.5,
    "xtick.labelsize": 8.0, "ytick.labelsize": 8.0, "legend.fontsize": 8.0, "figure.titlesize": 11.0,
    "axes.linewidth": 0.8, "lines.linewidth": 1.4, "lines.solid_joinstyle": "round", "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y",
    "axes.axisbelow": True, "grid.color": "#d9d9d9", "grid.linewidth": 0.6, "grid.alpha": 0.8,
    "axes.edgecolor": "#4d4d4d", "xtick.color": "#4d4d4d", "ytick.color": "#4d4d4d", "xtick.labelcolor": "#262626",
    "ytick.labelcolor": "#262626", "text.color": "#262626", "axes.labelcolor": "#262626", "legend.frameon": False,
    "legend.handlelength": 1.8, "legend.borderaxespad": 0.4, "legend.labelspacing": 0.35, "figure.dpi": 150.0,
    "figure.facecolor": "white", "axes.facecolor": "white", "savefig.facecolor": "auto", "axes.unicode_minus": True,
    "xtick.major.width": 0.8, "ytick.major.width": 0.8, "xtick.major.size": 3.0, "ytick.major.size": 3.0,
    "xtick.minor.size": 1.8, "ytick.minor.size": 1.8, "xtick.minor.width": 0.5, "ytick.minor.width": 0.5,
    "image.cmap": "viridis", "image.interpolation": "nearest", "text.usetex": False,
    "figure.constrained_layout.h_pad": 0.03, "figure.constrained_layout.w_pad": 0.03,
}  # fmt: skip
_PAPER: dict[str, Any] = {
    "font.family": "serif", "mathtext.fontset": "stix", "font.size": 8.0, "axes.labelsize": 8.0, "axes.titlesize": 8.0,
    "xtick.labelsize": 7.0, "ytick.labelsize": 7.0, "legend.fontsize": 7.0, "figure.titlesize": 9.0,
    "axes.linewidth": 0.8, "lines.linewidth": 1.2, "figure.dpi": 300.0, "axes.edgecolor": "black",
    "xtick.color": "black", "ytick.color": "black", "xtick.labelcolor": "black", "ytick.labelcolor": "black",
    "text.color": "black", "axes.labelcolor": "black", "xtick.major.size": 2.5, "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5, "ytick.minor.size": 1.5, "axes.labelpad": 2.0, "xtick.major.pad": 2.0,
    "ytick.major.pad": 2.0, "figure.constrained_layout.h_pad": 0.015, "figure.constrained_layout.w_pad": 0.015,
}  # fmt: skip
_DARK: dict[str, Any] = {
    "figure.facecolor": "#16181d", "axes.facecolor": "#16181d", "grid.color": "#3a3f47", "axes.edgecolor": "#9aa0a6",
    "xtick.color": "#9aa0a6", "ytick.color": "#9aa0a6", "xtick.labelcolor": "#d5d8dc", "ytick.labelcolor": "#d5d8dc",
    "text.color": "#e8eaed", "axes.labelcolor": "#d5d8dc",
}  # fmt: skip
_TALK = 1.6
_SCALED = (
    "font.size", "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize",
    "figure.titlesize", "axes.linewidth", "lines.linewidth", "grid.linewidth", "xtick.major.width", "ytick.major.width",
    "xtick.major.size", "ytick.major.size", "xtick.minor.size", "ytick.minor.size",
)  # fmt: skip
_FAMILIES = {"serif": "serif", "sans": "sans-serif", "sans-serif": "sans-serif", "mono": "monospace"}


def settings(options: PlotOptions) -> dict[str, Any]:
    """matplotlib's settings for these options."""
    settings = {**_SCREEN, **SAVED}
    if options.paper:
        settings |= _PAPER
    if options.dark:
        settings |= _DARK
    if "talk" in options.style:
        settings |= {name: settings[name] * _TALK for name in _SCALED}
    if options.font is not None:
        family = _FAMILIES.get(options.font)
        if family is None:
            check_font(options.font)
        settings["font.family"] = family or [options.font, *([settings["font.family"]])]
        if family == "serif":
            settings["mathtext.fontset"] = "stix"
        elif family == "sans-serif":
            settings["mathtext.fontset"] = "dejavusans"
    if options.dpi is not None:
        settings["figure.dpi"] = options.dpi
    return settings


def size_of(options: PlotOptions, columns: int, rows: int, aside: float = 0.0) -> tuple[float, float]:
    """The size of a figure with these panels, in inches; `aside` is the width of a legend beside them."""
    width, height = options.size
    if width is None:
        if options.paper:
            width = 3.25 if columns == 1 else 6.75
        else:
            width = (6.4 if columns == 1 else 4.6 * columns) * (1.5 if "talk" in options.style else 1.0)
            width = min(width, 16.0) + aside
    if height is None:
        height = (width - aside) / columns * (0.66 if columns == 1 else 0.72) * rows
    return width, height
