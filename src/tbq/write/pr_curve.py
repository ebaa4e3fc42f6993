"""Precision-recall curves, computed in the same way as in TensorBoard's own summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq import wire
from tbq.arguments import described
from tbq.write.arguments import as_array, bad, real

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

_MOST = 127  # the limit of torch and tensorboardX
_TINY = 1e-7


def curve(labels: Any, predictions: Any, num_thresholds: int, weights: Any) -> tuple[bytes, bytes]:
    """TensorProto and SummaryMetadata of labels (0 or 1) and predictions in [0, 1]."""
    truth = real(as_array(labels, "labels"), "labels").astype(np.float64).reshape(-1)
    guess = real(as_array(predictions, "predictions"), "predictions").reshape(-1)
    if truth.shape != guess.shape:
        raise bad("predictions", f"got {guess.size} predictions for {truth.size} labels")
    if guess.size == 0:
        raise bad("predictions", "has no element")
    if not (np.isfinite(guess).all() and guess.min() >= 0 and guess.max() <= 1):
        raise bad("predictions", "has values outside [0, 1]", hint="pass probabilities, not logits")
    scale: Any = 1.0
    if weights is not None:
        scale = real(as_array(weights, "weights"), "weights").astype(np.float64)
        if scale.size not in (1, truth.size):
            raise bad("weights", f"got {scale.size} weights for {truth.size} labels")
        scale = scale.reshape(-1)
    count = _thresholds(num_thresholds)
    bucket = np.int32(np.floor(guess * (count - 1)))
    tp_buckets = np.bincount(bucket, weights=np.broadcast_to(truth * scale, truth.shape), minlength=count)
    fp_buckets = np.bincount(
        bucket, weights=np.broadcast_to((1.0 - truth) * scale, truth.shape), minlength=count
    )
    tp = np.cumsum(tp_buckets[::-1])[::-1]
    fp = np.cumsum(fp_buckets[::-1])[::-1]
    tn = fp[0] - fp
    fn = tp[0] - tp
    precision = tp / np.maximum(_TINY, tp + fp)
    recall = tp / np.maximum(_TINY, tp + fn)
    return wire.float_tensor(np.stack((tp, fp, tn, fn, precision, recall))), _metadata(count)


def raw(counts: dict[str, Any], num_thresholds: int) -> tuple[bytes, bytes]:
    """TensorProto and SummaryMetadata of known counts, precision and recall, by argument name."""
    rows = [real(as_array(row, name), name).reshape(-1) for name, row in counts.items()]
    for name, row in zip(counts, rows, strict=True):
        if len(row) != len(rows[0]):
            raise bad(name, f"got {len(row)} values, want {len(rows[0])} as in {next(iter(counts))}")
    return wire.float_tensor(np.stack(rows)), _metadata(_thresholds(num_thresholds))


def _thresholds(num_thresholds: Any) -> int:
    if not isinstance(num_thresholds, int) or num_thresholds < 2:
        raise bad("num_thresholds", f"got {described(num_thresholds)}, want 2 or more")
    return min(num_thresholds, _MOST)


def _metadata(count: int) -> bytes:
    return wire.metadata("pr_curves", wire.integer(2, count))
