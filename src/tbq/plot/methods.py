"""The methods of a log that draw: as a matplotlib figure, into a file, or as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack

from tbq.arguments import StrPath, keywords
from tbq.decode.options import READING, Reading, Which
from tbq.plot.options import PLOTTING, Options, PlotSelected, Plotting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tbq.decode.reader import Reader
    from tbq.select import Names, Steps


class Pictures:
    """What `LogDir` has of this stage; it has the reader."""

    _reader: Reader

    def plot(
        self,
        tag: Names = None,
        *,
        run: Names = None,
        ax: Axes | None = None,
        **plotting: Unpack[PlotSelected],
    ) -> Figure | Axes:
        """A matplotlib figure of curves, or of what else the tag has; with `ax`, drawn there. Needs the extra `plot`.

        `x` is "step", "relative", "wall" or a tag; `by` groups runs by "hparam.lr" or "re:(.*)/seed", `band` draws
        their mean with "std", "sem", "ci95", "minmax" or "quantiles"; docs/plot.md has `smooth`, `log_y`, `style`, …

        >>> log.plot("val/loss", by="hparam.lr", band="minmax").axes[0].get_ylabel()
        'val/loss'
        """
        from tbq.plot.pictures import picture

        options, reading = _split("log.plot", plotting)
        drawn: Figure | Axes = picture(self._reader.given(reading), tag, run, options, reading, ax)
        return drawn

    def write_plot(
        self,
        path: StrPath,
        *,
        tag: Names = None,
        run: Names = None,
        format: str | None = None,
        force: bool = False,
        **plotting: Unpack[PlotSelected],
    ) -> str:
        """Write what `plot` draws to a png, svg, pdf, pgf or html file, by its ending; returns the path.

        >>> log.write_plot("loss.svg", tag="val/loss")
        'loss.svg'
        """
        from tbq.plot import files
        from tbq.plot.pictures import picture

        options, reading = _split("log.write_plot", plotting)
        reader = self._reader.given(reading)
        return files.save(
            lambda vectors: picture(reader, tag, run, options, reading, vectors=vectors),
            path,
            format=format,
            force=force,
            title=options.title,
        )

    def plot_text(
        self,
        tag: Names = None,
        *,
        run: Names = None,
        width: int = 100,
        height: int | None = None,
        colour: bool = False,
        **plotting: Unpack[PlotSelected],
    ) -> str:
        """What `plot` draws as text for a terminal, in braille, `width` cells wide; `colour` adds its escapes.

        >>> "val/loss" in log.plot_text("val/loss", width=60)
        True
        """
        from tbq.plot.terminal import text

        options, reading = _split("log.plot_text", plotting)
        return text(self._reader.given(reading), tag, run, options, reading, width, height, colour)

    def image_text(
        self,
        tag: str,
        *,
        index: int = 0,
        width: int = 80,
        height: int = 40,
        protocol: Literal["blocks", "kitty", "iterm"] = "blocks",
        **which: Unpack[Which],
    ) -> str:
        """One image as text for a terminal: half blocks in colours, or what kitty or iTerm understand. Needs Pillow.

        >>> log.image_text("samples", width=8).count("▀")
        32
        """
        from tbq.plot.screens import image_text

        return image_text(self._reader.given(which), tag, index, width, height, protocol, which)

    def sparklines(
        self, tag: str, *, run: Names = None, width: int = 16, steps: Steps = None, **reading: Unpack[Reading]
    ) -> dict[str, str]:
        """The curve of a tag in a few letters, for each run that is selected; blank if it does not have the tag.

        >>> log.sparklines("val/loss", width=8)["lr=0.1/seed=0"]
        '█▃▂▁▁▁▁▁'
        """
        from tbq.arguments import whole
        from tbq.plot.sparks import sparklines

        return sparklines(
            self._reader.given(reading), tag, run, whole("width", width, least=1, most=1000), steps, reading
        )


def _split(function: str, given: PlotSelected) -> tuple[Options, dict[str, Any]]:
    """What to draw, and what to read."""
    keywords(function, given, ("tag", "run", *PLOTTING, "steps", *READING))
    plotting: Any = {name: value for name, value in given.items() if name in PLOTTING}
    typed: Plotting = plotting
    return Options.of(typed), {name: value for name, value in given.items() if name not in PLOTTING}
