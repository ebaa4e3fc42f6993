"""Draws docs/images/kinds.png: what `tbq demo` logged, read back with tbq. Run: python docs/images/kinds.py"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt

import tbq

SHARES = [i / 50 for i in range(51)]


def main() -> None:
    warnings.simplefilter("ignore", tbq.TbqWarning)
    with tempfile.TemporaryDirectory() as folder:
        log = tbq.open(tbq.demo(Path(folder, "runs")))
        plt.style.use("seaborn-v0_8-whitegrid")
        figure, axes = plt.subplots(1, 4, figsize=(11, 2.6), layout="constrained")
        axes[0].imshow(log.image("samples"), interpolation="nearest")
        axes[0].set_axis_off()
        axes[0].set_title('log.image("samples")', family="monospace", size=9)

        for shade, step in zip(("#c6dbef", "#6baed6", "#08519c"), (0, 50, 100), strict=True):
            values = log.histogram("weights/layer1", step=step).quantiles(SHARES)
            axes[1].plot(values, SHARES, color=shade, label=f"step {step}", linewidth=1.5)
        axes[1].legend(fontsize=7)
        axes[1].set_ylabel("share below", size=8)
        axes[1].set_title("log.histogram(…).quantiles(q)", family="monospace", size=8)

        rate, samples = log.waveform("tone")
        shown = samples[:400, 0]
        axes[2].plot([i / rate * 1000 for i in range(len(shown))], shown, linewidth=1)
        axes[2].set_xlabel("ms", size=8)
        axes[2].set_title('log.waveform("tone")', family="monospace", size=9)

        curves = log.pr_curves().to_pandas()
        for step, curve in curves.groupby("step"):
            axes[3].plot(curve["recall"], curve["precision"], label=f"step {step}", linewidth=1.5)
        axes[3].set_xlabel("recall", size=8)
        axes[3].set_ylabel("precision", size=8)
        axes[3].legend(fontsize=7)
        axes[3].set_title("log.pr_curves()", family="monospace", size=9)
        for axis in axes:
            axis.tick_params(labelsize=7)
        figure.savefig(Path(__file__).with_suffix(".png"), dpi=90, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
