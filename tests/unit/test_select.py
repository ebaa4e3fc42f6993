"""Selections of runs, tags and steps."""

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbq.errors import SelectionError, TbqWarning, UsageError
from tbq.select import MAX_STEP, MIN_STEP, Selection, closest, steps

TAGS = ["loss[0]", "loss0", "loss1", "train/loss", "train/deep/loss", "val/acc", "notes/text_summary"]


def names(spec: object) -> list[str]:
    return Selection.of(spec).resolve(TAGS).names  # type: ignore[arg-type]


def test_nothing_chosen_is_everything_sorted() -> None:
    assert names(None) == sorted(TAGS)
    assert Selection.of(None).everything
    assert not Selection.of([]).everything


def test_a_star_crosses_the_slash() -> None:
    assert names("train/*") == ["train/deep/loss", "train/loss"]
    assert names("*loss") == ["train/deep/loss", "train/loss"]


def test_an_exact_name_wins_over_a_pattern() -> None:
    assert names("loss[0]") == ["loss[0]"]
    assert names("loss[1]") == ["loss1"]
    assert Selection.of("loss[0]").matches("loss0")  # judged alone it may be meant; `resolve` knows better


def test_a_regular_expression_matches_in_full() -> None:
    assert names("re:loss.") == ["loss0", "loss1"]
    assert names(r"re:.*/\w+") == ["notes/text_summary", "train/deep/loss", "train/loss", "val/acc"]
    with pytest.raises(UsageError, match="want a regular expression"):
        names("re:(")
    assert Selection.of("re:(").resolve(["re:(", "a"]).names == ["re:("]  # unless that is a name


def test_lists_keep_their_order_and_no_name_comes_twice() -> None:
    assert names(["val/acc", "*loss", "train/loss"]) == ["val/acc", "train/deep/loss", "train/loss"]
    assert Selection.of(["b", "a*", "c"]).exact == ["b", "c"]


def test_texts_are_found_without_torchs_suffix() -> None:
    assert names("notes") == ["notes/text_summary"]
    assert names("note?") == ["notes/text_summary"]
    assert names("re:notes") == ["notes/text_summary"]
    assert Selection.of("notes").matches("notes/text_summary")
    assert Selection.of("notes").resolve(["notes", "notes/text_summary"]).names == ["notes"]


def test_columns_keep_the_place_of_a_name_that_is_nowhere() -> None:
    assert Selection.of(["gone", "val/*", "nothing*"]).columns(TAGS) == ["gone", "val/acc"]


def test_what_matches_nothing_warns_and_names_the_closest() -> None:
    with pytest.warns(TbqWarning, match=r"no tag matches 'val/ac'; closest: val/acc"):
        assert Selection.of(["loss0", "val/ac"]).require(TAGS) == ["loss0"]


def test_nothing_left_is_an_error_that_shows_what_is_there() -> None:
    with pytest.raises(SelectionError, match="closest: val/acc") as caught:
        Selection.of("val/ac").require(TAGS, where="runs")
    assert caught.value.exit_code == 1
    assert "and 2 more" in str(caught.value)
    with pytest.raises(SelectionError, match="there is no run at all"):
        Selection.of("a", "run").require([])


def test_a_wrong_type_is_told() -> None:
    with pytest.raises(UsageError, match="tag: got 3 \\(int\\), want a name"):
        Selection.of([3])  # type: ignore[list-item]


def test_the_closest_of_many() -> None:
    many = [f"run_{i:05d}" for i in range(20_000)]
    assert closest("run_12345x", many)[0] == "run_12345"
    assert closest("LOSS", ["train/loss", "lr"]) == ["train/loss"]
    assert closest("zzz", ["loss"]) == []


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        (None, (MIN_STEP, MAX_STEP)),
        ("10:20", (10, 20)),
        (":20", (MIN_STEP, 20)),
        ("10:", (10, MAX_STEP)),
        (":", (MIN_STEP, MAX_STEP)),
        ("-5:-1", (-5, -1)),
        ("7", (7, 7)),
        (7, (7, 7)),
        ((1, 2), (1, 2)),
        ((None, 2), (MIN_STEP, 2)),
        ("1_000:2_000", (1000, 2000)),
        ((-(10**30), 10**30), (MIN_STEP, MAX_STEP)),
    ],
)
def test_steps(spec: object, want: tuple[int, int]) -> None:
    assert steps(spec) == want  # type: ignore[arg-type]


@pytest.mark.parametrize("spec", ["", "a:b", "1:2:3", "1.5:2", (1,), (1, 2, 3), ("1", "2"), (1.5, 2), True])
def test_wrong_steps(spec: object) -> None:
    with pytest.raises(UsageError, match=r"steps: got .*, want a step"):
        steps(spec)  # type: ignore[arg-type]


def test_steps_the_wrong_way_round() -> None:
    with pytest.raises(UsageError, match="contains no step"):
        steps("20:10")


tag = st.text("ab/[]*?0", min_size=1, max_size=6)


@given(st.lists(tag, max_size=4), st.lists(tag, max_size=10))
def test_resolve_takes_only_what_matches_lets_through(items: list[str], known: list[str]) -> None:
    selection = Selection.of(items)
    resolved = selection.resolve(known)
    assert set(resolved.names) <= {name for name in known if selection.matches(name)}
    assert len(set(resolved.names)) == len(resolved.names)
    assert all(item in resolved.names for item in items if item in known)
    assert {miss.item for miss in resolved.unmatched} <= set(items)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if resolved.names:
            assert selection.require(known) == resolved.names
        else:
            with pytest.raises(SelectionError):
                selection.require(known)


@given(st.text(max_size=8), st.text(max_size=8))
def test_a_plain_name_matches_itself_alone(name: str, other: str) -> None:
    if re.search(r"[*?\[]", name) or name.startswith("re:"):
        return
    resolved = Selection.of(name).resolve([other]).names
    assert resolved == ([other] if other in (name, f"{name}/text_summary") else [])
