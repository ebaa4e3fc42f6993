"""Results of training as tables: metrics of other loggers, predictions with labels, weights and biases."""

# Not lazy: importing a module later would replace the function of the same name.
from tbq.results.diff import weights_diff
from tbq.results.files import write_predictions
from tbq.results.metrics import is_metrics_file, metrics
from tbq.results.metrics_table import MetricsTable
from tbq.results.predictions import predictions
from tbq.results.rows import Rows
from tbq.results.scores import confusion, scores
from tbq.results.weights import weight_elements, weights

__all__ = [
    "MetricsTable",
    "Rows",
    "confusion",
    "is_metrics_file",
    "metrics",
    "predictions",
    "scores",
    "weight_elements",
    "weights",
    "weights_diff",
    "write_predictions",
]
