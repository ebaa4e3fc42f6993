"""matplotlib, imported late: figures that save the same bytes each time, a font for every name, literal text."""

from __future__ import annotations

import contextlib
import functools
import io
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError, missing, warn
from tbq.select import closest_tip
from tbq.text import printable, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

LONGEST = 48  # characters of a name
# Metadata of a file: nothing that differs from one day or machine to the next.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
}


def matplotlib() -> Any:
    """The module; an error that names the extra if matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        raise missing("matplotlib", needed_for="a plot as a file or figure", extra="plot") from None
    return matplotlib


@contextlib.contextmanager
def styled(settings: dict[str, Any]) -> Iterator[None]:
    """Apply these settings, and silence matplotlib's warnings about glyphs: `fonts_for` warns instead."""
    with matplotlib().rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        warnings.filterwarnings(
            "ignore", message="Matplotlib currently does not support", category=UserWarning
        )
        warnings.filterwarnings("ignore", message="constrained_layout not applied", category=UserWarning)
        # matplotlib warns about values near the largest possible float.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="matplotlib")
        yield


def new_figure(settings: dict[str, Any], size: tuple[float, float], **options: Any) -> Figure:
    """A figure that is drawn and saved with these settings, whatever the user's are; pyplot does not know it."""
    matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure: Figure = _picture()(figsize=size, layout="constrained", **options)
    figure._tbq_settings = settings  # type: ignore[attr-defined]
    FigureCanvasAgg(figure)
    return figure


@functools.cache
def _picture() -> Any:
    """The class of tbq's figures, created after matplotlib is imported."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure with its own settings; notebooks show it directly."""

        _tbq_settings: dict[str, Any]

        def draw(self, renderer: Any) -> None:
            # The layout begins where the last one ended: without a common start, a second file would differ.
            if self.get_constrained_layout():
                for ax in self.axes:
                    place = ax.get_subplotspec()
                    if place is not None:
                        ax._set_position(place.get_position(self))  # type: ignore[attr-defined]
            with styled(self._tbq_settings):
                super().draw(renderer)

        def savefig(self, fname: Any, **options: Any) -> None:
            form = options.get("format") or str(fname).rpartition(".")[2]
            options.setdefault("metadata", METADATA.get(form))
            with styled(self._tbq_settings):
                super().savefig(fname, **options)

        def _repr_png_(self) -> bytes:
            out = io.BytesIO()
            self.savefig(out, format="png")
            return out.getvalue()

        def __reduce__(self) -> Any:  # a class defined in a function cannot be pickled
            raise TypeError("a figure of tbq cannot be pickled; save it with savefig")

    return Picture


def points(setting: str) -> float:
    """A setting's font size in points; the user's setting may be a word such as "medium"."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=matplotlib().rcParams[setting]).get_size_in_points())


def literal(text: Text) -> Text:
    """Mark the text as literal: `$` and `_` in a name are not mathematics."""
    text.set_parse_math(False)
    return text


def name_text(name: str, longest: int = LONGEST) -> str:
    """A log's name for a picture: on one line, harmless, not too long."""
    return printable(shortened(name, longest))


def check_font(name: str) -> None:
    """Raise if a font is not installed: matplotlib would substitute another, with a warning for every character."""
    matplotlib()
    from matplotlib import font_manager

    known = {font.name for font in [*font_manager.fontManager.ttflist, *font_manager.fontManager.afmlist]}
    if name.casefold() not in {each.casefold() for each in known}:
        tip = closest_tip(name, sorted(known))
        raise UsageError(
            f"font: {name!r} is not installed{tip}",
            hint="want serif, sans, mono, or an installed font",
        )


def fonts_for(texts: Iterable[str], settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with fonts added for missing characters; warns if no installed font has them."""
    letters = {letter for text in texts for letter in text if ord(letter) > 126}
    if not letters:
        return settings
    matplotlib()
    from matplotlib import font_manager

    families = settings["font.family"]
    families = [families] if isinstance(families, str) else list(families)
    families += [name for name in ("DejaVu Sans",) if name not in families]
    with styled({**settings, "font.family": families}):
        properties = font_manager.FontProperties(family=families)
        for path in font_manager.fontManager._find_fonts_by_props(properties):
            letters -= _having(path, letters)
    if letters:
        for font in sorted({(each.name, each.fname) for each in font_manager.fontManager.ttflist}):
            present = _having(font[1], letters)
            if present:
                families.append(font[0])
                letters -= present
            if not letters:
                break
    if letters:
        shown = "".join(sorted(letters)[:8])
        warn(f"no installed font has the characters {shown!r}: boxes replace them")
    return {**settings, "font.family": families}


def _having(path: str, letters: set[str]) -> set[str]:
    from matplotlib.font_manager import get_font

    try:
        font = get_font(path)
    except (OSError, RuntimeError, ValueError):
        return set()
    return {letter for letter in letters if font.get_char_index(ord(letter))}
