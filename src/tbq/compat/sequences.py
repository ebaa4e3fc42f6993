"""The sequences that EventAccumulator returns in place of lists: they create events on access."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from tbq.compat.events import ScalarEvent

if TYPE_CHECKING:
    from tbq._core import ValueRows

_T = TypeVar("_T")

#: The rows of `ScalarEvents`, as the core writes them.
SCALAR_DTYPE = np.dtype((np.record, [("wall_time", "<f8"), ("step", "<i8"), ("value", "<f8")]))
_AT_ONCE = 1 << 16  # events created at a time
_scalar_event = functools.partial(tuple.__new__, ScalarEvent)


class ScalarEvents(np.ndarray[Any, Any]):
    """The events of a scalar tag: behaves like a list, and is an array of records for NumPy and pandas.

    `pd.DataFrame(events)`, `np.asarray(events)["value"]` and `len(events)` create no events.
    """

    __hash__ = None  # like a list

    def __new__(cls, rows: np.ndarray[Any, np.dtype[np.uint8]]) -> ScalarEvents:
        """`rows` holds the bytes of the events; the new object owns them."""
        return super().__new__(cls, (len(rows) // SCALAR_DTYPE.itemsize,), SCALAR_DTYPE, rows)

    @property
    def __class__(self) -> type:
        """Makes `isinstance(events, list)` true."""
        return list if self._is_list else ScalarEvents

    @__class__.setter
    def __class__(self, _other: type) -> None:
        raise TypeError("the class of events cannot be changed")

    @property
    def _is_list(self) -> bool:
        """Whether this holds events; arrays that NumPy derives from it may not."""
        return self.ndim == 1 and self.dtype.names == SCALAR_DTYPE.names

    @property
    def _plain(self) -> Any:
        return self.view(np.ndarray)

    def __getitem__(self, key: Any) -> Any:
        if not self._is_list or isinstance(key, str):
            return self._plain[key]
        if isinstance(key, slice):
            return super().__getitem__(key).copy()
        try:
            index = operator.index(key)
        except TypeError:
            return super().__getitem__(key)
        try:
            return _scalar_event(self._plain[index].item())
        except IndexError:
            raise IndexError("list index out of range") from None

    def __iter__(self) -> Iterator[Any]:
        plain = self._plain
        if not self._is_list:
            yield from plain
            return
        for start in range(0, len(plain), _AT_ONCE):
            yield from map(_scalar_event, plain[start : start + _AT_ONCE].tolist())

    def __reversed__(self) -> Iterator[Any]:
        return iter(self[::-1])

    def __bool__(self) -> bool:
        return len(self) > 0

    def __eq__(self, other: object) -> Any:
        if not self._is_list:
            return self._plain == other
        if isinstance(other, ScalarEvents) and other._is_list:
            return len(self) == len(other) and all(
                _alike(self[name], other[name]) for name in self.dtype.names
            )
        if isinstance(other, list | Events):
            return len(self) == len(other) and list(self) == list(other)
        return self._plain == other if isinstance(other, np.ndarray) else NotImplemented

    def __ne__(self, other: object) -> Any:
        if not self._is_list or (isinstance(other, np.ndarray) and not isinstance(other, ScalarEvents)):
            return self._plain != other
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    def __contains__(self, item: object) -> bool:
        return any(item == event for event in self)

    def __add__(self, other: Any) -> Any:
        return [*self, *other] if isinstance(other, list | Events | ScalarEvents) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return [*other, *self] if isinstance(other, list | Events) else NotImplemented

    def __iadd__(self, other: Any) -> Any:
        return [*self, *other]

    def __mul__(self, times: Any) -> Any:
        return list(self) * times

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return repr(list(self))

    __str__ = __repr__

    def index(self, item: object, *bounds: int) -> int:
        return list(self).index(item, *bounds)

    def count(self, item: object) -> int:
        return list(self).count(item)


def _changing(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of lists that changes the events."""

    @functools.wraps(method)
    def change(self: ScalarEvents, *args: Any, **options: Any) -> Any:
        items = list(self)
        result = method(items, *args, **options)
        rows = np.array([tuple(item) for item in items], SCALAR_DTYPE)
        # As unpickling does: the only way to give this object other memory, whatever owns its current memory.
        self.__setstate__((1, rows.shape, rows.dtype, False, rows.tobytes()))  # type: ignore[arg-type]
        return result

    return change


for _name in ("append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort", "__delitem__"):
    setattr(ScalarEvents, _name, _changing(getattr(list, _name)))
Sequence.register(ScalarEvents)


def _alike(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Whether two columns are equal, with NaN equal to NaN: a list that contains NaN equals itself."""
    same = left == right
    if left.dtype.kind == "f":
        same |= np.isnan(left) & np.isnan(right)
    return bool(same.all())


class Events(MutableSequence[_T]):
    """The events of a tag of any other kind, as a list."""

    def __init__(self, rows: ValueRows, make: Callable[[float, int, bytes], _T]) -> None:
        self._rows = rows
        self._make = make
        self._made: dict[int, _T] = {}
        self._items: list[_T] | None = None

    @property
    def __class__(self) -> type:
        """Makes `isinstance(events, list)` true."""
        return list

    @__class__.setter
    def __class__(self, _other: type) -> None:
        raise TypeError("the class of events cannot be changed")

    def _list(self) -> list[_T]:
        """All events, from now on as a list."""
        if self._items is None:
            self._items = [self._at(index) for index in range(len(self._rows))]
        return self._items

    def _at(self, index: int) -> _T:
        if index not in self._made:
            self._made[index] = self._make(*self._rows.row(index))
        return self._made[index]

    def __len__(self) -> int:
        return len(self._rows) if self._items is None else len(self._items)

    @overload
    def __getitem__(self, key: int) -> _T: ...
    @overload
    def __getitem__(self, key: slice) -> list[_T]: ...
    def __getitem__(self, key: int | slice) -> _T | list[_T]:
        if self._items is not None:
            return self._items[key]
        places = range(len(self._rows))
        if isinstance(key, slice):
            return [self._at(index) for index in places[key]]
        try:
            return self._at(places[key])
        except IndexError:
            raise IndexError("list index out of range") from None

    def __setitem__(self, key: Any, value: Any) -> None:
        self._list()[key] = value

    def __delitem__(self, key: int | slice) -> None:
        del self._list()[key]

    def insert(self, index: int, value: _T) -> None:
        self._list().insert(index, value)

    def sort(self, *, key: Callable[[_T], Any] | None = None, reverse: bool = False) -> None:
        self._list().sort(key=key, reverse=reverse)

    def copy(self) -> list[_T]:
        return self._list().copy()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Events):
            other = other._list()
        return self._list() == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # like a list

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other] if isinstance(other, list | Events | ScalarEvents) else NotImplemented

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __mul__(self, times: int) -> list[_T]:
        return self._list() * times

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._list(),)

    def __repr__(self) -> str:
        return repr(self._list())
