"""The quality of predictions: a confusion matrix, and precision and recall per class."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError
from tbq.results.rows import Rows

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.results.rows import Rows
    from tbq.table import Table

_NOT_CLASSES = {"id", "label", "predicted", "confidence", "score"}


class PairCounts:
    """Counts of (label, predicted) pairs, collected batch by batch so that streams need not be kept in memory."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[Any, Any]] = Counter()
        self.support: Counter[Any] = Counter()
        self.predicted: Counter[Any] = Counter()
        self.right: Counter[Any] = Counter()
        self.known: list[Any] = []
        self.lists = False

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch of predictions."""
        import pyarrow as pa

        names = batch.schema.names
        if "label" not in names or "predicted" not in names:
            raise UsageError("these predictions have no labels", hint="pass labels= (--labels)")
        label, predicted = batch.column("label"), batch.column("predicted")
        if pa.types.is_floating(label.type) or pa.types.is_floating(predicted.type):
            raise UsageError(
                "these predictions are numbers, not classes", hint="only classes have precision and recall"
            )
        self.lists = pa.types.is_list(label.type)
        scores = [name for name in names if name not in _NOT_CLASSES]
        if not self.known and scores:
            # Score columns are in the order of the classes, named after them or class_0, class_1, …
            numbered = pa.types.is_integer(label.type.value_type if self.lists else label.type)
            self.known = list(range(len(scores))) if numbered else [n.removeprefix("class.") for n in scores]
        if self.lists:
            for want, got in zip(label.to_pylist(), predicted.to_pylist(), strict=True):
                self.support.update(want)
                self.predicted.update(got)
                self.right.update(set(want) & set(got))
            return
        counted = pa.table({"label": label, "predicted": predicted}).group_by(["label", "predicted"])
        for row in counted.aggregate([([], "count_all")]).to_pylist():
            want, got, count = row["label"], row["predicted"], row["count_all"]
            self.pairs[want, got] += count
            self.support[want] += count
            self.predicted[got] += count
            if want == got:
                self.right[want] += count

    def classes(self) -> list[Any]:
        """The classes in order: those of the score columns, then any others."""
        seen = {*self.support, *self.predicted} - set(self.known)
        return [*self.known, *sorted(seen, key=lambda name: (isinstance(name, str), name))]

    def confusion(self) -> Table:
        """One row per label, one column per predicted class, with counts."""
        if self.lists:
            raise UsageError(
                "examples with several classes have no confusion matrix",
                hint="use scores() for precision and recall",
            )
        import pyarrow as pa

        from tbq.table import Table

        classes = self.classes()
        columns: dict[str, Any] = {"label": classes}
        for got in classes:
            name = "class.label" if str(got) == "label" else str(got)
            columns[name] = [self.pairs[want, got] for want in classes]
        return Table(pa.table(columns), kind="confusion")

    def scores(self) -> Table:
        """One row per class: precision, recall, f1, support; null if they are undefined."""
        import pyarrow as pa

        from tbq.table import Table

        rows = []
        for name in self.classes():
            right, support, predicted = self.right[name], self.support[name], self.predicted[name]
            rows.append(
                {
                    "class": name,
                    "precision": right / predicted if predicted else None,
                    "recall": right / support if support else None,
                    "f1": 2 * right / (support + predicted) if support + predicted else None,
                    "support": support,
                    "predicted": predicted,
                }
            )
        types = dict.fromkeys(("precision", "recall", "f1"), pa.float64())
        types["class"] = pa.string() if any(isinstance(row["class"], str) for row in rows) else pa.int64()
        names = ("class", "precision", "recall", "f1", "support", "predicted")
        schema = pa.schema([(name, types.get(name, pa.int64())) for name in names])
        return Table(pa.Table.from_pylist(rows, schema=schema), kind="scores")


def confusion(predictions: Table | Rows) -> Table:
    """The confusion matrix of predictions: one row per label, one column per predicted class.

    >>> from tbq.results import predictions
    >>> confusion(predictions([0, 1, 1], labels=[0, 1, 0])).to_arrow().to_pylist()
    [{'label': 0, '0': 1, '1': 1}, {'label': 1, '0': 0, '1': 1}]
    """
    return _tally(predictions).confusion()


def scores(predictions: Table | Rows) -> Table:
    """Precision, recall, f1 and support of each class of a table of predictions.

    >>> from tbq.results import predictions
    >>> scores(predictions([0, 1, 1], labels=[0, 1, 0])).to_arrow().to_pylist()[0]
    {'class': 0, 'precision': 1.0, 'recall': 0.5, 'f1': 0.6666666666666666, 'support': 2, 'predicted': 1}
    """
    return _tally(predictions).scores()


def _tally(predictions: Table | Rows) -> PairCounts:
    tally = PairCounts()
    for batch in (
        predictions.batches() if isinstance(predictions, Rows) else predictions.to_arrow().to_batches()
    ):
        tally.add(batch)
    return tally
