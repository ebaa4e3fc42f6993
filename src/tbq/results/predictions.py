"""Predictions with their labels as a table: from arrays, or batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from tbq.arguments import bad, choice
from tbq.arrays import raw, widen
from tbq.errors import UsageError, warn
from tbq.results.outputs import (
    Activation,
    Task,
    activated,
    are_one_hot,
    are_probabilities,
    are_whole,
    sum_to_one,
    task_of,
    unknown,
)
from tbq.results.rows import Rows

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tbq.table import Table

    Array = NDArray[Any]


def predictions(
    outputs: Any,
    *,
    labels: Any = None,
    classes: Sequence[str] | None = None,
    ids: Any = None,
    task: Task | None = None,
    activation: Activation | None = None,
    threshold: float = 0.5,
) -> Table | Rows:
    """One row per example: `id, label, predicted, confidence`, then one column per class.

    If the outputs are not probabilities, such as logits without `activation`, the column is named `score` instead of
    `confidence`.

    `outputs` is an array or tensor, or an iterator of batches: arrays, or tuples `(outputs, labels)` or
    `(outputs, labels, ids)`. Arrays give a `Table`; an iterator gives `Rows`, which are computed while they are
    written, in bounded memory. With `classes`, `label` and `predicted` are names; otherwise they are numbers.

    The task follows from the shapes, or from `task`:

    - `multiclass`: outputs (n, classes); labels are class numbers, names or one-hot rows. `confidence` is the
      largest output. If there is one integer per example, it is the predicted class.
    - `binary`: outputs (n,) or (n, 1) with labels 0 and 1. Outputs of at least `threshold` predict class 1.
    - `multilabel`: outputs (n, classes); labels are rows of 0 and 1. `predicted` lists all classes with outputs of
      at least `threshold`, `confidence` is the largest output.
    - `regression`: any other numbers: `id, label, predicted, error`, numbered if an example has several.

    `activation="softmax"` or `"sigmoid"` turns logits into probabilities, which are then compared with `threshold`.
    Binary logits without it have no columns for the classes, only the score.

    >>> table = predictions([[0.1, 0.9], [0.8, 0.2]], labels=[1, 0], classes=["cat", "dog"])
    >>> table.to_arrow().to_pylist()[0]
    {'id': 0, 'label': 'dog', 'predicted': 'dog', 'confidence': 0.9, 'cat': 0.1, 'dog': 0.9}
    """
    if task is not None:
        choice("task", task, get_args(Task))
    if activation is not None:
        choice("activation", activation, get_args(Activation))
    if isinstance(classes, str):
        raise bad("classes", classes, "a list of names")
    layout = _Layout(list(classes) if classes is not None else None, task, activation, threshold)
    if not is_stream(outputs):
        from tbq.table import Table

        batch = _Batch("", outputs, labels, ids)
        import pyarrow as pa

        return Table(pa.Table.from_batches([layout.record(batch)]), kind="predictions")
    stream = _stream(outputs, labels, ids)
    used = False

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal used
        if used:
            raise UsageError(
                "the batches are used up: an iterator can be read only once",
                hint="call predictions() again, or keep the result of to_table()",
            )
        used = True
        waiting: list[_Batch] = []
        for batch in stream:
            if layout.width is None:
                waiting.append(batch)
                if batch.decides:
                    yield from layout.first(waiting)
            elif len(batch.outputs):
                yield layout.record(batch)
        if not waiting:
            raise UsageError("got no batches", hint="pass at least one batch of outputs")
        if layout.width is None:
            yield from layout.first(waiting)

    return Rows("predictions", batches)


def is_stream(outputs: Any) -> bool:
    """Whether outputs come in batches, as from iterators and loaders but not from arrays and lists."""
    return not (hasattr(outputs, "shape") or isinstance(outputs, Sequence | Mapping)) and hasattr(
        outputs, "__iter__"
    )


@dataclass
class _Batch:
    """A batch as passed, with its name for messages."""

    name: str
    raw_outputs: Any
    raw_labels: Any = None
    raw_ids: Any = None
    start: int = 0

    outputs: Array = field(init=False)
    labels: Array | None = field(init=False)
    ids: Array = field(init=False)

    def __post_init__(self) -> None:
        self.outputs = self._array("outputs", self.raw_outputs)
        if self.outputs.ndim == 0:
            raise UsageError(f"{self.name}outputs are a single number, want an array")
        size = len(self.outputs)
        self.labels = None if self.raw_labels is None else self._array("labels", self.raw_labels)
        if self.raw_ids is None:
            self.ids = np.arange(self.start, self.start + size)
        else:
            self.ids = self._array("ids", self.raw_ids)
        for what, array in (("labels", self.labels), ("ids", self.ids)):
            if array is not None and (array.ndim == 0 or len(array) != size):
                other = len(array) if array.ndim else 1
                raise UsageError(f"{self.name}{size} outputs but {other} {what}, want the same number")

    @property
    def decides(self) -> bool:
        """Whether this batch determines the layout: an empty batch, or one of only NaN, does not."""
        flat = self.outputs.reshape(len(self.outputs), -1) if len(self.outputs) else self.outputs
        return bool(flat.size) and bool((~unknown(flat)).any())

    def _array(self, what: str, values: Any) -> Array:
        try:
            array = widen(*raw(values))
        except ValueError:
            raise UsageError(
                f"{self.name}the rows of {what} differ in length",
                hint="every row needs the same number of columns",
            ) from None
        if array.dtype == object:
            texts = array.ndim == 1 and all(isinstance(item, str) for item in array)
            if not texts:
                raise UsageError(
                    f"{self.name}{what} are Python objects, want numbers", hint="pass plain arrays"
                )
            array = array.astype(str)
        return array


def _stream(outputs: Iterable[Any], labels: Any, ids: Any) -> Iterator[_Batch]:
    beside = [None if each is None else iter(each) for each in (labels, ids)]
    start = number = 0
    for number, item in enumerate(outputs, 1):
        name = f"batch {number - 1}: "
        parts = item if isinstance(item, tuple) else (item,)
        if not 1 <= len(parts) <= 3:
            raise UsageError(
                f"{name}a tuple of {len(parts)}, want (outputs, labels) or (outputs, labels, ids)"
            )
        values: list[Any] = [*parts, *[None] * (3 - len(parts))]
        for place, (what, more) in enumerate(zip(("labels", "ids"), beside, strict=True), 1):
            if more is not None:
                if values[place] is not None:
                    raise UsageError(f"{name}{what} are given both in the batch and as an argument")
                values[place] = next(more, None)
                if values[place] is None:
                    raise UsageError(f"got {number - 1} batches of {what}, fewer than of outputs")
        batch = _Batch(name, values[0], values[1], values[2], start)
        start += len(batch.outputs)
        yield batch
    for what, more in zip(("labels", "ids"), beside, strict=True):
        if more is not None and next(more, None) is not None:
            raise UsageError(f"there are more batches of {what} than of outputs ({number})")


@dataclass
class _Layout:
    """How batches become rows: the first batch with known outputs decides for all batches.

    Batches give the same rows as all examples at once. A later batch that needs another layout is an error.
    """

    classes: list[str] | None
    task: Task | None
    activation: Activation | None
    threshold: float
    width: int | None = None
    probable: bool | None = None  # whether outputs are probabilities, judged by the first batch
    labelled: bool = False
    schema: pa.Schema | None = None

    def first(self, batches: Sequence[_Batch]) -> list[pa.RecordBatch]:
        """The rows of the first batches. The last of them decides; an empty batch does so only if all are empty."""
        *before, last = [batch for batch in batches if len(batch.outputs)] or batches[-1:]
        decided = self.record(last)
        return [*map(self.record, before), decided]

    def record(self, batch: _Batch) -> pa.RecordBatch:
        """The rows of a batch."""
        import pyarrow as pa

        outputs = batch.outputs
        if outputs.dtype.kind not in "biuf":
            raise UsageError(f"{batch.name}outputs are {outputs.dtype}, want numbers")
        if outputs.ndim > 2:
            raise UsageError(
                f"{batch.name}outputs have shape {outputs.shape}, want one number or one row per example",
                hint="reshape to (examples, classes) first",
            )
        flat = outputs if outputs.ndim == 2 else outputs[:, None]
        if len(flat) and not flat.shape[1]:
            raise UsageError(f"{batch.name}outputs have shape {outputs.shape}, which holds no numbers")
        if self.activation is not None:
            flat = activated(flat, self.activation)
        if self.width is None:
            self.task = self.task or task_of(flat, batch.labels, self.classes)
        self._agree(batch, flat.shape[1])
        self._judge(batch, flat)
        if self.task == "regression":
            columns = self._regression(batch, flat)
        elif self.task == "binary":
            columns = self._binary(batch, flat)
        elif self.task == "multilabel":
            columns = self._multilabel(batch, flat)
        else:
            columns = self._multiclass(batch, flat)
        table = {"id": batch.ids, **columns}
        if self.schema is None:
            record = pa.RecordBatch.from_pydict({name: _arrow(values) for name, values in table.items()})
            self.schema = record.schema
            return record
        try:
            arrays = [
                _exactly(_arrow(values), f.type)
                for values, f in zip(table.values(), self.schema, strict=True)
            ]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            raise UsageError(
                f"{batch.name}its types differ from those of earlier batches",
                hint="give all batches one dtype, and name the task: task= (--task)",
            ) from None
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _agree(self, batch: _Batch, width: int) -> None:
        if self.width is None:
            self.width, self.labelled = width, batch.labels is not None
            named = 2 if self.task == "binary" else width
            scores = not (self.task == "multiclass" and batch.outputs.dtype.kind in "iu" and width == 1)
            if self.classes is not None and scores and len(self.classes) != named:
                raise UsageError(f"{len(self.classes)} classes for {named} columns of outputs")
            if self.classes is not None and len(set(self.classes)) != len(self.classes):
                raise UsageError("a class occurs twice in classes")
        elif width != self.width:
            raise UsageError(
                f"{batch.name}{width} columns of outputs, but earlier batches have {self.width}",
                hint="every batch must have the same classes",
            )
        if self.labelled != (batch.labels is not None):
            raise UsageError(
                f"{batch.name}labels {'missing' if self.labelled else 'given'}, unlike in earlier batches"
            )

    def _judge(self, batch: _Batch, flat: Array) -> None:
        """Check whether outputs are probabilities; the first batch decides how the columns are named."""
        codes = self.task == "multiclass" and flat.dtype.kind in "iu" and flat.shape[1] == 1
        if self.task == "regression" or codes:
            return
        rows = flat[~unknown(flat)]
        probable = are_probabilities(rows) and (
            self.task != "multiclass" or self.activation is not None or sum_to_one(rows)
        )
        if self.probable is None:
            self.probable = probable
            if not probable and self.task in ("binary", "multilabel"):
                warn(
                    f"the outputs are not probabilities, but are compared with threshold={self.threshold:g}; "
                    "for logits add activation='sigmoid' (--activation sigmoid)"
                )
        elif self.probable and not probable:
            raise UsageError(
                f"{batch.name}the outputs are not probabilities, but those of earlier batches are",
                hint="for logits add activation='softmax' or 'sigmoid' (--activation)",
            )

    @property
    def _confidence(self) -> str:
        """The name of the column with the confidence."""
        return "confidence" if self.probable else "score"

    def _names(self, count: int) -> list[str]:
        return self.classes if self.classes is not None else [f"class_{n}" for n in range(count)]

    def _multiclass(self, batch: _Batch, flat: Array) -> dict[str, Any]:
        if batch.outputs.dtype.kind in "iu" and flat.shape[1] == 1:  # the classes themselves, without scores
            best, scores = flat[:, 0], {}
            confidence: Any = None
            count = len(self.classes) if self.classes is not None else None
        else:
            count = flat.shape[1]
            best = flat.argmax(axis=1) if count else np.zeros(0, np.int64)
            confidence = flat.max(axis=1) if count else np.zeros(0)
            scores = dict(zip(self._names(count), flat.T, strict=True))
        columns: dict[str, Any] = {}
        if batch.labels is not None:
            columns["label"] = self._class(batch, self._label_codes(batch, count), count)
        columns["predicted"] = self._class(batch, best, count, "predicted classes")
        if confidence is not None:
            columns[self._confidence] = confidence
        return self._free(columns, scores)

    def _label_codes(self, batch: _Batch, count: int | None) -> Array:
        labels = batch.labels
        assert labels is not None
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim == 2:
            if labels.shape[1] != count or not are_one_hot(labels):
                raise UsageError(
                    f"{batch.name}labels have shape {labels.shape} and are not one-hot in {count} classes",
                    hint="for several classes per example use task='multilabel' (--task multilabel)",
                )
            return np.asarray(labels.argmax(axis=1))
        if labels.ndim > 2:
            raise UsageError(f"{batch.name}labels have shape {labels.shape}, want one class per example")
        return labels

    def _class(self, batch: _Batch, codes: Array, count: int | None, what: str = "labels") -> Any:
        """Class numbers as names, if there are names; names are checked and kept."""
        if codes.dtype.kind in "US":
            if self.classes is not None:
                strange = sorted(set(codes.tolist()) - set(self.classes))
                if strange:
                    raise UsageError(
                        f"{batch.name}label {strange[0]!r} is not one of the classes {self.classes[:10]}"
                    )
            return codes.tolist()
        if not are_whole(codes):
            raise UsageError(
                f"{batch.name}{what} are not integers, want class numbers",
                hint="or task='regression' (--task regression)",
            )
        codes = codes.astype(np.int64)
        if count is not None and codes.size and (codes.min() < 0 or codes.max() >= count):
            code = int(codes.min()) if codes.min() < 0 else int(codes.max())
            raise UsageError(f"{batch.name}{what} contain {code}, want 0 to {count - 1} for {count} classes")
        return [self.classes[code] for code in codes] if self.classes is not None else codes

    def _binary(self, batch: _Batch, flat: Array) -> dict[str, Any]:
        if flat.shape[1] != 1:
            raise UsageError(f"{batch.name}{flat.shape[1]} outputs per example, want one for task='binary'")
        score = flat[:, 0].astype(np.float64) if flat.dtype.kind != "f" else flat[:, 0]
        chosen = score >= self.threshold
        columns: dict[str, Any] = {}
        if batch.labels is not None:
            columns["label"] = self._class(batch, self._label_codes(batch, 2), 2)
        columns["predicted"] = self._class(batch, chosen.astype(np.int64), 2)
        if not self.probable:
            return columns | {self._confidence: score}
        columns[self._confidence] = np.where(chosen, score, 1 - score)
        return self._free(columns, dict(zip(self._names(2), (1 - score, score), strict=True)))

    def _multilabel(self, batch: _Batch, flat: Array) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        count = flat.shape[1]
        if batch.labels is not None:
            labels = batch.labels
            if labels.shape != flat.shape or not np.isin(labels, (0, 1)).all():
                raise UsageError(
                    f"{batch.name}labels of shape {labels.shape}, want rows of 0 and 1 of shape {flat.shape}"
                )
            columns["label"] = self._sets(labels != 0)
        columns["predicted"] = self._sets(flat >= self.threshold)
        columns[self._confidence] = flat.max(axis=1) if count else np.zeros(len(flat))
        return self._free(columns, dict(zip(self._names(count), flat.T, strict=True)))

    def _sets(self, chosen: Array) -> pa.Array:
        """The chosen classes of each row as a list."""
        import pyarrow as pa

        offsets = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]).astype(np.int32)
        codes = pa.array(np.nonzero(chosen)[1])
        names = codes if self.classes is None else pa.array(self.classes, pa.string()).take(codes)
        return pa.ListArray.from_arrays(pa.array(offsets), names)

    def _regression(self, batch: _Batch, flat: Array) -> dict[str, Any]:
        count = flat.shape[1]
        names = (
            [""] if count == 1 and self.classes is None else [f"_{n}" for n in self.classes or range(count)]
        )
        columns: dict[str, Any] = {}
        labels = None
        if batch.labels is not None:
            labels = batch.labels if batch.labels.ndim == 2 else batch.labels[:, None]
            if labels.shape != flat.shape or labels.dtype.kind not in "biuf":
                raise UsageError(
                    f"{batch.name}labels of shape {batch.labels.shape} and {batch.labels.dtype}, "
                    f"want numbers of shape {batch.outputs.shape}"
                )
            columns |= {f"label{name}": column for name, column in zip(names, labels.T, strict=True)}
        columns |= {f"predicted{name}": column for name, column in zip(names, flat.T, strict=True)}
        if labels is not None:
            error = flat.astype(np.float64) - labels.astype(np.float64)
            columns |= {f"error{name}": column for name, column in zip(names, error.T, strict=True)}
        return columns

    def _free(self, columns: dict[str, Any], scores: Mapping[str, Any]) -> dict[str, Any]:
        """Add the scores to the other columns; a class named `label` becomes `class.label`."""
        reserved = {"id", "label", "predicted", "confidence", "score"}
        return columns | {
            f"class.{name}" if name in reserved else name: values for name, values in scores.items()
        }


def _arrow(values: Any) -> pa.Array:
    import pyarrow as pa

    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "US":
            return pa.array(values.tolist(), pa.string())
        if values.dtype == np.float16:
            values = values.astype(np.float32)
        if values.dtype.kind in "iu" and not (values.size and int(values.max()) >= 2**63):
            values = values.astype(np.int64)
        return pa.array(np.ascontiguousarray(values))
    return pa.array(values, pa.string())


def _exactly(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values in the type of earlier batches; raises ValueError if that would change a value."""
    import pyarrow as pa

    if pa.types.is_string(values.type) != pa.types.is_string(kind) and len(values):
        raise ValueError(f"{values.type} is not {kind}")
    cast = values.cast(kind)
    if pa.types.is_floating(kind) and pa.types.is_floating(values.type) and kind != values.type:
        wide = cast.cast(values.type)
        if not np.array_equal(wide.to_numpy(), values.to_numpy(), equal_nan=True):
            raise ValueError(f"{kind} cannot hold every {values.type}")
    return cast
