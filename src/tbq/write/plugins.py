"""The writer's methods for histograms, tensors, curves, meshes, graphs, hyperparameters and charts."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from tbq import wire
from tbq.arguments import described
from tbq.errors import UsageError
from tbq.write import device, histogram, jax_values, tally
from tbq.write.arguments import as_number, as_tag, bad
from tbq.write.core import Core
from tbq.write.pending import EncodedEvent, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Plugins(Core):
    """`add_histogram` and the methods for other plugins of TensorBoard."""

    _hparams_in_run = True  # whether the first hyperparameters go to the run itself
    _hparam_calls = 0

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: Any = None,
        max_bins: int | None = None,
    ) -> None:
        """Add a histogram of all `values`; `bins` is torch's default, or anything that `numpy.histogram` accepts.

        A tensor on a GPU is counted there, without waiting; with other `bins` it is copied to the host.

        >>> writer.add_histogram("weights", np.random.randn(1000), 0)
        """
        device.step_aside()
        as_tag(tag)
        if isinstance(bins, str) and bins == "tensorflow":
            if device.is_on_device(values):
                from tbq.write import device_histogram

                self._add_counted(tag, values, global_step, walltime, max_bins, device_histogram.captured)
                return
            if "jax" in sys.modules and jax_values.is_countable(values):
                self._add_counted(tag, values, global_step, walltime, max_bins, jax_values.counted)
                return
        self._add(tag, wire.HISTO, histogram.encode(values, bins, max_bins), b"", global_step, walltime)

    def _add_counted(
        self,
        tag: str,
        values: Any,
        step: Any,
        wall_time: Any,
        max_bins: int | None,
        count: Callable[[Any, str], tuple[Value, int]],
    ) -> None:
        """Add a histogram that is counted on the values' device."""
        histogram.check_max_bins(max_bins)
        step, wall_time = self._stamp(step, wall_time)
        wall_time = time.time() if wall_time is None else wall_time
        try:
            value, number = count(values, "values")
        except UsageError as error:
            error.message = f"{error.message} (tag {tag!r}, step {step})"
            raise

        def encode(results: Any) -> bytes:
            return tally.encode(tally.tally(results), number, max_bins, "values")

        arguments = (tag, wire.HISTO, b"", step, wall_time)
        self._attend(self._file.pending.add(EncodedEvent(self._file.buffer.value, value, encode, arguments)))

    def add_histogram_raw(
        self,
        tag: str,
        min: Any,  # noqa: A002
        max: Any,  # noqa: A002
        num: Any,
        sum: Any,  # noqa: A002
        sum_squares: Any,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a histogram from its counts; `bucket_limits` are the right edges.

        >>> counts, edges = np.histogram([1.0, 2.0, 2.0, 4.0], bins=3)
        >>> writer.add_histogram_raw("grades", 1, 4, 4, 9, 25, edges[1:], counts, 100)
        """
        as_tag(tag)
        payload = histogram.encode_raw(min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(tag, wire.HISTO, payload, b"", global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: Any = None) -> None:
        """Add an array or tensor in its dtype.

        >>> writer.add_tensor("attention", np.eye(4, dtype=np.float16), 100)
        """
        from tbq.write import tensor as encoder

        as_tag(tag)
        self._add(tag, wire.TENSOR, encoder.encode(tensor), wire.metadata("tensor"), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a precision-recall curve of binary labels and predictions in [0, 1].

        >>> writer.add_pr_curve("classifier", [0, 1, 1, 0], [0.2, 0.9, 0.6, 0.4], 100)
        """
        from tbq.write import pr_curve

        as_tag(tag)
        payload, metadata = pr_curve.curve(labels, predictions, num_thresholds, weights)
        self._add(tag, wire.TENSOR, payload, metadata, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a precision-recall curve from its counts; `weights` is ignored, as in torch.

        >>> tp, fp, tn, fn = [2, 1, 0], [2, 1, 0], [0, 1, 2], [0, 1, 2]
        >>> writer.add_pr_curve_raw("classifier", tp, fp, tn, fn, [0.5, 0.5, 0], [1, 0.5, 0], 100, num_thresholds=3)
        """
        from tbq.write import pr_curve

        del weights
        as_tag(tag)
        counts = {
            "true_positive_counts": true_positive_counts,
            "false_positive_counts": false_positive_counts,
            "true_negative_counts": true_negative_counts,
            "false_negative_counts": false_negative_counts,
            "precision": precision,
            "recall": recall,
        }
        payload, metadata = pr_curve.raw(counts, num_thresholds)
        self._add(tag, wire.TENSOR, payload, metadata, global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Any = None,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Add a mesh or point cloud: [batch, points, 3] each.

        >>> writer.add_mesh("cloud", np.random.rand(1, 100, 3), global_step=100)
        """
        from tbq.write import mesh

        self.add_summary(
            mesh.encode(as_tag(tag), vertices, colors, faces, config_dict), global_step, walltime
        )

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Add a graph: a GraphDef (the message or its bytes), or a torch module, which torch traces.

        >>> writer.add_graph(b"")  # or a GraphDef message, or a torch module with an example input
        """
        from tbq.write import graph

        for fields in graph.encode(model, input_to_model, verbose, use_strict_trace):
            self._attend(self._sink.fields(fields, *self._stamp(None, None)))

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Add the graph of an ONNX file; needs torch and onnx.

        >>> writer.add_onnx_graph("model.onnx")  # doctest: +SKIP
        """
        from tbq.write import graph

        self._attend(self._sink.fields(graph.encode_onnx(prototxt), *self._stamp(None, None)))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Add an embedding for TensorBoard's projector: files beside the event file, as torch writes them.

        >>> writer.add_embedding(np.random.rand(3, 16), metadata=["cat", "dog", "bird"], global_step=100)
        """
        from tbq.write import embedding

        step, _ = self._stamp(global_step, None)
        embedding.write(self.log_dir, mat, metadata, label_img, step or 0, as_tag(tag), metadata_header)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, Any] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
        *,
        name: str | None = None,
    ) -> None:
        """Add hyperparameters and the metrics to compare them by.

        They go to this run. A later call is another trial, and goes to a run below this one, named after the time; so
        does a call with `run_name` (tensorboardX: `name`), which names it. With `run_name='.'` they always go to this
        run. A metric that this run has logged before as a curve is called `hparam/<tag>`, so that it adds no point.

        >>> writer.add_hparams({"lr": 0.1, "bn": True}, {"accuracy": 0.9})
        """
        from tbq.write import hparams

        hparams.encode(hparam_dict, metric_dict, hparam_domain_discrete)  # checks them
        metrics = {tag: as_number(value, f"metric_dict[{tag!r}]") for tag, value in metric_dict.items()}
        run_name = run_name or name
        if run_name is not None and not isinstance(run_name, str):
            raise bad("run_name", f"got {described(run_name)}, want a name, or '.' for this run")
        step, walltime = self._stamp(global_step, None)
        later = self._hparam_calls > 0
        if run_name is None and self._hparams_in_run and not later:
            run_name = "."
            metrics = {self._free_tag(tag): number for tag, number in metrics.items()}
        self._hparam_calls += 1
        sub_run = run_name or str(time.time())
        # A session that names its own group is a trial of its own: readers do not count it as part of this run.
        group = sub_run if later and self._hparams_in_run and run_name != "." else ""
        summaries = hparams.encode(hparam_dict, metrics, hparam_domain_discrete, group)
        target: Any = self if run_name == "." else self._sub_writer(sub_run)
        try:
            for tag, metadata in summaries:
                target.add_summary(wire.value(tag, 0, b"", metadata), step, walltime)
            for tag, number in metrics.items():
                target.add_scalar(tag, number, step, walltime)
        finally:
            if target is not self:
                target.close()

    def _free_tag(self, tag: str) -> str:
        """The name of a metric in this run: another one if there is a curve of that name."""
        while self._file.buffer.has_tag(tag):
            tag = f"hparam/{tag}"
        return tag

    def add_custom_scalars(self, layout: dict[str, dict[str, Sequence[Any]]]) -> None:
        """Add a layout of charts: `{category: {chart: ["Multiline" or "Margin", tags]}}`.

        >>> writer.add_custom_scalars({"losses": {"loss": ["Multiline", ["train/loss", "val/loss"]]}})
        """
        from tbq.write import layout as encoder

        self._add(encoder.TAG, wire.TENSOR, encoder.encode(layout), encoder.METADATA, None, None)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Add a chart that shows all `tags`.

        >>> writer.add_custom_scalars_multilinechart(["train/loss", "val/loss"], title="loss")
        """
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Add a chart of a value between two margins: `tags` are value, lower, upper.

        >>> writer.add_custom_scalars_marginchart(["loss/mean", "loss/low", "loss/high"], title="loss")
        """
        self.add_custom_scalars({category: {title: ["Margin", tags]}})
