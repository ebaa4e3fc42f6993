"""Hyperparameters: the three summaries that TensorBoard's hparams plugin reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq import wire
from tbq.arguments import described
from tbq.errors import UsageError
from tbq.write.arguments import as_number, as_tag, bad

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tbq.write.writer import SummaryWriter

Summaries = list[tuple[str, bytes]]

END = "_hparams_/session_end_info"


def encode(hparam_dict: Any, metric_dict: Any, hparam_domain_discrete: Any, group: str = "") -> Summaries:
    """(tag, SummaryMetadata) of experiment, session start and session end; `group` is that of the session."""
    for name, argument in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(argument, dict):
            raise bad(name, f"got {described(argument)}, want a dict")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise bad("hparam_domain_discrete", f"got {described(domains)}, want a dict of lists")
    for name, domain in domains.items():
        want = type(hparam_dict.get(name))
        if (
            name not in hparam_dict
            or not isinstance(domain, list | tuple)
            or not all(isinstance(choice, want) for choice in domain)
        ):
            raise bad(
                f"hparam_domain_discrete[{name!r}]",
                f"got {described(domain)}, want a list of the hparam's type",
            )
    values: dict[str, str | bool | float] = {}
    listed: dict[str, list[str | bool | float]] = {}
    for name, hparam in hparam_dict.items():
        as_tag(name, "hparam_dict")
        if hparam is None:
            continue
        values[name] = _value(hparam, f"hparam_dict[{name!r}]")
        if name in domains:
            listed[name] = [_value(choice, f"hparam_domain_discrete[{name!r}]") for choice in domains[name]]
    metrics = [as_tag(name, "metric_dict") for name in metric_dict]
    return [
        *wire.hparams(values, listed, metrics, group),
        (END, wire.hparams_end()),
    ]


def declare(writer: SummaryWriter, values: dict[str, Any], metrics: Iterable[str], step: Any = None) -> None:
    """Log hyperparameters to the run itself, and the names of the curves to compare them by, without any point.

    Their session ends when the writer does: until then, the run has not finished.
    """
    for tag, metadata in encode(values, dict.fromkeys(metrics), None)[:-1]:
        writer.add_summary(wire.value(tag, 0, b"", metadata), step)
    writer._file.has_hparams = True


def end(*, failed: bool) -> bytes:
    """The summary that says that the session of `declare` has ended."""
    return wire.value(END, 0, b"", wire.hparams_end(wire.FAILURE if failed else wire.SUCCESS))


def objectives(trial: Any) -> list[str]:
    """The tags of the objectives of an Optuna trial. A trial of no study, such as `FixedTrial`, has one."""
    study = getattr(trial, "study", None)
    count = 1 if study is None else len(study.directions)
    names = None if study is None else study.metric_names
    if names is None and count == 1:
        return ["objective"]
    return [f"objective/{name}" for name in names or range(count)]


def _value(hparam: Any, argument: str) -> str | bool | float:
    """The hyperparameter as a plain value of Python."""
    if isinstance(hparam, bool) or (type(hparam).__name__ in ("bool_", "bool") and hasattr(hparam, "dtype")):
        return bool(hparam)
    if isinstance(hparam, str):
        try:
            hparam.encode()
        except UnicodeEncodeError as error:
            raise bad(argument, f"has a lone surrogate at {error.start}") from None
        return str(hparam)
    try:
        return float(as_number(hparam, argument))
    except (UsageError, OverflowError):
        raise bad(argument, f"got {described(hparam)}, want a number, a bool or a str") from None
