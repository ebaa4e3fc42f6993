"""The lines of one card: a chart, an image, a text or the bars of a histogram, below its title."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from tbq.dashboard.feed import Picture, Want
from tbq.dashboard.graphics import Drawing, Graphics, drawing
from tbq.dashboard.model import Model
from tbq.numbers import number
from tbq.plot.blocks import half_blocks, histogram_bars
from tbq.plot.cells import Line, Span, clipped, filled, width
from tbq.plot.chart import Chart, Columns, Curve, noise_of, plot_width
from tbq.plot.colours import AMBER
from tbq.plot.ranges import left_words
from tbq.roles import better
from tbq.select import plain_tag
from tbq.text import page

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.following.view import CurveGrid


def want_of(model: Model, tag: str, room: int) -> Want:
    """The data that a card of this width needs."""
    if model.kind != "scalars":
        run = model.shown_run(tag)
        return Want(model.kind, tag, (run,) if run else ())
    return Want(
        "scalars",
        tag,
        tuple(model.curves_of(tag)),
        model.axis,
        model.zoom,
        plot_width(room) * 2,
        model.smooth,
    )


def card(
    model: Model, tag: str, picture: Picture | None, room: int, height: int, graphics: Graphics | None = None
) -> tuple[list[Line], Drawing | None]:
    """The card of a tag in exactly `room` × `height` cells, and the image that the terminal draws below its title."""
    body_height = height - 1
    fits = picture is not None and picture.want.kind == model.kind
    drawn = None
    if picture is None or not fits:
        body: list[Line] = [[Span(" …", dim=True)]]
        about = ""
    elif model.kind == "scalars":
        body, about = _chart(model, tag, picture, room, body_height)
    else:
        drawn = _drawing(picture, room, body_height - 1, graphics)
        body, about = _value(model, picture, room, body_height, drawn)
    lines = [_title(model, tag, about, room), *body]
    lines = [filled(line, room) for line in lines[:height]]
    return lines + [filled([], room) for _ in range(height - len(lines))], drawn


def _title(model: Model, tag: str, about: str, room: int) -> Line:
    chosen = tag == model.tag
    rule = "━" if chosen else "─"
    right = [Span(f" {clipped(about, _room_beside(tag, room))} ", dim=not chosen)] if about else []
    pin = "◆ " if tag in model.pins else ""
    name = clipped(plain_tag(tag), max(room - 4 - width(right) - len(pin), 4))
    left: Line = [Span(f"{rule} ", dim=not chosen), Span(pin, AMBER), Span(name, bold=chosen), Span(" ")]
    space = max(room - width(left) - width(right) - 1, 0)
    return [*left, Span(rule * space, dim=not chosen), *right, Span(rule, dim=not chosen)]


def _chart(model: Model, tag: str, picture: Picture, room: int, height: int) -> tuple[list[Line], str]:
    want, curves = picture.want, picture.curves
    if curves is None or want.width != plot_width(room) * 2:
        return [[Span(" …", dim=True)]], ""
    drawn = []
    letters = model.letters
    for i, name in enumerate(want.runs):
        run = model.runs.get(name)
        series = run.scalars.get(tag) if run else None
        if run is None or series is None:
            continue
        drawn.append(
            Curve(
                model.labels.get(name, name),
                model.colours.get(name),
                _columns(curves, i),
                _columns(picture.raw, i) if picture.raw is not None else None,
                float(curves.broken[i]),
                _takeovers(series.takeovers, want.axis, run.began),
                series.value,
                strong=name == model.run,
                letter=letters.get(name, ""),
            )
        )
    if not drawn:
        return [[Span(" its runs are hidden", dim=True)]], ""
    if want.range is not None and all(math.isnan(value) for value in curves.first.flat):
        return [[Span(" no data in this range · 0 shows all", dim=True)]], _about(model, tag)
    hidden = sum(tag in model.runs[name].scalars for name in model.drawn) - len(drawn)
    chart = Chart(
        drawn,
        curves.low,
        curves.high,
        want.axis,
        model.log,
        max(hidden, 0),
        full=model.outliers,
        better=better(tag),
        noise=noise_of((curve.raw or curve.columns).max for curve in drawn),
    )
    left = left_words(len({curve.name for curve, *_ in chart.leaving()}), "run")
    about = _about(model, tag)
    few = f"{len(drawn):,} of {len(drawn) + hidden:,} runs" if hidden > 0 else ""
    choices: list[tuple[str, ...]] = [(few,), ()]
    if left:
        key, short = "u shows all", left.removesuffix(" the range")
        choices = [(few, left, key), (left, key), (left,), (short,)]
    texts = [" · ".join(filter(None, (*words, about))) for words in choices]
    fitting = next((text for text in texts if len(text) <= _room_beside(tag, room)), texts[-1])
    return chart.lines(room, height), fitting


def _room_beside(tag: str, room: int) -> int:
    """The width for words in a title: half of it, or all that the tag leaves free."""
    return max(room // 2, room - width([Span(plain_tag(tag))]) - 8, 1)


def _about(model: Model, tag: str) -> str:
    """The last value of the selected run, or the difference between two compared runs."""
    if len(model.comparing) == 2:
        pair = [model.runs[name].scalars.get(tag) for name in model.comparing if name in model.runs]
        if len(pair) == 2 and pair[0] and pair[1]:
            difference = pair[1].value - pair[0].value
            return f"B − A {'+' if difference > 0 else ''}{number(difference)}"
        return ""
    series = model.runs[model.run].scalars.get(tag) if model.run in model.runs else None
    return "" if series is None else number(series.value)


def _columns(curves: CurveGrid, row: int) -> Columns:
    return Columns(curves.first[row], curves.last[row], curves.min[row], curves.max[row])


def _takeovers(takeovers: list[tuple[int, float]], axis: str, began: float) -> list[float]:
    if axis == "step":
        return [float(step) for step, _ in takeovers]
    shift = began if axis == "relative" and not math.isnan(began) else 0.0
    return [wall - shift for _, wall in takeovers]


def _drawing(picture: Picture, room: int, height: int, graphics: Graphics | None) -> Drawing | None:
    rows = picture.rows
    if graphics is None or picture.want.kind != "images" or rows is None or not len(rows):
        return None
    return drawing(rows["data"][0].as_py() or b"", room, height, graphics)


def _value(
    model: Model, picture: Picture, room: int, height: int, drawn: Drawing | None
) -> tuple[list[Line], str]:
    """The last image, text or histogram of a run."""
    want, rows = picture.want, picture.rows
    if rows is None or not len(rows) or not want.runs:
        return [[Span(" nothing readable", dim=True)]], ""
    run = want.runs[0]
    step = rows["step"][0].as_py()
    caption: Line = [
        Span("━ ", model.colours.get(run), bold=True),
        Span(clipped(run, room - 4), bold=run == model.run),
    ]
    draw = {"images": _image, "texts": _text, "histograms": _histogram}[want.kind]
    body = drawn.lines if drawn else draw(rows, room, height - 1)
    body = body[: height - 1] + [[]] * (height - 1 - len(body))
    return [*body, caption], f"step {step:,}"


def _image(rows: pa.Table, room: int, height: int) -> list[Line]:
    data = rows["data"][0].as_py()
    size = f"{rows['width'][0].as_py()} × {rows['height'][0].as_py()} {rows['format'][0].as_py() or ''}"
    return half_blocks(data or b"", size, room, height)


def _text(rows: pa.Table, room: int, height: int) -> list[Line]:
    from tbq.kinds.texts import joined

    lines: list[Line] = []
    for line in page(joined(rows)).expandtabs(4).splitlines():
        lines += [[Span(part)] for part in textwrap.wrap(line, room - 1) or [""]]
        if len(lines) > height:
            break
    return lines


def _histogram(rows: pa.Table, room: int, height: int) -> list[Line]:
    from tbq.kinds.histograms import HistogramTable

    return histogram_bars(HistogramTable(rows.slice(0, 1), "histograms").histogram(0), room, height)
