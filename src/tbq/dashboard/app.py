"""The Textual app: lays out panes, turns keys into changes of the model, and shows the feed's updates."""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.widgets import Input

from tbq.dashboard import screen
from tbq.dashboard.cards import card, want_of
from tbq.dashboard.feed import Feed, FeedMessage, Picture
from tbq.dashboard.graphics import Graphics
from tbq.dashboard.keys import KEYS
from tbq.dashboard.model import Model
from tbq.dashboard.widgets import CardPane, Pane, RunPane
from tbq.following.polling import Poll
from tbq.plot.cells import Line, Span

if TYPE_CHECKING:
    from textual.events import Key, Resize

_ALWAYS = ("tab", "shift+tab")  # Textual uses these to move its own focus


class WatchApp(App[None]):
    """A log directory, full screen."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    CSS = """
    Screen, Pane, Container, Horizontal { background: ansi_default; color: ansi_default; }
    Screen { layout: vertical; overflow: hidden; }
    #header, #footer { height: 1; }
    #body { height: 1fr; }
    #runs { height: 100%; }
    #cards { layout: grid; grid-gutter: 0 1; padding: 0 0 0 1; width: 1fr; height: 100%; }
    #over { display: none; height: 1fr; }
    #filter { display: none; height: 1; border: none; padding: 0; background: ansi_default; color: ansi_default; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(
                key.keys,
                key.action,
                key.help,
                show=False,
                priority=key.action.startswith("filter") or any(name in key.keys for name in _ALWAYS),
            )
            for key in KEYS
        ),
        Binding("ctrl+c", "quit", show=False, priority=True),
    ]

    def __init__(self, feed: Feed, model: Model, graphics: Graphics | None = None) -> None:
        super().__init__(ansi_color=True)
        self._graphics = graphics
        self.model = model
        model.plain = self.no_color
        self.feed = feed
        self.pictures: dict[tuple[str, str], Picture] = {}
        self.failure: Exception | None = None
        self._filtering: tuple[str, str] | None = None  # what is filtered, and the previous filter
        self._over: str | None = None
        self._built = False
        self._division: screen.Layout | None = None

    def show(self) -> None:
        """Run until the user quits; raises if the app failed."""
        try:
            self.run()
        finally:
            self.feed.stop()
        if self.failure is not None:
            raise self.failure
        if self.return_code:  # Textual has reported the reason
            raise SystemExit(self.return_code)

    def compose(self) -> ComposeResult:
        """Header, body, footer; the body is the list of runs and the cards, or a text over both."""
        yield Pane(id="header")
        with Horizontal(id="body"):
            yield RunPane(id="runs")
            yield Container(id="cards")
        yield Pane(id="over")
        yield Input(id="filter", compact=True)
        yield Pane(id="footer")

    def on_mount(self) -> None:
        """Start the feed."""
        self._built = True
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, another thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._terminate)
        self.query_one("#filter", Input).can_focus = False
        self.set_interval(1.0, self._tick)
        self.sync()
        self.feed.connect(self._from_feed)

    def on_resize(self, _event: Resize) -> None:
        """Lay out the panes for the new size."""
        self.sync()

    def _terminate(self) -> None:
        """Restore the terminal, then end like a terminated process."""
        self.exit(return_code=128 + signal.SIGTERM)

    # Messages of the feed, from its thread.

    def _from_feed(self, what: FeedMessage) -> None:
        if self.is_running:
            self.call_later(self._take, what)

    def _take(self, what: FeedMessage) -> None:
        if isinstance(what, Exception):
            self.failure = what
            self.exit(return_code=1)
            return
        if isinstance(what, Poll):
            self.model.take(what)
        else:
            for picture in what:
                self.pictures[picture.want.kind, picture.want.tag] = picture
        self.sync()

    def _tick(self) -> None:
        before = self.model.states
        self.model.tick()
        if self.model.states != before or self.model.wide or self.model.sort == "recent":
            self.sync()
        elif self._is_shown():
            self._sync_edges()

    # The screen.

    def _is_shown(self) -> bool:
        """Whether the widgets exist: not before they are made, nor while the app ends."""
        return self._built and self.is_running and bool(self.screen_stack) and bool(self.query("#footer"))

    def sync(self) -> None:
        """Show the model's state; unchanged lines are not drawn anew."""
        if not self._is_shown():
            return
        model, size = self.model, self.size
        body = max(size.height - 2, 1)
        division = screen.layout(model, size.width, body)
        model.per_page = max(division.columns * division.rows, 1)
        self._divide(division)
        self._sync_edges()
        if self._over:
            self.query_one("#over", Pane).show_lines(self._over_lines(size.width, body))
        elif division.list_width:
            runs = self.query_one("#runs", RunPane)
            place = model.listed.index(model.run) if model.run in model.listed else 0
            runs.show_lines(
                screen.run_list(model, division.list_width, body, runs.first_to_show(place, body))
            )
        self._sync_cards()

    def _sync_edges(self) -> None:
        model, room = self.model, self.size.width
        self.query_one("#header", Pane).show_lines([screen.header(model, room)])
        footer = self._prompt() if self._filtering else screen.footer(model, room)
        self.query_one("#footer", Pane).show_lines([footer])

    def _divide(self, division: screen.Layout) -> None:
        if division == self._division:
            return
        self._division = division
        runs, cards = self.query_one("#runs", RunPane), self.query_one("#cards", Container)
        runs.display = division.list_width > 0
        runs.styles.width = division.list_width
        cards.display = division.columns > 0
        if division.columns:
            cards.styles.grid_size_columns = division.columns
            cards.styles.grid_size_rows = division.rows
            count = division.columns * division.rows
            panes = list(cards.query(CardPane))
            for pane in panes[count:]:
                pane.remove()
            cards.mount(*(CardPane() for _ in range(count - len(panes))))

    def _sync_cards(self) -> None:
        model = self.model
        panes = [pane for pane in self.query(CardPane) if not pane._pruning][: model.per_page]
        cards = [] if model.wide else model.cards
        wants = []
        for place, pane in enumerate(panes):
            pane.tag = tag = cards[place] if place < len(cards) else None
            room, height = pane.size
            if not room or not height:
                continue
            if tag is None:
                pane.key = None
                pane.show_card(screen.nothing(model, room) if not cards and place == 0 else [], None)
                continue
            want = want_of(model, tag, room)
            wants.append(want)
            picture = self.pictures.get((model.kind, tag))
            key = (
                id(picture), tag, room, height, model.log, model.outliers, model.run, model.tag == tag,
                tag in model.pins, tuple(model.comparing), len(model.drawn), tuple(map(model.colours.get, want.runs)),
            )  # fmt: skip
            if key != pane.key:
                pane.key = key
                pane.show_card(*card(model, tag, picture, room, height, self._graphics))
        self.feed.want(tuple(wants))

    def send(self, sequence: str) -> None:
        """Write to the terminal, after everything drawn so far."""
        if self._driver is not None:
            self._driver.write(sequence)
            self._driver.flush()

    def _over_lines(self, room: int, height: int) -> list[Line]:
        if self._over == "help":
            return screen.help_lines(room, height)
        return screen.problem_lines(self.model, room, height)

    def _prompt(self) -> Line:
        assert self._filtering
        what = self._filtering[0]
        names = self.model.tags if what == "tag" else self.model.listed
        about = "words, -word, a glob, or re:EXPR · ⏎ keeps it, Esc drops it"
        return [Span(f" {len(names):,} {what}s", bold=True), Span(f"  {about}", dim=True)]

    # Keys.

    def on_key(self, event: Key) -> None:
        """Any key closes the help."""
        if self._over:
            event.stop()
            event.prevent_default()
            self._cover(None)

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """While the help is open, keys only close it; in a filter, keys are text."""
        if action == "filter" and self._filtering:
            return False
        return not (self._over and action not in ("quit", "help_quit"))

    def _cover(self, what: str | None) -> None:
        self._over = what
        self.query_one("#over", Pane).display = what is not None
        self.query_one("#body").display = what is None
        self.sync()

    def action_help(self) -> None:
        """The keys."""
        self._cover("help")

    def action_problems(self) -> None:
        """Show the list of problems."""
        self._cover("problems")

    def action_filter(self, what: str) -> None:
        """Open the filter prompt for tags or runs."""
        before = self.model.tag_filter if what == "tag" else self.model.run_filter
        self._filtering = what, before
        prompt = self.query_one("#filter", Input)
        prompt.can_focus = prompt.display = True
        prompt.placeholder = f"filter {what}s"
        prompt.value = before
        self.set_focus(prompt)  # at once: keys typed from now on belong to the prompt
        self.sync()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        if self._filtering:
            self._set_filter(event.value)

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Keep the filter."""
        self._end_filter()

    def _set_filter(self, text: str) -> None:
        assert self._filtering
        if self._filtering[0] == "tag":
            self.model.tag_filter = text
        else:
            self.model.run_filter = text
        self.model.refresh()
        self.sync()

    def _end_filter(self) -> None:
        self._filtering = None
        prompt = self.query_one("#filter", Input)
        prompt.can_focus = prompt.display = False
        self.set_focus(None)
        self.sync()

    def action_undo(self) -> None:
        """Drop the filter that the user is typing, or go back."""
        if self._filtering:
            self._set_filter(self._filtering[1])
            self._end_filter()
            return
        self.model.back()
        self.sync()

    def select_run(self, name: str) -> None:
        """Select a run."""
        self.model.run = name
        self.sync()

    def select_tag(self, tag: str, full: bool = False) -> None:
        """Select a card."""
        self.model.tag = tag
        self.model.full = full or self.model.full
        self.sync()

    def action_model(self, name: str, *arguments: int) -> None:
        """Run a key's action that only changes the model."""
        getattr(self.model, name)(*arguments)
        self.sync()

    def action_page(self, by: int) -> None:
        """Turn the page of cards, or of runs if the list has the full width."""
        if self.model.wide:
            self.model.move_run(by * max(self.size.height - 4, 1))
        else:
            self.model.move_tag(by * self.model.per_page)
        self.sync()

    def action_zoom(self, factor: float) -> None:
        """Zoom all charts into a part of their range."""
        self.model.zoom_by(factor, *self._extent())
        self.sync()

    def action_pan(self, share: float) -> None:
        """Move all charts along x."""
        self.model.pan_by(share, *self._extent())
        self.sync()

    def _extent(self) -> tuple[float, float]:
        """The first and the last x of all charts on the screen."""
        shown = [self.pictures.get(("scalars", tag)) for tag in self.model.cards]
        extents = [each.extent for each in shown if each is not None and math.isfinite(sum(each.extent))]
        if self.model.kind != "scalars" or not extents:
            return math.nan, math.nan
        return min(low for low, _ in extents), max(high for _, high in extents)
