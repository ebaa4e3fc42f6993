"""Images, audio and texts: their steps, and each value as it was logged, with a type that is safe to show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.arrow import to_pyarrow
from tbq.columns.codes import values_of
from tbq.errors import TbqError
from tbq.kinds import audio as _audio
from tbq.kinds.values import Values
from tbq.server.answers.points import attachment
from tbq.server.http.encoding import TEXT, Answer, frame, json_answer, known_by
from tbq.server.http.params import NotFoundError

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

KINDS = (
    "images", "audio", "texts", "histograms", "pr_curves", "tensors", "meshes", "graphs", "custom_scalars", "others",
)  # fmt: skip
_SVG = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(<\?xml[^>]{0,200}>\s*)?(<!--[^>]{0,500}-->\s*)?(<!DOCTYPE svg[^>\[]{0,200}>\s*)?<svg[\s>]"
)
_SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_IMAGES = ("png", "jpeg", "gif", "webp", "bmp")
_AUDIO = (
    (b"RIFF", "audio/wav"), (b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"), (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"), (b"\xff\xf3", "audio/mpeg"),
)  # fmt: skip
_KEPT = 50  # pairs of run and kind with located values
_LONGEST = 2_000_000  # characters of a text in an answer


def located(log: LiveLog, run: str, kind: str) -> Values:
    """The positions of a run's values of one kind; large values are still in their files.

    An answer asks for them once: a poll may come between two calls, after which rows have other numbers.
    """

    def locate() -> Values:
        result, runs = log.follower.store.of_run(log.follower.core_kind(kind), run)
        return Values(log.follower.reader, kind, result, runs, None, "ignore")

    return log.cache.of("located", (run, kind, log.versions.get(run)), locate, limit=_KEPT)


def keys(values: Values, tag: str) -> list[tuple[int, float, int]]:
    """Step, wall time and row of each value of a tag, sorted by step; the last one of each step."""
    table = to_pyarrow(values.keys())
    by_step: dict[int, tuple[int, float, int]] = {}
    columns = (values_of(table["tag"]), *(table[name].to_pylist() for name in ("step", "wall_time", "row")))
    for of, step, wall, row in zip(*columns, strict=True):
        if of == tag:
            by_step[step] = step, wall, row
    return [by_step[step] for step in sorted(by_step)]


def rows_at(log: LiveLog, params: Params, kind: str) -> pa.Table:
    """The rows of the value at a step, or of the last value; an error if there is none."""
    run, tag, step = params.run(log), params.text("tag"), params.step()
    values = located(log, run, kind)
    listed = keys(values, tag)
    if not listed:
        raise NotFoundError(f"this run has no {kind} of the tag {tag[:200]!r}")
    row = next((row for at, _, row in listed if at == step), None) if step is not None else listed[-1][2]
    if row is None:
        near = min((at for at, _, _ in listed), key=lambda at: abs(at - (step or 0)))
        raise NotFoundError(f"no {kind} at step {step:,}; closest: {near:,}")
    table = values.arrow([row])
    if not len(table):
        raise NotFoundError("this value cannot be read", hint="see Health")
    return table


def series(log: LiveLog, params: Params) -> Answer:
    """The steps of a tag in each run; for images and audio, also the number of items at each step."""
    kind, tag = params.choice("kind", KINDS), params.text("tag")
    with log.lock:
        runs = log.index.having(kind, tag, params.runs(log))
    listed = []
    for run in runs:
        values = located(log, run, kind)
        by_step = keys(values, tag)
        entry: dict[str, Any] = {
            "id": log.id_of(run),
            "steps": [step for step, _, _ in by_step],
            "marks": _marks(log, run, values, tag, by_step),
        }
        if kind in ("images", "audio"):
            entry["counts"] = _counts(values, [row for _, _, row in by_step])
        listed.append(entry)
    return json_answer({"version": log.version, "kind": kind, "tag": tag, "runs": listed})


def _marks(
    log: LiveLog, run: str, values: Values, tag: str, by_step: list[tuple[int, float, int]]
) -> list[str]:
    """A mark for each value. It changes whenever the value may have changed, so addresses with it are never stale."""
    table = to_pyarrow(values.keys())
    rows = [
        row for of, row in zip(values_of(table["tag"]), table["row"].to_pylist(), strict=True) if of == tag
    ]
    place = {row: i for i, row in enumerate(rows)}
    with log.lock:
        files = next((len(each.files) for each in log.follower.store.runs if each.name == run), 0)
        start = f"{log.instance[:6]}.{log.rewritten.get(run, 0)}.{files}"
    return [f"{start}.{place[row]}.{wall!r}" for _, wall, row in by_step]


def _counts(values: Values, rows: list[int]) -> list[int]:
    """The number of images or clips in each row."""
    counts = dict.fromkeys(range(len(rows)), 0)
    steps: list[int] = []
    for batch in values.batches(rows, ["step", "index"]):
        steps += batch["step"].to_pylist()
    keys_of = to_pyarrow(values.keys())["step"].to_pylist()
    place = {keys_of[row]: i for i, row in enumerate(rows)}
    for step in steps:
        counts[place[step]] += 1
    return list(counts.values())


def _picked(log: LiveLog, params: Params, kind: str) -> dict[str, Any]:
    table, index = rows_at(log, params, kind), params.whole("index", 0)
    for row in table.to_pylist():
        if (row["index"] or 0) == index and row["data"] is not None:
            return dict(row)
    raise NotFoundError(f"no {kind} with index {index} at this step, or it cannot be read", hint="see Health")


def image(log: LiveLog, params: Params) -> Answer:
    """One image as it was logged. Anything that browsers do not show safely becomes a download."""
    row = _picked(log, params, "images")
    data = bytes(row["data"])
    if row["format"] in _IMAGES:
        return Answer(data, f"image/{row['format']}", headers=known_by(data))
    if _SVG.match(data):
        # An <img> runs no scripts. If the image is opened by itself, the sandbox runs and loads nothing either.
        headers = {"Content-Security-Policy": _SVG_POLICY, **known_by(data)}
        return Answer(data, "image/svg+xml", headers=headers)
    return Answer(data, "application/octet-stream", headers=attachment("image"))


def audio(log: LiveLog, params: Params) -> Answer:
    """One clip as it was logged."""
    data = bytes(_picked(log, params, "audio")["data"])
    kind = next((kind for start, kind in _AUDIO if data.startswith(start)), None)
    if kind is None:
        return Answer(data, "application/octet-stream", headers=attachment("audio"))
    return Answer(data, kind, headers={"Accept-Ranges": "bytes", **known_by(data)})


def waveform(log: LiveLog, params: Params) -> Answer:
    """The shape of a clip: the smallest and largest sample of each of `width` columns, from -1 to 1."""
    width = params.whole("width", 400, 1, 4096)
    row = _picked(log, params, "audio")
    try:
        rate, samples = _audio.waveform(bytes(row["data"]))
    except TbqError as wrong:
        raise NotFoundError(f"no waveform: {wrong.message}") from None
    mono = samples.astype(np.float64)
    if samples.dtype.kind in "iu":
        info = np.iinfo(samples.dtype)
        full = float(np.abs(mono).max(initial=1.0)) if samples.dtype == np.int32 else float(info.max)
        mono = (mono - 128) / 128 if samples.dtype == np.uint8 else mono / full
    mono = np.nan_to_num(mono.mean(axis=1)) if len(mono) else np.zeros(1)
    starts = np.unique(np.linspace(0, len(mono), width, endpoint=False).astype(np.int64))
    least, largest = np.minimum.reduceat(mono, starts), np.maximum.reduceat(mono, starts)
    return frame(
        {"min": least.astype("<f4"), "max": largest.astype("<f4")},
        rate=int(rate), frames=len(samples), channels=samples.shape[1], seconds=len(samples) / max(rate, 1),
        label=row["label"],
    )  # fmt: skip


def text(log: LiveLog, params: Params) -> Answer:
    """The texts of a value as they were logged, and joined; with `whole`, the entire text as a file."""
    from tbq.kinds.texts import joined

    table = rows_at(log, params, "texts")
    texts = [each or "" for each in values_of(table["text"])]
    text = joined(table)
    if params.flag("whole"):
        return Answer(text.encode("utf-8", "replace"), TEXT, headers=attachment(f"{params.text('tag')}.txt"))
    return json_answer(
        {
            "step": table["step"][0].as_py(),
            "wall_time": table["wall_time"][0].as_py(),
            "texts": [each[:_LONGEST] for each in texts[:10_000]],
            "text": text[:_LONGEST],
            "length": len(text),
            "cut": len(text) > _LONGEST,
        }
    )
