"""Images as a strip over steps and runs, audio clips as waveform and spectrogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.errors import DamageError, SelectionError, warn
from tbq.kinds.audio import waveform
from tbq.plot.backend import literal, name_text
from tbq.plot.samples import rows_by_step, series_names
from tbq.plot.scales import dress
from tbq.plot.sheet import named, sheet
from tbq.table.pixels import grid, kept
from tbq.text import counted

if TYPE_CHECKING:
    from tbq.plot.options import PlotOptions
    from tbq.table.table import Table

_MOST_STEPS, _MOST_ROWS, _MOST_CLIPS = 8, 12, 4
_LARGEST = 512  # pixels per side of an image


def images(table: Table, options: PlotOptions) -> Any:
    """One row per run and tag, one column per step."""
    from tbq.export.pictures import picture

    arrow = table.to_arrow()
    cells = rows_by_step(arrow)
    if not cells:
        raise SelectionError("nothing to draw: no images")
    steps = sorted({step for of in cells.values() for step in of})
    if len(steps) > _MOST_STEPS:
        warn(
            f"{counted(len(steps), 'step')}: drawing {_MOST_STEPS}, evenly chosen; choose with steps=, --steps"
        )
        steps = [steps[i] for i in np.linspace(0, len(steps) - 1, _MOST_STEPS).round().astype(int).tolist()]
    if len(cells) > _MOST_ROWS:
        warn(f"{len(cells):,} rows of images: drawing the first {_MOST_ROWS}; choose with run=, tag=")
    rows = sorted(cells)[:_MOST_ROWS]
    names = list(series_names(rows, options, tagged=False).values())
    data = arrow["data"]
    size = (1.1 + 1.3 * len(steps), 0.3 + 1.35 * len(rows))
    with sheet(options, len(rows), len(steps), names, size) as (figure, axes):
        for i, key in enumerate(rows):
            for j, step in enumerate(steps):
                ax = axes[i * len(steps) + j]
                ax.set_xticks([])
                ax.set_yticks([])
                ax.grid(False)
                for spine in ax.spines.values():
                    spine.set_visible(False)
                if step in cells[key]:
                    _image(ax, picture, data[cells[key][step][-1]].as_py())
                if i == 0:
                    ax.set_title(f"step {step:,}", loc="center")
                if j == 0:
                    literal(ax.yaxis.label)
                    ax.set_ylabel(name_text(names[i], 28), rotation=0, ha="right", va="center")
    return figure


def _image(ax: Any, picture: Any, data: bytes) -> None:
    try:
        shown = picture(data or b"").convert("RGBA")
        shown.thumbnail((_LARGEST, _LARGEST))
        ax.imshow(np.asarray(shown))
    except (DamageError, OSError, ValueError):
        ax.text(
            0.5, 0.5, "cannot be read", ha="center", va="center", transform=ax.transAxes, fontsize="small"
        )


def audio(table: Table, options: PlotOptions) -> Any:
    """The last clip of each run and tag: its waveform above its spectrogram."""
    clips = [(options.relabelled(name), rate, values) for name, rate, values in clips_of(table, _MOST_CLIPS)]
    size = (5.4 if len(clips) == 1 else 4.4 * len(clips), 3.8)
    with sheet(options, 2, len(clips), [name for name, _, _ in clips], size, height_ratios=[1, 1.6]) as (
        figure,
        axes,
    ):
        for i, (name, rate, values) in enumerate(clips):
            _wave(axes[i], rate, values)
            _spectrum(axes[len(clips) + i], rate, values)
            named(axes[i], title=name, y="amplitude" if i == 0 else None)
            named(axes[len(clips) + i], x="seconds", y="Hz" if i == 0 else None)
            axes[i].set_xlim(axes[len(clips) + i].get_xlim())
            axes[i].tick_params(labelbottom=False)
    return figure


def clips_of(table: Table, most: int) -> list[tuple[str, int, Any]]:
    """The name, rate and amplitudes of the last clip of each run and tag, at most `most` clips."""
    arrow = table.to_arrow()
    clips = []
    for (run, tag), steps in rows_by_step(arrow).items():
        step = max(steps)
        try:
            rate, samples = waveform(arrow["data"][steps[step][-1]].as_py() or b"")
        except DamageError as failure:
            warn(f"{run}, {tag}: {failure.message}")
            continue
        if rate > 0 and len(samples):
            clips.append((f"{run} · {tag} · step {step:,}", rate, _amplitude(samples)))
    if not clips:
        raise SelectionError("nothing to draw: no audio clip can be read")
    if len(clips) > most:
        warn(f"{len(clips):,} audio clips: drawing the first {most}; choose with run=, tag=")
    return clips[:most]


def _amplitude(samples: Any) -> Any:
    """The mean of the channels, from -1 to 1."""
    values = samples.astype(np.float64)
    if samples.dtype.kind == "u":
        values = values / 128 - 1
    elif samples.dtype.kind == "i":
        values = values / -float(np.iinfo(samples.dtype).min)
    return np.nan_to_num(values.mean(axis=1), posinf=0.0, neginf=0.0)


def _wave(ax: Any, rate: int, values: Any) -> None:
    x = np.arange(len(values)) / rate
    rows = kept(grid(x, 0.0, max(float(x[-1]), 1e-9), 1200), values, 4800)
    ax.plot(x[rows], values[rows], lw=0.6, color="#3b6a9c")
    reach = float(np.abs(values).max()) or 1.0
    ax.set_ylim(-1.08 * reach, 1.08 * reach)
    dress(ax.xaxis, "value")
    dress(ax.yaxis, "value")


def _spectrum(ax: Any, rate: int, values: Any) -> None:
    """Power in decibels over time and frequency, by a short-time Fourier transform with a Hann window."""
    size = min(512, max(16, 1 << (max(len(values) // 8, 1)).bit_length()))
    padded = np.concatenate([np.zeros(size // 2), values, np.zeros(size // 2 + size)])
    hop = max(size // 4, (len(values) // 800) or 1)
    starts = np.arange(0, len(values) + 1, hop)
    frames = padded[starts[:, None] + np.arange(size)] * np.hanning(size)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    decibels = 10 * np.log10(np.maximum(power, power.max() * 1e-8 + 1e-30))
    ax.imshow(
        decibels.T,
        origin="lower",
        aspect="auto",
        cmap="viridis",
        extent=(-hop / 2 / rate, (starts[-1] + hop / 2) / rate, 0, rate / 2),
        interpolation="nearest",
    )
    ax.set_xlim(0, len(values) / rate)
    ax.grid(False)
    dress(ax.xaxis, "value")
    dress(ax.yaxis, "value")
