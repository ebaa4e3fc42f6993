"""The answers inside a report: the server's own, under the same addresses, in few bytes."""

from __future__ import annotations

import base64
import io
import json
import zlib
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tbq.errors import DependencyError, TbqError
from tbq.server.answers.decisions import configurations
from tbq.server.answers.health import report
from tbq.server.answers.media import keys, located
from tbq.server.answers.points import AXES
from tbq.server.http.encoding import FRAME, Answer, to_json
from tbq.server.http.params import Params
from tbq.server.http.routes import ROUTES

if TYPE_CHECKING:
    from tbq.server.live_log import LiveLog

LEVELS = (0.0, 0.6, 0.9, 0.98)  # smoothing weights that a reader can choose
_SHOWN = ("last", "min", "max", "best")  # statistics of a metric in the runs table
WIDTH = 600  # columns of a curve, as in the page's requests
_LEAST_WIDTH = 40
_CURVES = 2_300_000  # bytes of all curves, compressed
_OF_POINT = 3.4  # bytes of one column of one curve, compressed
_SMOOTHED = 2.6  # times as many if smoothed: 64-bit floats, and the raw curve
_IMAGES = 1_200_000  # bytes of all thumbnails
_IMAGE = 200_000  # bytes of the largest image that is embedded unchanged
_SIDE = 256  # pixels of a thumbnail
_TEXTS = 300_000  # characters of all texts


class Embedded:
    """The blocks of a page (`<script data-url=…>` elements), and remarks on data that was left out."""

    def __init__(self, log: LiveLog) -> None:
        self._log = log
        self.blocks: list[str] = []
        self.left_out: list[str] = []
        self.views: list[tuple[str, float]] = []  # the x axes and smoothing weights of the embedded curves

    def ask(self, path: str, *, key: dict[str, Any] | None = None, **params: Any) -> Answer:
        """Embed the answer to a request, under the address of `key` or of its own parameters."""
        answer = ROUTES[path].answer(
            self._log,
            Params([(name, str(value)) for name, value in params.items()], ROUTES[path].params),
        )
        self.add(path, params if key is None else key, answer)
        return answer

    def add(self, path: str, params: dict[str, Any], answer: Answer) -> None:
        """Embed an answer."""
        url = address(path, params)
        if answer.type == FRAME:
            body = base64.b64encode(_gzip(answer.body)).decode()
            self.blocks.append(_block(url, "application/octet-stream", body, 'data-gzip="1"'))
        elif answer.type.startswith(("image/", "text/csv")):
            body = base64.b64encode(answer.body).decode()
            self.blocks.append(_block(url, "application/octet-stream", body, f'data-type="{answer.type}"'))
        else:
            # So that no name or text of a log can end the element.
            safe = answer.body.decode().replace("<", "\\u003c").replace("\u2028", "\\u2028")
            self.blocks.append(_block(url, "application/json", safe))

    def json(self, path: str, value: Any, **params: Any) -> None:
        """Embed a value."""
        self.add(path, params, Answer(to_json(value)))

    def curves(self, tags: Sequence[str], by: str | None, band: str, smooth: float) -> None:
        """Embed the curves of these tags, of runs and of groups, with as many columns as fit.

        The first view is along steps with the requested smoothing; other axes and weights follow while there is room.
        """
        runs = max(len(self._log.shown()), 1)
        of_point = _OF_POINT * (_SMOOTHED if smooth else 1)
        width = int(min(max(_CURVES / max(len(tags), 1) / of_point / runs, _LEAST_WIDTH), WIDTH))
        if width < WIDTH:
            self.left_out.append(f"curves have {width} columns instead of {WIDTH}, to keep the file small")
        levels = [smooth, *(level for level in LEVELS if level != smooth)]
        views = [(x, level) for level in levels for x in AXES]
        room: float = _CURVES if width == WIDTH else 0
        plain = 0.0  # bytes of a view without smoothing, estimated from the last view
        for x, level in views:
            share = _SMOOTHED if level else 1.0
            if plain * share > room:
                break
            before = len(self.blocks)
            for tag in tags:
                self._curve(tag, x, level, width, by, band)
            size = sum(map(len, self.blocks[before:])) * 3 / 4  # base64 is a third longer
            room, plain = room - size, size / share
            self.views.append((x, level))
        if len(self.views) == 1:
            self.left_out.append("a choice of smoothing and of the x axis, to keep the file small")

    def _curve(self, tag: str, x: str, smooth: float, width: int, by: str | None, band: str) -> None:
        key = {"tag": tag, "width": WIDTH, "x": x, "smooth": written(smooth) if smooth else ""}
        self.ask("curves", key=key, tag=tag, width=width, x=x, smooth=smooth)
        if by is not None:
            group = {"group": by, "band": band}
            self.ask("curves", key={**key, **group}, tag=tag, width=WIDTH, x=x, smooth=smooth, **group)

    def metrics(self, tags: Sequence[str], by: str | None) -> None:
        """Embed the numbers of the runs table, its CSV file, and the verdict on its best two groups."""
        columns = [[tag, stat] for tag in tags for stat in _SHOWN]
        self.ask("metrics", key={}, columns=json.dumps(columns))
        lasts = [column for column in columns if column[1] == "last"]
        self.ask("summary.csv", key={}, columns=json.dumps(lasts), group=by or "")
        for tag, stat in columns if by else ():
            asked = {"tag": tag, "stat": stat, "runs": "*", "by": by or ""}
            answer = configurations(self._log, Params(list(asked.items()), tuple(asked)))
            # The page computes the groups' numbers from the table.
            self.json("configurations", {**json.loads(answer.body), "groups": []}, **asked)

    def health(self) -> None:
        """Embed the doctor's findings on the current files."""
        checkup = self._log.checkup
        checkup.examine()
        self.json("health", report(self._log, checkup))

    def images(self) -> None:
        """Embed a thumbnail of the last image of each tag and run."""
        room, left = _IMAGES, 0
        for tag in self._tags("images"):
            entries = []
            for run in self._having("images", tag):
                small = self._thumbnail(run, tag)
                if small is None or len(small[1].body) > room:
                    left += 1
                    continue
                step, answer = small
                room -= len(answer.body)
                entries.append({"id": self._log.id_of(run), "steps": [step], "counts": [1]})
                self.add("image", {"run": self._log.id_of(run), "tag": tag, "step": step, "index": 0}, answer)
            self.json("series", {"kind": "images", "tag": tag, "runs": entries}, kind="images", tag=tag)
        if left:
            self.left_out.append(f"{left:,} images, because they are unreadable or to keep the file small")

    def texts(self) -> None:
        """Embed the last text of each tag and run."""
        room, left = _TEXTS, 0
        for tag in self._tags("texts"):
            entries = []
            for run in self._having("texts", tag):
                params: dict[str, Any] = {"run": self._log.id_of(run), "tag": tag}
                answer = self._text(run, params)
                if answer is None or len(answer.body) > room:
                    left += 1
                    continue
                room -= len(answer.body)
                entries.append({"id": params["run"], "steps": [params["step"]]})
                self.add("text", params, answer)
            self.json("series", {"kind": "texts", "tag": tag, "runs": entries}, kind="texts", tag=tag)
        if left:
            self.left_out.append(f"{left:,} texts, because they are unreadable or to keep the file small")

    def _text(self, run: str, params: dict[str, Any]) -> Answer | None:
        """The last text of a tag, with its step added to `params`; None if it cannot be read."""
        try:
            params["step"] = keys(located(self._log, run, "texts"), params["tag"])[-1][0]
            answer = [(name, str(value)) for name, value in params.items()]
            return ROUTES["text"].answer(self._log, Params(answer, tuple(params)))
        except (TbqError, IndexError):
            return None

    def _tags(self, kind: str) -> list[str]:
        with self._log.lock:
            return [tag for tag, kinds, _ in self._log.index.totals() if kind in kinds]

    def _having(self, kind: str, tag: str) -> list[str]:
        with self._log.lock:
            return self._log.index.having(kind, tag, self._log.shown())

    def _thumbnail(self, run: str, tag: str) -> tuple[int, Answer] | None:
        try:
            values = located(self._log, run, "images")
            step, _, row = keys(values, tag)[-1]
            rows = values.arrow([row]).to_pylist()
        except (TbqError, IndexError):
            return None
        data = next((bytes(each["data"]) for each in rows if each["data"] is not None), None)
        kind = rows[0]["format"] if rows else None
        if data is None or kind not in ("png", "jpeg", "gif", "webp", "bmp"):
            return None
        small = shrunk(data)
        if small is not None:
            return step, small
        return (step, Answer(data, f"image/{kind}")) if len(data) <= _IMAGE else None


def shrunk(data: bytes) -> Answer | None:
    """A thumbnail of an image; None if it is small enough, or if Pillow is missing or cannot read it."""
    from tbq.export.pictures import picture

    try:
        image = picture(data)
        if max(image.size) <= _SIDE and len(data) <= _IMAGE // 4:
            return None
        image.thumbnail((_SIDE, _SIDE))
        if image.mode not in ("RGB", "L"):
            image = image.convert("RGB")
        stream = io.BytesIO()
        image.save(stream, "JPEG", quality=82)
    except (DependencyError, TbqError, OSError, ValueError, SyntaxError):
        return None
    return Answer(stream.getvalue(), "image/jpeg")


def written(number: float) -> str:
    """A number as JavaScript writes it.

    >>> written(0.6), written(1.0), written(1e-5), written(2.5e-7)
    ('0.6', '1', '0.00001', '2.5e-7')
    """
    plain = Decimal(repr(number))
    if abs(number) >= 1e-6 or number == 0:
        return format(plain, "f").removesuffix(".0")
    digits, _, exponent = format(plain, "e").partition("e")
    return f"{digits}e{int(exponent)}"


def address(path: str, params: dict[str, Any]) -> str:
    """The address of a request as the page writes it: parameters sorted by name, without empty ones.

    >>> address("curves", {"x": "step", "tag": "val/loss", "group": ""})
    'api/curves?tag=val%2Floss&x=step'
    """
    answer = sorted((name, str(value)) for name, value in params.items() if value not in (None, ""))
    query = "&".join(f"{name}={quote(value, safe=_UNRESERVED)}" for name, value in answer)
    return f"api/{path}?{query}" if query else f"api/{path}"


_UNRESERVED = "-_.!~*'()"  # the signs that encodeURIComponent does not escape


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def _block(url: str, kind: str, body: str, more: str = "") -> str:
    from html import escape

    extra = f" {more}" if more else ""
    return f'<script type="{kind}" data-url="{escape(url)}"{extra}>{body}</script>'
