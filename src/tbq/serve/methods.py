"""The method of a log that writes a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tbq.arguments import StrPath

if TYPE_CHECKING:
    from tbq.decode.options import OnError, Restarts
    from tbq.decode.reader import Reader
    from tbq.progress import Progress
    from tbq.select import Names, Steps


class Reports:
    """What `LogDir` has of this stage; it has the reader."""

    _reader: Reader

    def report(
        self,
        path: StrPath,
        *,
        title: str | None = None,
        text: str = "",
        tag: Names = None,
        run: Names = None,
        steps: Steps = None,
        by: str | None = None,
        band: Literal["std", "sem", "ci95", "minmax", "none"] = "std",
        smooth: float = 0.0,
        restarts: Restarts = "resume",
        threads: int | None = None,
        force: bool = False,
        progress: Progress | None = None,
        on_error: OnError = "warn",
    ) -> str:
        """Write the page of `tbq serve` with its data into one HTML file, to send to someone; returns the path.

        It has the runs, the curves of the chosen tags with the band of each group (`by` as in `plot`), thumbnails of
        images, texts, what the doctor finds, and `text` in Markdown at the top.

        >>> log.report("report.html", tag="val/*", by="hparam.lr", title="Learning rates")
        'report.html'
        """
        from tbq.serve.report import write_report

        return write_report(
            self._reader, path, title=title, text=text, tag=tag, run=run, steps=steps, by=by, band=band,
            smooth=smooth, restarts=restarts, threads=threads, force=force, progress=progress, on_error=on_error,
        )  # fmt: skip
