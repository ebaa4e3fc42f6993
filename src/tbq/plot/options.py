"""The options of a picture, checked: one set for `log.plot`, `table.plot` and `tbq plot`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, get_args

from tbq.arguments import bad, choice, keywords, whole
from tbq.decode.options import READING, Reading
from tbq.following.view import AXES
from tbq.labels import labels
from tbq.select import Selection, Steps
from tbq.table.smooth import check_weight

Kind = Literal[
    "curves", "difference", "ridge", "heatmap", "pr", "scatter", "parallel", "images", "audio", "confusion", "weights"
]  # fmt: skip
Band = Literal["none", "std", "sem", "ci95", "minmax", "quantiles"]
Center = Literal["mean", "median"]
Legend = Literal["inside", "outside", "direct", "none"]

KINDS: tuple[str, ...] = get_args(Kind)
BANDS: tuple[str, ...] = get_args(Band)
CENTERS: tuple[str, ...] = get_args(Center)
LEGENDS: tuple[str, ...] = get_args(Legend)
STYLES = ("screen", "paper", "talk", "dark")
#: Widths in inches of columns, pages or text blocks of venues.
WIDTHS = {
    "single": 3.25, "double": 6.75, "icml": 3.25, "icml-double": 6.75, "neurips": 5.5, "iclr": 5.5, "cvpr": 3.25,
    "cvpr-double": 6.875, "acl": 3.03, "acl-double": 6.3, "aaai": 3.3, "aaai-double": 7.0, "ieee": 3.5,
    "ieee-double": 7.16, "nature": 3.5, "nature-double": 7.2,
}  # fmt: skip
_SIZE = re.compile(r"(\d+(?:\.\d+)?)(?:\s*[x×,]\s*(\d+(?:\.\d+)?))?")
_LARGEST = 100.0  # inches


class Plotting(TypedDict, total=False):
    """The keywords of every plotting function; `docs/plot.md` explains them."""

    kind: Kind | None
    x: str
    smooth: float
    log_x: bool
    log_y: bool | str | Sequence[str]
    ylim: str | tuple[float | None, float | None] | None
    outliers: float | None
    by: str | Sequence[str]
    band: Band
    center: Center | None
    each: bool
    legend: Legend | None
    title: str | None
    x_label: str | None
    y_label: str | None
    relabel: Mapping[str, str] | Sequence[tuple[str, str]]
    no_n: bool
    size: str | float | tuple[float, float] | None
    panels: int | None
    dpi: float | None
    style: str | Sequence[str]
    font: str | None
    order: str | None
    max_runs: int


class PlotSelected(Plotting, Reading, total=False):
    """The same, and what to read: `steps`, and how."""

    steps: Steps


PLOTTING = tuple(Plotting.__annotations__)


@dataclass(frozen=True)
class PlotOptions:
    """Checked options; `size` is (width, height) in inches, with None if the style decides.

    `log_tags` are the tags with a log axis, if `log_y` does not hold for all.
    """

    kind: str | None = None
    x: str = "step"
    smooth: float = 0.0
    log_x: bool = False
    log_y: bool = False
    log_tags: tuple[str, ...] = ()
    ylim: tuple[float | None, float | None] = (None, None)
    outliers: float | None = None
    by: str | tuple[str, ...] = "run"
    band: str = "none"
    center: str = "mean"
    each: bool = False
    legend: str | None = None
    title: str | None = None
    x_label: str | None = None
    y_label: str | None = None
    relabel: tuple[tuple[str, str], ...] = ()
    no_n: bool = False
    size: tuple[float | None, float | None] = (None, None)
    panels: int | None = None
    dpi: float | None = None
    style: tuple[str, ...] = ("screen",)
    font: str | None = None
    order: str | None = None
    max_runs: int = 100

    @classmethod
    def of(cls, plotting: Plotting) -> PlotOptions:
        """Options from keywords; raises for an invalid value."""
        keywords("plot", plotting, PLOTTING)
        options: dict[str, Any] = dict(plotting)
        if options.get("kind") is not None:
            choice("kind", options["kind"], KINDS)
        if not isinstance(options.get("x", ""), str):
            raise bad("x", options["x"], "step, relative, wall, or a tag")
        check_weight(options.get("smooth", 0.0), "smooth")
        if not isinstance(options.get("log_y", False), bool):
            options["log_tags"] = Selection.of(options["log_y"], "log_y").items or ()
            options["log_y"] = False
        for name in ("log_x", "each", "no_n"):
            if not isinstance(options.get(name, False), bool):
                raise bad(name, options[name], "True or False")
        options["ylim"] = _limits(options.get("ylim"))
        if options.get("outliers") is not None:
            options["outliers"] = _number("outliers", options["outliers"], 0.0, 0.5)
        options["by"] = _by(options.get("by", "run"))
        band = choice("band", options.get("band", "none"), BANDS)
        options["center"] = _center(options.get("center"), band)
        if options.get("legend") is not None:
            choice("legend", options["legend"], LEGENDS)
        options["relabel"] = _relabelling(options.get("relabel", ()))
        for name in ("title", "font", "x_label", "y_label"):
            if options.get(name) is not None and not isinstance(options[name], str):
                raise bad(name, options[name], "a text")
        options["size"] = _size(options.get("size"))
        if options.get("panels") is not None:
            options["panels"] = whole("panels", options["panels"], least=1, most=100)
        if options.get("dpi") is not None:
            options["dpi"] = _number("dpi", options["dpi"], 10.0, 2400.0)
        options["style"] = _styles(options.get("style", "screen"))
        order_of(options.get("order"))
        options["max_runs"] = whole("max_runs", options.get("max_runs", cls.max_runs), least=1)
        return cls(**options)

    def of_tag(self, tag: str) -> PlotOptions:
        """The options of a tag's panel."""
        if not self.log_tags:
            return self
        return replace(self, log_y=bool(Selection.of(self.log_tags).resolve([tag]).names), log_tags=())

    def relabelled(self, name: str) -> str:
        """A name in the user's words.

        >>> PlotOptions.of({"relabel": {"lr=(.*)": r"η = \\1"}}).relabelled("lr=0.1")
        'η = 0.1'
        """
        for pattern, words in self.relabel:
            name = re.sub(pattern, words, name)
        return name

    def labels(
        self, names: Sequence[str], room: int | None = None, size: Callable[[str], int] = len
    ) -> list[str]:
        """The names that the user relabels, in the user's words; the other names as short, distinct labels.

        >>> PlotOptions.of({"relabel": {"exp_a.*": "ours"}}).labels(["exp_a/s=0", "exp_b/s=0", "exp_c/s=0"])
        ['ours', 'b', 'c']
        """
        words = [self.relabelled(name) for name in names]
        rest = iter(
            labels([name for name, word in zip(names, words, strict=True) if name == word], room, size)
        )
        return [next(rest) if name == word else word for name, word in zip(names, words, strict=True)]

    @property
    def paper(self) -> bool:
        """Whether the picture is for a paper, which has its own captions."""
        return "paper" in self.style

    @property
    def axis(self) -> Literal["step", "relative", "wall", "value"]:
        """The quantity on the x axis; a tag's values count as "value"."""
        return self.x if self.x in AXES else "value"

    @property
    def dark(self) -> bool:
        """Whether the background is dark."""
        return "dark" in self.style


def _relabelling(value: Any) -> tuple[tuple[str, str], ...]:
    """Pairs of a regular expression and the words instead of what it matches."""
    want = "pairs of a regular expression and its replacement"
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if isinstance(pairs, str) or not isinstance(pairs, Sequence):
        raise bad("relabel", value, want)
    checked = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or [*map(type, pair)] != [str, str]:
            raise bad(
                "relabel", pair, want, hint=r"relabel={'lr=(.*)': r'η = \1'}, --relabel 'lr=(.*)' 'η = \1'"
            )
        pattern, words = pair
        try:
            re.sub(f"{pattern}|", words, "")  # a match, so that the replacement is checked too
        except (re.error, IndexError) as error:
            raise bad("relabel", pair, f"{want} ({error})") from None
        checked.append((pattern, words))
    return tuple(checked)


def order_of(text: str | None) -> tuple[str, str] | None:
    """The tag and the direction, min or max, of `best:TAG:min`; None for the order of names.

    >>> order_of("best:val/loss:min"), order_of("name")
    (('val/loss', 'min'), None)
    """
    if text is None or text == "name":
        return None
    if isinstance(text, str) and text.startswith("best:"):
        tag, _, way = text.removeprefix("best:").rpartition(":")
        if tag and way in ("min", "max"):
            return tag, way
    raise bad("order", text, "name, or best:TAG:min, or best:TAG:max", hint="e.g. best:val/loss:min")


def _number(argument: str, value: Any, least: float, most: float) -> float:
    want = f"a number from {least:g} to {most:g}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad(argument, value, want)
    if not least <= value <= most:
        raise bad(argument, value, want)
    return float(value)


def _limits(value: Any) -> tuple[float | None, float | None]:
    """`A:B`, `A:`, `:B`, or a pair."""
    if value is None:
        return None, None
    parts = value.split(":") if isinstance(value, str) else value
    if isinstance(parts, Sequence) and len(parts) == 2:
        try:
            low, high = (None if part in (None, "") else float(part) for part in parts)
        except (TypeError, ValueError):
            pass
        else:
            finite = all(end is None or math.isfinite(end) for end in (low, high))
            if finite and (low is None or high is None or low < high):
                return low, high
    raise bad("ylim", value, "A:B with A < B, either may be omitted", hint="e.g. 0:1, 0:, :10")


def _by(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and value and all(isinstance(each, str) for each in value):
        return value[0] if len(value) == 1 else tuple(value)
    raise bad("by", value, "run, hparam.NAME, a glob, or 're:…' with brackets around the group's name")


def _center(value: Any, band: str) -> str:
    if value is None:
        return "median" if band == "quantiles" else "mean"
    choice("center", value, CENTERS)
    if value == "median" and band in ("std", "sem", "ci95"):
        raise bad(
            "center", value, f"mean: the band {band} surrounds the mean", hint="band='quantiles' or 'minmax'"
        )
    return str(value)


def _size(value: Any) -> tuple[float | None, float | None]:
    """Inches: `6x4`, a width, a pair, or the name of a width."""
    if value is None:
        return None, None
    want = f"WIDTHxHEIGHT in inches, a width, or one of {', '.join(WIDTHS)}"
    if isinstance(value, str):
        if value in WIDTHS:
            return WIDTHS[value], None
        match = _SIZE.fullmatch(value.strip())
        if not match:
            raise bad("size", value, want)
        parts: list[Any] = [float(part) for part in match.groups() if part is not None]
    else:
        parts = list(value) if isinstance(value, Sequence) else [value]
    if len(parts) not in (1, 2):
        raise bad("size", value, want)
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, int | float) or not 0.5 <= part <= _LARGEST:
            raise bad("size", value, f"0.5 to {_LARGEST:g} inches")
    return float(parts[0]), float(parts[1]) if len(parts) == 2 else None


def _styles(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Sequence) or not parts:
        raise bad("style", value, f"some of {', '.join(STYLES)}")
    return tuple(choice("style", part.strip() if isinstance(part, str) else part, STYLES) for part in parts)


def split(function: str, passed: PlotSelected, *own: str) -> tuple[PlotOptions, dict[str, Any]]:
    """Split the keywords of a log's method, besides its `own`, into drawing options and reading options."""
    keywords(function, passed, ("tag", "run", *own, *PLOTTING, "steps", *READING))
    plotting: Any = {name: value for name, value in passed.items() if name in PLOTTING}
    typed: Plotting = plotting
    return PlotOptions.of(typed), {name: value for name, value in passed.items() if name not in PLOTTING}
