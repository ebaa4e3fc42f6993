"""One value for the eyes: an image, a text, a histogram, another value in words, or a picture of curves."""

from __future__ import annotations

import io
import math
import secrets
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tbq.assistant.answer import AskedWrongError, ToolAnswer, shown
from tbq.assistant.names import Names, paths_of, run_words, runs_of, single_run, tags_of
from tbq.assistant.tokens import beginning
from tbq.errors import TbqError, missing
from tbq.kinds.show import described
from tbq.server.answers.media import keys, located
from tbq.server.answers.points import table
from tbq.table.table import Table
from tbq.text import counted, page, some

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.server.live_log import LiveLog

BUDGET = 1000
KINDS = ("images", "texts", "histograms", "tensors", "audio", "pr_curves", "meshes", "graphs", "scalars")
_MARKS = 30  # tokens of the marks around a value in words
_SIDE = 640  # pixels of a picture's longer side
_PIXELS_OF_TOKEN = 750
_ENOUGH = 300_000  # pixels of a picture that leave room for words
_LARGEST = 50_000_000  # pixels of an image that is decoded
_RUNS = 10  # in a picture of curves
_drawing = threading.Lock()  # matplotlib draws one figure at a time


def look(
    log: LiveLog,
    tag: str,
    run: Names = None,
    step: int | None = None,
    index: int = 0,
    kind: str | None = None,
) -> tuple[ToolAnswer, bytes | None]:
    """The answer of the tool `look`, and a picture as PNG."""
    answer = ToolAnswer(BUDGET)
    names = tags_of(log, tag, answer, kind)
    if len(names) > 1:
        raise AskedWrongError(
            f"{shown(tag)} means {len(names)} tags, want one: {some([shown(each) for each in names], 5)}"
        )
    name = names[0]
    with log.lock:
        kinds = next((kinds for each, kinds, _ in log.index.totals() if each == name), {})
    chosen = kind or next((each for each in KINDS if each in kinds), None)
    paths = paths_of(log)
    if chosen is None:
        raise AskedWrongError(
            f"look cannot show {', '.join(kinds)}: tbq show {' '.join(paths)} {shown(name)}"
        )
    if chosen == "scalars":
        return answer, _curves(log, answer, name, run)
    runs = runs_of(log, run, answer)
    having = log.index.having(chosen, name, runs)
    if not having:
        raise AskedWrongError(f"none of {counted(len(runs), 'run')} has {chosen} of {shown(name)}")
    if len(having) > 1 and run is None:
        answer.note(f"{counted(len(having) - 1, 'more run')} with {shown(name)}, e.g. {shown(having[1])}")
    chosen_run = single_run(log, having[0], answer) if run is None or len(having) == 1 else _one(having)
    answer.command = ["tbq", "show", *paths, name, "--run", chosen_run]
    rows, at = _rows(log, answer, chosen_run, name, chosen, step)
    answer.command = [*answer.command, "--step", str(at)]
    answer.say(f"{chosen} · run {shown(chosen_run)} · tag {shown(name)} · step {at}")
    if chosen == "images":
        return answer, _image(answer, rows, index)
    _words(answer, chosen, rows, {"run": chosen_run, "tag": name, "step": at})
    return answer, None


def _one(having: Sequence[str]) -> str:
    raise AskedWrongError(f"{len(having)} runs match, want one: {some([shown(run) for run in having], 5)}")


def _rows(
    log: LiveLog, answer: ToolAnswer, run: str, tag: str, kind: str, step: int | None
) -> tuple[pa.Table, int]:
    """The rows of the value at a step, or of the last value."""
    values = located(log, run, kind)
    listed = keys(values, tag)
    if not listed:
        raise AskedWrongError(f"{shown(run)} has no {kind} of {shown(tag)} any more")
    steps = [at for at, _, _ in listed]
    if step is not None and step not in steps:
        near = min(steps, key=lambda at: abs(at - step))
        raise AskedWrongError(f"no value at step {step}; closest: {near}; steps {steps[0]} to {steps[-1]}")
    at, _, row = listed[-1] if step is None else listed[steps.index(step)]
    if len(steps) > 1:
        answer.note(f"{len(steps):,} steps from {steps[0]} to {steps[-1]}; step= chooses")
    found = values.arrow([row])
    if not len(found):
        raise AskedWrongError(f"the value at step {at} cannot be read; tbq doctor says why")
    return found, at


def _words(answer: ToolAnswer, kind: str, rows: pa.Table, key: dict[str, Any]) -> None:
    """The value in words, between marks that its text cannot forge."""
    text = described(kind, rows, key)
    start = beginning(text, answer.room - _MARKS)
    mark = secrets.token_hex(4)
    answer.block(f"<data {mark}>\n{page(start)}\n</data {mark}>")
    if len(start) < len(text):
        answer.note(f"{len(text) - len(start):,} of {len(text):,} characters left out")


def _image(answer: ToolAnswer, rows: pa.Table, index: int) -> bytes:
    """One image as PNG, made smaller if it costs too much."""
    listed = rows.select(["index", "width", "height", "format", "data"]).to_pylist()
    row = next((each for each in listed if (each["index"] or 0) == index and each["data"]), None)
    if row is None:
        raise AskedWrongError(f"index: got {index}, want 0 to {len(listed) - 1}")
    if len(listed) > 1:
        answer.note(f"{len(listed)} images at this step; index= chooses")
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise missing("PIL", needed_for="look at images", extra="media") from None
    try:
        image = Image.open(io.BytesIO(row["data"]), formats=["PNG", "JPEG", "GIF", "WEBP", "BMP"])
        width, height = image.size
        if width * height > _LARGEST:
            raise AskedWrongError(f"the image has {width} × {height} pixels: too many to decode")
        image = image.convert("RGBA" if "A" in image.getbands() else "RGB")
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as wrong:
        raise AskedWrongError(f"the image cannot be decoded: {type(wrong).__name__}") from None
    answer.say(f"{width} × {height} pixels, {row['format'] or 'unknown format'}")
    scale = min(math.sqrt(_ENOUGH / (width * height)), _SIDE / max(width, height), 1.0)
    if scale < 1:
        image = image.resize((max(int(width * scale), 1), max(int(height * scale), 1)))
        answer.note(f"shown at {image.width} × {image.height} pixels")
    answer.budget -= image.width * image.height // _PIXELS_OF_TOKEN
    stream = io.BytesIO()
    image.save(stream, "PNG", optimize=True)
    return stream.getvalue()


def _curves(log: LiveLog, answer: ToolAnswer, tag: str, run: Names) -> bytes:
    """The curves of a tag as a picture."""
    with log.lock:
        having = log.index.having("scalars", tag, runs_of(log, run, answer))
    if not having:
        raise AskedWrongError(f"none of these runs has scalars of {shown(tag)}")
    if len(having) > _RUNS:
        answer.note(
            f"{len(having) - _RUNS:,} of {len(having):,} runs left out: name run=, or use curve with by="
        )
    having = having[:_RUNS]
    answer.command = ["tbq", "plot", *paths_of(log), "--tag", tag, *run_words(log, run)]
    answer.say(f"curves of {shown(tag)}: {some([shown(each) for each in having], _RUNS)}")
    stream = io.BytesIO()
    scalars = Table(table(log, tag, having), "scalars")
    with _drawing:
        try:
            figure = scalars.plot(tag, size=(6.4, 4.4), dpi=100)
        except TbqError as wrong:
            raise AskedWrongError(wrong.message + (f"; {wrong.hint}" if wrong.hint else "")) from None
        figure.savefig(stream, format="png", dpi=100)  # type: ignore[union-attr]
    answer.budget -= 640 * 440 // _PIXELS_OF_TOKEN
    return stream.getvalue()
