"""Numbers as text: the shortest form that reads back, as Python and NumPy print it."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tbq._core import float_text

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_doubles_print_as_repr(value: float) -> None:
    assert float_text(value, narrow=False) == repr(value)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_values_print_as_float32_does(value: float) -> None:
    text = float_text(value)
    assert np.float32(text) == np.float32(value)
    if value != math.floor(value):
        assert text == repr(float(str(np.float32(value))))


@given(finite)
def test_what_is_printed_reads_back_to_what_was_logged(value: float) -> None:
    back = float(float_text(value))
    with np.errstate(over="ignore"):
        is_float32 = float(np.float32(value)) == value
    assert back == value or (is_float32 and np.float32(back) == np.float32(value))


@given(st.integers(-(10**16) + 2, 10**16 - 2))
def test_whole_numbers_keep_all_digits(value: int) -> None:
    assert float_text(float(value)) == f"{int(float(value))}.0"


@given(st.integers(2**52, 2**53 - 1).map(lambda bits: bits / 2**22))
def test_wall_times_print_as_repr(value: float) -> None:
    assert float_text(value, narrow=False) == repr(value)


@given(st.integers(2**30, 2**31 - 1), st.integers(0, 2**8 - 1), st.sampled_from([14, 15, 0, -1]))
def test_wall_times_halfway_between_decimals_or_before_a_second(second: int, part: int, shift: int) -> None:
    fraction = 2**22 - 1 - part if shift < 0 else part << shift
    value = second + (fraction % 2**22) / 2**22
    assert float_text(value, narrow=False) == repr(value)


@given(st.integers(2**30, 2**31 - 1), st.integers(0, 10**7 - 1), st.integers(1, 7))
def test_wall_times_of_few_decimals(second: int, decimals: int, places: int) -> None:
    value = float(f"{second}.{decimals % 10**places:0{places}d}")
    assert float_text(value, narrow=False) == repr(value)
