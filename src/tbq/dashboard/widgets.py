"""The widgets of `tbq watch`: panes that redraw only the lines that changed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.events import Click, MouseScrollDown, MouseScrollUp, Resize

    from tbq.dashboard.app import WatchApp
    from tbq.dashboard.graphics import Drawing
    from tbq.plot.cells import Line, Span


@lru_cache(maxsize=4096)
def _style(colour: str | None, bold: bool, dim: bool, reverse: bool, ground: str | None) -> Style:
    return Style(color=colour, bgcolor=ground, bold=bold, dim=dim, reverse=reverse)


def _segment(span: Span) -> Segment:
    return Segment(span.text, _style(span.colour, span.bold, span.dim, span.reverse, span.ground))


class Pane(Widget):
    """Lines of styled text."""

    can_focus = False

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.lines: list[Line] = []

    @property
    def watch_app(self) -> WatchApp:
        """The app of this pane."""
        from tbq.dashboard.app import WatchApp

        app = self.app
        assert isinstance(app, WatchApp)
        return app

    def show_lines(self, lines: list[Line]) -> None:
        """Show these lines; unchanged lines are not redrawn."""
        before, self.lines = self.lines, lines
        width = self.size.width
        changed = [
            Region(0, y, width, 1)
            for y in range(max(len(before), len(lines)))
            if y >= len(before) or y >= len(lines) or before[y] != lines[y]
        ]
        if changed and width:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        """One line, as a Textual strip."""
        if y >= len(self.lines):
            return Strip.blank(self.size.width)
        strip = Strip([_segment(span) for span in self.lines[y]])
        return strip.adjust_cell_length(self.size.width)

    def on_resize(self, _event: Resize) -> None:
        """Lay out anew: the content depends on the size."""
        self.watch_app.sync()


class RunPane(Pane):
    """The list of runs."""

    top = 0  # the first visible run

    def first_to_show(self, place: int, height: int) -> int:
        """The first run to show, so that the run at `place` is visible."""
        self.top = max(min(self.top, place), place - max(height - 2, 0), 0)
        return self.top

    def on_click(self, event: Click) -> None:
        """Select the clicked run."""
        listed = self.watch_app.model.listed
        place = self.top + event.y - 1
        if event.y >= 1 and place < len(listed):
            self.watch_app.select_run(listed[place])

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Move the selection with the wheel."""
        event.stop()
        self.watch_app.action_model("move_run", 3)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Move the selection with the wheel."""
        event.stop()
        self.watch_app.action_model("move_run", -3)


class CardPane(Pane):
    """One card."""

    tag: str | None = None
    key: object = None  # the inputs of its lines
    drawing: Drawing | None = None  # below the title
    _draws = False  # after the screen is written

    def show_card(self, lines: list[Line], drawing: Drawing | None) -> None:
        """Show these lines, and an image that the terminal draws over them."""
        before, self.drawing = self.drawing, drawing
        if drawing is not None and drawing.stays:
            self.watch_app.send(drawing.sequence)
        self.show_lines(lines)
        if drawing is not before:
            self.refresh()  # the lines below an image may be unchanged
            self._remove(before)

    def _remove(self, drawing: Drawing | None) -> None:
        if drawing is not None and drawing.removal:
            self.watch_app.send(drawing.removal)

    def render_line(self, y: int) -> Strip:
        """One line; an image is drawn over its lines once they are on the screen."""
        drawing = self.drawing
        if drawing is not None and not drawing.stays and not self._draws and 1 <= y <= len(drawing.lines):
            self._draws = True
            self.call_after_refresh(self._draw)
        return super().render_line(y)

    def _draw(self) -> None:
        self._draws = False
        drawing, region = self.drawing, self.region
        if drawing is not None and self.is_on_screen and region.height > len(drawing.lines):
            place = f"\x1b[{region.y + 2};{region.x + 1}H"
            self.watch_app.send(f"\x1b7{place}{drawing.sequence}\x1b8")

    def on_unmount(self) -> None:
        """Remove the image from the terminal's memory."""
        self._remove(self.drawing)

    def on_click(self, event: Click) -> None:
        """Select the card; a second click shows it full screen."""
        if self.tag is not None:
            is_double = self.tag == self.watch_app.model.tag and event.chain >= 2
            self.watch_app.select_tag(self.tag, full=is_double)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Turn the page with the wheel; with Ctrl, zoom."""
        event.stop()
        if event.ctrl:
            self.watch_app.action_zoom(2.0)
        else:
            self.watch_app.action_page(1)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Turn the page with the wheel; with Ctrl, zoom."""
        event.stop()
        if event.ctrl:
            self.watch_app.action_zoom(0.5)
        else:
            self.watch_app.action_page(-1)
