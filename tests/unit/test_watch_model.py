"""The model of `tbq watch`, as plain data: states of runs, filters, sorting, pages, zoom."""

from __future__ import annotations

import itertools
import math

import pytest

from tbq.dashboard import screen
from tbq.dashboard.model import SMOOTHS, SORTS, Model, chosen
from tbq.dashboard.runs import ShownRun
from tbq.following.polling import Poll
from tbq.following.states import states_now
from tbq.following.view import LatestOfRun, LatestOfSeries
from tbq.plot.cells import plain
from tbq.plot.colours import PALETTE, colours

NOW = 1_000_000.0


def series(
    tag: str = "loss", value: float = 0.5, step: int = 100, wall: float = NOW, kind: str = "scalars"
) -> LatestOfSeries:
    """A series whose last 50 steps took 10 s each."""
    return LatestOfSeries(kind, tag, 51, step, wall, value, 50, step - 50, wall - 500.0, [])


def latest(*of_run: LatestOfSeries, ended: float = NOW) -> LatestOfRun:
    return LatestOfRun(NOW - 5000, ended, list(of_run))


def state_of(run: ShownRun, now: float) -> str:
    return states_now({"a": run}, now)["a"]


def model(**runs: LatestOfRun) -> Model:
    made = Model("runs", clock=lambda: NOW)
    made.take(Poll(tuple(runs), runs))
    return made


@pytest.mark.parametrize(
    ("age", "end", "value", "state"),
    [
        (0.0, None, 0.5, "running"),
        (199.0, None, 0.5, "running"),  # 20 pauses of 10 s
        (201.0, None, 0.5, "stalled"),
        (3601.0, None, 0.5, "finished"),
        (1.0, "finished", 0.5, "finished"),
        (1.0, "failed", 0.5, "crashed"),
        (1.0, None, math.nan, "diverged"),
        (1.0, None, math.inf, "diverged"),
        (1.0, "finished", math.nan, "diverged"),
        (1.0, "failed", math.nan, "diverged"),
        (-30.0, None, 0.5, "running"),  # a clock that is a little ahead
    ],
)
def test_state_of_a_run(age: float, end: str | None, value: float, state: str) -> None:
    run = ShownRun("a")
    of_run = latest(series(value=value, wall=NOW - age), ended=NOW - age)._replace(end=end or "")
    run.update(of_run, NOW)
    assert state_of(run, NOW) == state


def test_the_pause_is_that_of_the_last_session_and_of_a_series_that_has_one() -> None:
    resumed = series(wall=NOW - 300)._replace(
        rows=1000, earlier_rows=2, earlier_step=98, earlier_wall_time=NOW - 500
    )
    clock_went_back = series("acc")._replace(rows=2000, earlier_wall_time=NOW + 5)
    run = ShownRun("a")
    run.update(latest(resumed, clock_went_back, ended=NOW - 300), NOW)
    assert (run.pause, run.rate) == (100.0, 0.01)
    assert state_of(run, NOW) == "running"


def test_a_run_that_grows_is_running_whatever_its_clock_says() -> None:
    run = ShownRun("a")
    run.update(latest(series(wall=NOW - 90_000), ended=NOW - 90_000), NOW)
    assert state_of(run, NOW) == "finished"
    run.update(latest(series(step=101, wall=NOW - 89_990), ended=NOW - 89_990), NOW)
    assert state_of(run, NOW) == "running"
    assert state_of(run, NOW + 1000) == "stalled"


def test_a_log_without_times_runs_only_while_it_grows() -> None:
    run = ShownRun("a")
    untimed = latest(series(wall=math.nan), ended=math.nan)
    run.update(untimed, NOW, is_backlog=True)
    assert state_of(run, NOW) == "finished"  # as for tbq ls, however new its file is
    run.update(untimed, NOW)
    assert state_of(run, NOW) == "running"
    fresh = ShownRun("b")
    fresh.update(untimed, NOW)  # it began after the first poll
    assert state_of(fresh, NOW) == "running"


def test_a_clock_far_ahead_does_not_run_for_ever() -> None:
    run = ShownRun("a")
    run.update(latest(series(wall=NOW + 1e6), ended=NOW + 1e6), NOW)
    assert [state_of(run, NOW + age) for age in (0, 300, 4000)] == ["running", "stalled", "finished"]


def test_rate_and_step() -> None:
    run = ShownRun("a")
    run.update(latest(series(), series("val", step=7)), NOW)
    assert (run.step, run.rate, run.pause) == (100, 0.1, 10.0)


def test_an_unfinished_expression_chooses_nothing() -> None:
    assert chosen("re:[", ["loss"]) == []
    assert chosen("LOSS", ["loss[0]", "lr"]) == ["loss[0]"]


def test_sorting_runs() -> None:
    made = model(
        a=latest(series(value=3.0, step=5), ended=NOW - 9000),
        b=latest(series(value=1.0, step=50)),
        c=latest(series(value=math.nan, step=20)),
    )
    orders = {}
    for _ in range(5):
        orders[made.sort] = made.listed
        made.next_sort()
    assert orders == {
        "name": ["a", "b", "c"],
        "state": ["b", "a", "c"],
        "step": ["b", "c", "a"],
        "recent": ["b", "c", "a"],
        "value": ["b", "a", "c"],
    }


def test_runs_are_sorted_as_people_sort() -> None:
    made = model(**{name: latest(series()) for name in ("bs128", "bs16", "bs32")})
    assert made.listed == ["bs16", "bs32", "bs128"]
    made.take(Poll(("bs128", "bs16", "bs32", "bs8")))
    assert made.listed == ["bs8", "bs16", "bs32", "bs128"]


def test_runs_are_listed_before_they_are_read() -> None:
    made = Model("runs", clock=lambda: NOW)
    made.take(Poll(("a", "b"), left=5_000_000, is_backlog=True))
    assert (made.listed, made.states, made.loaded) == (["a", "b"], {}, False)
    assert "reading 5.0 MB" in plain([screen.header(made, 120)])
    assert "· b" in plain(screen.run_list(made, 40, 3, 0))
    for sort in SORTS:
        made.sort = sort
        made.refresh()
        assert made.listed == ["a", "b"]
    made.sort = "name"
    old = latest(series("m", wall=NOW - 9e4), ended=NOW - 9e4)
    made.take(Poll(("a", "b"), {"b": old}, left=2_000_000, is_backlog=True))
    assert (made.states, made.tag) == ({"b": "finished"}, "m")
    both = latest(series("loss", wall=NOW - 9e4), series("m", wall=NOW - 9e4), ended=NOW - 9e4)
    made.take(Poll(("a", "b"), {"a": both, "b": both}, is_backlog=True))
    assert made.states == {"a": "finished", "b": "finished"}, "what was there before is not seen to grow"
    assert (made.tag, made.loaded, made.left) == ("loss", True, 0), "nothing was chosen yet"
    made.take(Poll(("a", "b"), {"b": both}))
    assert made.states == {"a": "finished", "b": "running"}


def test_selection_survives_news_and_ends_with_its_run() -> None:
    made = model(a=latest(series()), b=latest(series()), c=latest(series()))
    made.move_run(1)
    made.hide()
    made.take(Poll(("a", "b", "c", "d"), {"d": latest(series())}))
    assert (made.run, made.hidden) == ("b", {"b"})
    made.take(Poll(("a", "c"), {}))
    assert (made.run, made.hidden, made.listed) == ("a", set(), ["a", "c"])
    made.take(Poll((), {}, exists=False))
    assert (made.run, made.tag, made.cards, made.exists) == (None, None, [], False)


def test_pages_and_full_screen() -> None:
    made = model(a=latest(*(series(f"t{i}") for i in range(12))))
    made.per_page = 5
    assert made.tags[9:] == ["t9", "t10", "t11"]  # digits are numbers
    assert (made.cards, made.page) == (["t0", "t1", "t2", "t3", "t4"], (1, 3))
    made.move_tag(11)
    assert (made.cards, made.page) == (["t10", "t11"], (3, 3))
    made.toggle_full()
    assert made.cards == ["t11"]
    made.back()
    assert not made.full


def test_losses_and_scores_come_before_learning_rates_and_the_rest() -> None:
    single = series("hparam/loss")._replace(rows=1)
    made = model(a=latest(single, *map(series, ("gpu", "lr", "train/loss", "val/acc", "val/loss"))))
    assert made.tags == ["val/acc", "val/loss", "train/loss", "gpu", "lr", "hparam/loss"]
    assert made.tag == "val/acc"


def test_pins_come_first_and_give_the_values() -> None:
    made = model(a=latest(series("x"), series("y"), series("z")))
    assert made.value_tags == ["x"]
    made.move_tag(2)
    made.pin()
    made.move_tag(1)
    assert (made.tags, made.value_tags, made.tag) == (["z", "x", "y"], ["z"], "x")
    made.pin()
    assert made.value_tags == ["z", "x"]
    made.pin()
    assert made.value_tags == ["z"]


def test_comparing_two_runs() -> None:
    made = model(a=latest(series()), b=latest(series()), c=latest(series()))
    made.compare()
    assert made.drawn == ["a", "b", "c"]
    made.move_run(2)
    made.compare()
    assert (made.drawn, made.curves_of("loss")) == (["a", "c"], ["a", "c"])
    made.take(Poll(("a", "b"), {}))
    assert made.drawn == ["a", "b"]  # one of the two is gone
    made.comparing = ["a", "b"]
    made.compare()
    assert made.comparing == []


def test_the_selected_run_is_always_drawn() -> None:
    made = model(**{f"r{i:03}": latest(series()) for i in range(100)})
    made.move_run(99)
    assert len(made.curves_of("loss")) == 40
    assert "r099" in made.curves_of("loss")


def test_zoom_keeps_the_end_and_pans() -> None:
    made = model(a=latest(series()))
    made.zoom_by(0.5, 0, 100)
    assert made.zoom == (50, 100)
    made.pan_by(-0.5, 0, 100)
    assert made.zoom == (25, 75)
    made.zoom_by(0.5, 0, 100)
    assert made.zoom == (37.5, 62.5)
    for _ in range(9):
        made.pan_by(0.25, 0, 100)
    assert made.zoom == (75, 100), "not past the data"
    for _ in range(30):
        made.pan_by(-0.25, 0, 100)
    assert made.zoom == (0, 25)
    made.zoom_by(2, 0, 100)
    assert made.zoom == (0, 50)
    made.zoom_by(2, 0, 100)
    assert made.zoom is None, "all of it is no zoom"
    made.pan_by(0.25, 0, 100)
    assert made.zoom is None
    made.zoom_by(0.5, 0, 100)
    made.next_axis()
    assert (made.axis, made.zoom) == ("relative", None)
    for begin, end in ((3, 3), (math.nan, math.nan)):
        made.zoom_by(0.5, begin, end)
        assert made.zoom is None


def test_smoothing_goes_round() -> None:
    made = Model("runs", smooth=0.55)
    seen = []
    for _ in SMOOTHS:
        made.next_smooth(1)
        seen.append(made.smooth)
    assert seen == [0.8, 0.9, 0.95, 0.99, 0.0, 0.3, 0.6]


def test_kinds_that_are_there() -> None:
    made = model(a=latest(series(), series("pic", kind="images"), series("say", kind="texts")))
    kinds = []
    for _ in range(4):
        made.show_kind(0)
        kinds.append((made.kind, made.tags))
    assert kinds == [("images", ["pic"]), ("texts", ["say"]), ("scalars", ["loss"]), ("images", ["pic"])]
    assert made.shown_run("pic") == "a"
    made.show_kind(4)
    assert made.cards == []


def test_colours_are_those_of_names_and_do_not_change() -> None:
    names = [f"run{i}" for i in range(25)]
    few, many = colours(names[:7]), colours(names)
    assert all(many[name] == colour for name, colour in few.items())
    assert len(set(few.values())) == 7
    assert set(many.values()) == set(PALETTE)
    assert colours(["x"]) == colours(["x"])


def test_a_filter_is_of_one_kind_and_shown() -> None:
    from tbq.dashboard.screen import header

    made = model(a=latest(series(), series("acc"), series("pic", kind="images")))
    made.tag_filter = "los*"
    made.refresh()
    assert made.tags == ["loss"]
    assert "/los* (1 of 2)" in "".join(span.text for span in header(made, 120))
    made.show_kind(0)
    assert (made.kind, made.tags, made.tag_filter) == ("images", ["pic"], "")
    assert "/los*" not in "".join(span.text for span in header(made, 120))
    made.tag_filter = "x"
    made.back()
    assert made.tag_filter == "" and made.tag_filters["scalars"] == "los*"


def test_many_runs_are_drawn_from_the_whole_list() -> None:
    made = model(**{f"r{i:03}": latest(series(value=math.nan if i == 77 else 1.0)) for i in range(100)})
    curves = made.curves_of("loss")
    assert len(curves) == 40 and {"r000", "r077"} <= {*curves} and curves == sorted(curves)
    assert max(int(b[1:]) - int(a[1:]) for a, b in itertools.pairwise(curves)) <= 3
