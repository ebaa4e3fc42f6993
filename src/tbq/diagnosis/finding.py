"""A finding as a value, and the rule behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tbq.text import natural, printable, shown_path

SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """What the doctor reports; `code` is stable, `hint` says what to do."""

    code: str
    name: str
    severity: str
    message: str
    run: str | None = None
    path: str | None = None
    offset: int | None = None
    tag: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        path = None if self.path is None else shown_path(self.path)
        where = "".join(
            [
                f"run {self.run}: " if self.run is not None else "",
                f"{path}: " if path is not None and self.offset is None else "",
                f"{path} @ byte {self.offset}: " if path is not None and self.offset is not None else "",
                f"tag {self.tag}: " if self.tag is not None else "",
            ]
        )
        return printable(where + self.message)

    def order(self) -> tuple[int, str, list[tuple[int, float, str]], str, int, str]:
        """A sort key: the most important first, then by code and place.

        >>> findings = tbq.doctor("runs")
        >>> sorted(findings, key=tbq.Finding.order) == findings
        True
        """
        place = (natural(self.run or ""), self.path or "", self.offset or 0, self.tag or "")
        return (SEVERITIES.index(self.severity), self.code, *place)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, with the path as it is displayed.

        >>> tbq.doctor("runs")[0].to_dict()["severity"]
        'warning'
        """
        return {**asdict(self), "path": None if self.path is None else shown_path(self.path)}


#: what a check gives
Findings = Iterator[Finding]


@dataclass(frozen=True, slots=True)
class Rule:
    """What all findings of a check share."""

    code: str
    name: str
    severity: str

    def finding(
        self,
        message: str,
        *,
        run: str | None = None,
        path: str | None = None,
        offset: int | None = None,
        tag: str | None = None,
        hint: str | None = None,
        severity: str | None = None,
    ) -> Finding:
        return Finding(self.code, self.name, severity or self.severity, message, run, path, offset, tag, hint)
