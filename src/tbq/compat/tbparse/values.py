"""How a SummaryReader converts images, audio clips and histograms, without TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_FULL = 32768  # the full scale of int16


def image_array(data: bytes) -> NDArray[np.uint8]:
    """An encoded image as from `tf.image.decode_image`: height, width and channels; frames first if animated."""
    from tbq.export.pictures import picture

    image = picture(data)
    frames = getattr(image, "n_frames", 1)
    if image.format == "GIF":
        pictures = []
        for frame in range(frames):
            image.seek(frame)
            pictures.append(np.asarray(image.convert("RGB"), np.uint8))
        return np.stack(pictures)
    if image.mode.startswith("I;16") or image.mode == "I":
        return (np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8)[..., None]
    if image.mode in ("1", "L"):
        return np.asarray(image.convert("L"), np.uint8)[..., None]
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode not in ("LA", "RGB", "RGBA"):
        image = image.convert("RGB")
    return np.asarray(image, np.uint8)


def audio_array(data: bytes) -> tuple[int, NDArray[np.float32]]:
    """The rate and the samples of a WAV file, from -1 to 1, as from `tf.audio.decode_wav`."""
    from tbq.kinds.audio import waveform

    rate, samples = waveform(data)
    if samples.dtype.kind == "f":
        return rate, samples.astype(np.float32)
    bits = 8 * samples.dtype.itemsize
    if samples.dtype == np.uint8:
        return rate, ((samples.astype(np.float32) - 128) / 128).astype(np.float32)
    full = _FULL if bits == 16 else 1 << (bits - 1)
    return rate, (samples / np.float64(full)).astype(np.float32)


def tensor_to_histogram(tensor: Any) -> dict[str, Any]:
    """A tensor of left edge, right edge and count per bucket as counts and limits; the first count is 0."""
    limits = [tensor[0][0], *(row[1] for row in tensor)]
    counts = [0, *(row[2] for row in tensor)]
    return {
        "limits": np.array(limits),
        "counts": np.array(counts),
        "min": limits[0],
        "max": limits[-1],
        "num": np.sum(counts),
        "sum": np.nan,
        "sum_squares": np.nan,
    }


def tensor_to_image(tensor: Any) -> dict[str, Any]:
    """A tensor of width, height and encoded images as arrays; several images are stacked."""
    image = np.stack([image_array(data) for data in tensor[2:]], axis=0)
    if image.shape[0] == 1:
        image = image.squeeze(axis=0)
    return {"image": image, "width": int(tensor[0]), "height": int(tensor[1])}


def tensor_to_audio(tensor: Any) -> dict[str, Any]:
    """A tensor of encoded clips and empty labels as arrays; several clips are stacked."""
    assert tensor[:, 1].tolist() == [b""] * tensor.shape[0]
    clips = [audio_array(data) for data in tensor[:, 0]]
    audio = np.stack([samples for _, samples in clips], axis=0)
    rates = np.stack([np.int32(rate) for rate, _ in clips], axis=0)
    frames = audio.shape[1]
    if audio.shape[0] == 1:
        audio, rates = audio.squeeze(axis=0), rates.squeeze(axis=0)
    return {"audio": audio, "content_type": "audio/wav", "length_frames": frames, "sample_rate": rates}


def histogram_to_cdf(counts: ArrayLike, limits: ArrayLike, x: ArrayLike) -> NDArray[Any]:
    """The share of values up to each `x`, interpolated linearly inside buckets."""
    counts, limits, x = np.array(counts), np.array(limits), np.array(x)
    assert len(counts) == len(limits)
    assert np.all(np.diff(x) > 0)
    total = np.sum(counts)
    below = np.cumsum(counts)
    shares: list[Any] = []
    for at in x:
        if at <= limits[0]:
            shares.append(0)
            continue
        bucket = int(np.searchsorted(limits, at, side="left")) - 1
        if bucket + 1 >= len(limits):
            shares.append(total)
            continue
        lower, upper = limits[bucket], limits[bucket + 1]
        shares.append((below[bucket] * (upper - at) + below[bucket + 1] * (at - lower)) / (upper - lower))
    cumulative: NDArray[Any] = np.array(shares) / total
    return cumulative


def histogram_to_pdf(
    counts: ArrayLike, limits: ArrayLike, x: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The centres between neighbouring `x`, and the density there."""
    y = histogram_to_cdf(counts, limits, x)
    return (x[1:] + x[:-1]) / 2, (y[1:] - y[:-1]) / (x[1:] - x[:-1])


def histogram_to_bins(
    counts: Sequence[float],
    limits: Sequence[float],
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    n_bins: int = 30,
) -> tuple[list[float], list[float]]:
    """The centres and counts of bins of equal width, as TensorBoard's histogram page draws them."""
    assert len(counts) == len(limits)
    assert counts[0] == 0
    low, high = (lower_bound, upper_bound) if None not in (lower_bound, upper_bound) else (0, 0)
    assert low is not None
    assert high is not None
    if low == high:
        high, low = low * 1.1 + 1, low / 1.1 - 1
    width = (high - low) / n_bins
    bucket = 1
    centers, bins = [], []
    for place in range(n_bins):
        left = low + place * width
        right = left + width
        count: float = 0
        while bucket < len(counts):
            bucket_left, bucket_right = max(low, limits[bucket - 1]), min(high, limits[bucket])
            if bucket_right > bucket_left:
                shared = min(bucket_right, right) - max(bucket_left, left)
                if shared > 0:
                    count += shared / (bucket_right - bucket_left) * counts[bucket]
            elif left <= bucket_left and (bucket_right <= right if right >= high else bucket_right < right):
                count += counts[bucket]
            if bucket_right > right:
                break
            bucket += 1
        centers.append(left + width / 2)
        bins.append(count)
    return centers, bins
