"""Runs interleaved rounds of contestants, each in its own process, and makes the table of ratios."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from benchmarks import corpora

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).resolve().parent.parent
#: the figures of the last release: the key of a row → its ratio
RELEASED = ROOT / "benchmarks" / "released.json"
#: a figure that is worse than that of the last release by more than this share has slipped; the machine is noisy
SLIP = 0.15


class UnavailableError(Exception):
    """A benchmark cannot run on this machine: a package or a feature is missing."""


class Contestant(Protocol):
    """Something that can run round after round; a round answers with at least `cpu` and `wall` in seconds."""

    def start(self) -> None: ...
    def round(self) -> dict[str, Any]: ...
    def stop(self) -> None: ...


@dataclass
class Process:
    """A contestant that runs a round for each line on its stdin and answers with a line of JSON."""

    command: list[str]
    announces: bool = False  # says "ready" when its imports are done
    process: subprocess.Popen[str] | None = field(default=None, repr=False)
    words: IO[str] | None = field(default=None, repr=False)  # its stderr: a file never fills up, a pipe does

    def start(self) -> None:
        self.words = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed in stop)
        self.process = subprocess.Popen(
            self.command,
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.words,
        )
        if self.announces and self._answer() != "ready":
            raise UnavailableError(self._why())

    def round(self) -> dict[str, Any]:
        assert self.process is not None and self.process.stdin is not None
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise UnavailableError(self._why()) from None
        answer = self._answer()
        if not answer:
            raise UnavailableError(self._why())
        result: dict[str, Any] = json.loads(answer)
        return result

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None
        if self.words is not None:
            self.words.close()
            self.words = None

    def _answer(self) -> str:
        assert self.process is not None and self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def _why(self) -> str:
        assert self.process is not None and self.words is not None
        self.process.communicate()
        self.words.seek(0)
        lines = self.words.read().strip().splitlines()
        return lines[-1] if lines else f"exit code {self.process.returncode}"


def python(function: Callable[..., Callable[[], object]], *arguments: object) -> Process:
    """A contestant in Python: `function(*arguments)` imports, prepares, and returns the function to time.

    It must be importable by name, with plain arguments (paths become strings). For a result with a length, the
    length is reported as its rows; a dictionary is reported unchanged.
    """
    plain = [str(argument) if isinstance(argument, Path) else argument for argument in arguments]
    return Process(
        [
            sys.executable,
            "-m",
            "benchmarks.worker",
            function.__module__,
            function.__qualname__,
            json.dumps(plain),
        ],
        announces=True,
    )


@dataclass
class Anew:
    """A contestant in a new process for each round."""

    process: Process

    def start(self) -> None:
        """Nothing runs between rounds."""

    def round(self) -> dict[str, Any]:
        self.process.start()
        try:
            return self.process.round()
        finally:
            self.process.stop()

    def stop(self) -> None:
        """Nothing runs between rounds."""


@dataclass
class Timing:
    """The rounds of one contestant."""

    rounds: list[dict[str, Any]]

    def seconds(self, clock: str = "cpu", of: str = "median") -> float:
        values = [float(answer[clock]) for answer in self.rounds]
        return statistics.median(values) if of == "median" else min(values)

    def last(self, key: str) -> Any:
        return self.rounds[-1].get(key)


@dataclass
class Row:
    """A row of the table: a figure and its target."""

    what: str
    ours: str
    theirs: str
    figure: float
    want: str
    key: str  # tells it apart from all other rows, in every run
    released: float | None = None  # the figure of the last release

    @property
    def slipped(self) -> bool:
        """Whether the figure is clearly worse than in the last release. Which way is worse follows from the target."""
        if self.released is None or self.want[:2] not in (">=", "<="):
            return False
        if self.want.startswith(">="):
            return self.figure < self.released * (1 - SLIP)
        return self.figure > self.released * (1 + SLIP)

    @property
    def met(self) -> bool | None:
        match = re.fullmatch(r"(>=|<=)\s*([\d.]+)\s*x?", self.want)
        if match is None:
            return None
        limit = float(match[2])
        return self.figure >= limit if match[1] == ">=" else self.figure <= limit


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 10 else f"{value:.3f} s" if value >= 1 else f"{value * 1e3:.1f} ms"


def megabytes(value: float) -> str:
    return f"{value / 1e6:,.0f} MB"


class Bench:
    """The argument of each `bench_*.py`: corpora, timing, and the rows of the table."""

    def __init__(self, *, quick: bool = False, report: Callable[[str], None] | None = None) -> None:
        self.quick = quick
        self.rows: list[Row] = []
        self.times: list[tuple[str, str, Timing]] = []
        self.released: dict[str, float] = json.loads(RELEASED.read_text()) if RELEASED.exists() else {}
        self._report = report or (lambda line: print(line, file=sys.stderr, flush=True))

    def corpus(self, name: str) -> Path:
        """The directory of a corpus (see corpora.py), created if it does not exist."""
        return corpora.corpus(name)

    def corpus_in_memory(self, name: str) -> Path:
        """The same, with its files in the page cache: for measurements without a warm-up."""
        path = self.corpus(name)
        for file in filter(Path.is_file, path.rglob("*")):
            file.read_bytes()
        return path

    def attempt(self, name: str, run: Callable[[Bench], None]) -> None:
        """Run a benchmark; if it cannot run on this machine, report it and keep the other results."""
        try:
            run(self)
        except UnavailableError as why:
            self._report(f"{name} left out: {why}")

    def time(
        self,
        title: str,
        contestants: Mapping[str, Contestant],
        *,
        rounds: int = 9,
        warmup: int = 2,
        once: tuple[str, ...] = (),
    ) -> dict[str, Timing]:
        """Run the contestants in turn, round after round; those named in `once` have one round, unwarmed.

        A contestant that cannot run is reported and left out. With --quick: 3 rounds, 1 of warm-up, and none
        of those that have a single round because they are slow.
        """
        if self.quick:
            rounds, warmup = min(rounds, 3), min(warmup, 1)
            contestants = {name: each for name, each in contestants.items() if name not in once}
        results: dict[str, list[dict[str, Any]]] = {}
        running = dict(contestants)

        def attempt(name: str, action: Callable[[], object]) -> object:
            try:
                return action()
            except UnavailableError as why:
                self._report(f"{title}: {name} left out: {why}")
                running.pop(name).stop()
                return None

        try:
            for name, each in contestants.items():
                attempt(name, each.start)
            for number in range(-warmup, rounds):
                for name, each in list(running.items()):
                    if name in once and number != 0:
                        continue
                    answer = attempt(name, each.round)
                    if isinstance(answer, dict) and number >= 0:
                        results.setdefault(name, []).append(answer)
        finally:
            for each in contestants.values():
                each.stop()
        timings = {name: Timing(answers) for name, answers in results.items() if name in running}
        for name, timing in timings.items():
            self.times.append((title, name, timing))
            self._report(f"{title}: {name}: {self._line(timing)}")
        counts = {
            name: timing.last("rows") for name, timing in timings.items() if timing.last("rows") is not None
        }
        if len(set(counts.values())) > 1:
            self._report(f"{title}: NOT THE SAME WORK, rows: {counts}")
        return timings

    @staticmethod
    def _line(timing: Timing) -> str:
        cpu = f"CPU median {seconds(timing.seconds())}, best {seconds(timing.seconds(of='best'))}"
        wall = (
            f"wall median {seconds(timing.seconds('wall'))}, best {seconds(timing.seconds('wall', 'best'))}"
        )
        peak = timing.last("peak")
        return f"{cpu}; {wall}" + (f"; peak {megabytes(peak)}" if peak else "")

    def faster(
        self,
        what: str,
        timings: Mapping[str, Timing],
        ours: str,
        theirs: str,
        *,
        want: str = "",
        clock: str = "cpu",
        of: str = "median",
    ) -> None:
        """A row: how many times as fast `ours` is as `theirs`; `want` like ">= 10x", or "" for none."""
        if ours in timings and theirs in timings:
            a, b = timings[ours].seconds(clock, of), timings[theirs].seconds(clock, of)
            self.add(what, f"{ours} {seconds(a)}", f"{theirs} {seconds(b)}", b / a, want, beside=theirs)

    def cost(
        self,
        what: str,
        timings: Mapping[str, Timing],
        ours: str,
        base: str,
        *,
        want: str = "",
        clock: str = "cpu",
        of: str = "median",
    ) -> None:
        """A row: the time of `ours` as a multiple of the time of `base`; `want` like "<= 3x"."""
        if ours in timings and base in timings:
            a, b = timings[ours].seconds(clock, of), timings[base].seconds(clock, of)
            self.add(what, f"{ours} {seconds(a)}", f"{base} {seconds(b)}", a / b, want, beside=base)

    def add(
        self, what: str, ours: str, theirs: str, figure: float, want: str = "", *, beside: str = ""
    ) -> None:
        """A row of any figure. `beside` names the other contestant: several rows may be about the same work."""
        key = f"{what}, beside {beside}" if beside else what
        if key in {row.key for row in self.rows}:
            self._report(f"TWO ROWS ARE {key!r}: the release keeps one figure")
        row = Row(what, ours, theirs, figure, want, key, self.released.get(key))
        self.rows.append(row)
        self._report(f"  → {what}: {ours} | {theirs} | {row.figure:.2f}x | want {want or '–'}")

    def release(self) -> None:
        """Keep the figures of this run as those of the last release; rows that did not run keep theirs."""
        figures = self.released | {row.key: float(f"{row.figure:.3g}") for row in self.rows}
        RELEASED.write_text(json.dumps(figures, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


HEAD = ["what", "ours", "beside", "ratio", "released", "want", ""]


def ratio(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:,.0f}x" if figure >= 100 else f"{figure:.2f}x"


def cells(row: Row) -> list[str]:
    verdict = {True: "met", False: "MISSED", None: ""}[row.met] + (" SLIPPED" if row.slipped else "")
    return [
        row.what,
        row.ours,
        row.theirs,
        ratio(row.figure),
        ratio(row.released),
        row.want or "–",
        verdict.strip(),
    ]


def text(rows: list[Row]) -> str:
    """The table for a terminal."""
    lines = [HEAD, *map(cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    out = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([out[0], "  ".join("─" * width for width in widths), *out[1:]])


def markdown(rows: list[Row]) -> str:
    """The table for a README."""
    lines = [HEAD, ["---"] * len(HEAD), *map(cells, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
