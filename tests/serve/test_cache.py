"""The one cache of the server: what it keeps, what it forgets, and that making a value blocks no other."""

from __future__ import annotations

import threading

from tbq.server.cache import AnswerCache


def test_the_value_used_longest_ago_goes_first() -> None:
    cache = AnswerCache()
    made: list[str] = []

    def value(key: str) -> str:
        return cache.of("kind", key, lambda: made.append(key) or key * 3, weight=len, limit=6)

    assert [value(key) for key in "abacb"] == ["aaa", "bbb", "aaa", "ccc", "bbb"]
    assert made == ["a", "b", "c", "b"]
    cache.put("kind", "large", "x", weight=100, limit=6)
    assert (cache.get("kind", "large"), cache.get("kind", "b")) == ("x", None)  # the newest stays
    assert cache.get("other", "large") is None


def test_a_value_that_is_being_made_blocks_no_other() -> None:
    cache = AnswerCache()
    began, go_on = threading.Event(), threading.Event()

    def slow() -> int:
        began.set()
        assert go_on.wait(30)
        return 1

    thread = threading.Thread(target=lambda: cache.of("kind", "slow", slow, limit=2))
    thread.start()
    assert began.wait(30)
    assert cache.of("kind", "quick", lambda: 2, limit=2) == 2
    go_on.set()
    thread.join(30)
    assert cache.get("kind", "slow") == 1
