"""How many tokens a text costs a language model, counted high, without the vocabulary of any model."""

from __future__ import annotations

import re

_PARTS = re.compile(r"[A-Za-z]+|[0-9]+|\n+|[^\S\n]{2,}|[^\S\n]|[\x21-\x7e]|.")


def tokens(text: str) -> int:
    """At least as many tokens as the usual vocabularies need for answers such as ours.

    A token has about three letters or two digits; a sign is a token, and so is each byte outside ASCII. Single spaces
    belong to the next word.

    >>> tokens("val/loss 0.1939"), tokens("é"), tokens("")
    (7, 2, 0)
    """
    return sum(map(_cost, _PARTS.findall(text)))


def _cost(part: str) -> int:
    first = part[0]
    if first == " " and len(part) == 1:
        return 0
    if not part.isascii():
        return len(part.encode("utf-8", "surrogatepass"))
    if first.isalpha():
        return 1 if len(part) < 5 else -(-len(part) // 3)
    if first.isdigit():
        return -(-len(part) // 2)
    return 1


def beginning(text: str, most: int) -> str:
    """The start of a text that costs at most this many tokens.

    >>> beginning("one two three", 2)
    'one two '
    """
    total = end = 0
    for match in _PARTS.finditer(text):
        total += _cost(match[0])
        if total > most:
            return text[:end]
        end = match.end()
    return text
