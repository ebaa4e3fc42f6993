"""Hyperparameters: the three summaries that TensorBoard's hparams plugin reads."""

from __future__ import annotations

import struct
from typing import Any

from tbq.arguments import described
from tbq.errors import UsageError
from tbq.write import wire
from tbq.write.arguments import as_number, as_tag, bad

_STRING, _BOOL, _FLOAT64 = 1, 2, 3
_SUCCESS = 1

Summaries = list[tuple[str, bytes]]


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
    infos, session = b"", b""
    for name, hparam in hparam_dict.items():
        as_tag(name, "hparam_dict")
        if hparam is None:
            continue
        kind, value = _value(hparam, f"hparam_dict[{name!r}]")
        session += wire.message(1, wire.text(1, name), wire.message(2, value))
        domain = domains.get(name)
        listed = b""
        if domain is not None:
            members = [_value(choice, f"hparam_domain_discrete[{name!r}]")[1] for choice in domain]
            listed = wire.message(5, *(wire.message(1, member) for member in members))
        infos += wire.message(4, wire.text(1, name), wire.integer(4, kind), listed)
    for name in metric_dict:
        infos += wire.message(5, wire.message(1, wire.text(2, as_tag(name, "metric_dict"))))
    return [
        ("_hparams_/experiment", _metadata(wire.message(2, infos))),
        ("_hparams_/session_start_info", _metadata(wire.message(3, session + wire.text(4, group)))),
        ("_hparams_/session_end_info", _metadata(wire.message(4, wire.integer(1, _SUCCESS)))),
    ]


def _value(hparam: Any, argument: str) -> tuple[int, bytes]:
    """DataType and google.protobuf.Value; in a oneof, zero and false are encoded too."""
    if isinstance(hparam, bool) or (type(hparam).__name__ in ("bool_", "bool") and hasattr(hparam, "dtype")):
        return _BOOL, wire.varint(4 << 3) + wire.varint(int(bool(hparam)))
    if isinstance(hparam, str):
        try:
            return _STRING, wire.message(3, hparam.encode())
        except UnicodeEncodeError as error:
            raise bad(argument, f"has a lone surrogate at {error.start}") from None
    try:
        number = float(as_number(hparam, argument))
    except (UsageError, OverflowError):
        raise bad(argument, f"got {described(hparam)}, want a number, a bool or a str") from None
    return _FLOAT64, wire.varint(2 << 3 | 1) + struct.pack("<d", number)


def _metadata(content: bytes) -> bytes:
    return wire.metadata("hparams", content)
