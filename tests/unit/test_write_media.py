"""Images, videos, sound and figures: what is in them, with and without Pillow."""

from __future__ import annotations

import io
import wave

import numpy as np
import pytest
from PIL import Image

import tbq
from tbq.errors import DependencyError, TbqWarning
from tbq.write import image


def values(read_events, directory):
    return [value for event in read_events(directory) for value in event.summary.value]


def pixels(encoded):
    return np.asarray(Image.open(io.BytesIO(encoded)))


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (64, 33)])
def test_plain_png_is_what_pillow_reads(channels, size):
    array = np.random.default_rng(1).integers(0, 256, (*size, channels), dtype=np.uint8)
    assert np.array_equal(pixels(image.plain_png(array)), array)


def test_an_image_without_pillow(tmp_path, read_events, monkeypatch):
    array = np.random.default_rng(1).integers(0, 256, (3, 4, 5), dtype=np.uint8)
    with monkeypatch.context() as patched, tbq.SummaryWriter(tmp_path) as writer:
        patched.setitem(__import__("sys").modules, "PIL", None)
        writer.add_image("i", array, 1)
        with pytest.raises(DependencyError, match=r"add_video needs pillow.*\n.*pip install .*\[media\]'"):
            writer.add_video("v", np.zeros((1, 1, 3, 4, 4)), 1)
        with pytest.raises(DependencyError, match="add_image_with_boxes needs pillow"):
            writer.add_image_with_boxes("b", array, np.zeros((1, 4)), 1)
    (value,) = values(read_events, tmp_path)
    assert np.array_equal(pixels(value.image.encoded_image_string), array.transpose(1, 2, 0))


def test_values_outside_are_cut_off_and_nan_is_black(tmp_path, read_events):
    array = np.array([[[-1.0, 0.0, 0.5, 1.0, 2.0, np.nan]]])
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_image("i", array, 1)
    (value,) = values(read_events, tmp_path)
    assert pixels(value.image.encoded_image_string)[0, :, 0].tolist() == [0, 0, 127, 255, 255, 0]


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_an_encoded_file_is_kept_byte_for_byte(tmp_path, read_events, form):
    out = io.BytesIO()
    Image.fromarray(np.zeros((4, 6, 3), dtype=np.uint8)).save(out, format=form)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_image("i", out.getvalue(), 1)
    (value,) = values(read_events, tmp_path)
    assert value.image.encoded_image_string == out.getvalue()
    assert (value.image.height, value.image.width, value.image.colorspace) == (4, 6, 3)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "1", "LA"])
def test_a_pil_image(tmp_path, read_events, mode):
    picture = Image.fromarray(np.arange(24, dtype=np.uint8).reshape(4, 6) * 10).convert(mode)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_image("i", picture, 1)
    (value,) = values(read_events, tmp_path)
    assert (value.image.height, value.image.width) == (4, 6)
    want = np.asarray(picture.convert("RGBA" if "A" in mode else "RGB"))
    assert np.array_equal(pixels(value.image.encoded_image_string), want)


def test_a_list_of_images_is_a_grid(tmp_path, read_events):
    batch = np.random.default_rng(1).integers(0, 256, (10, 4, 5, 3), dtype=np.uint8)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_images("list", list(batch), 1, dataformats="HWC")
        writer.add_images("array", batch, 1, dataformats="NHWC")
    first, second = (pixels(value.image.encoded_image_string) for value in values(read_events, tmp_path))
    assert first.shape == (8, 40, 3)
    assert np.array_equal(first, second)
    assert np.array_equal(first[4:, 5:10], batch[9])


def test_a_video_is_a_gif_with_every_frame(tmp_path, read_events):
    video = np.zeros((3, 4, 3, 6, 5), dtype=np.uint8)
    for time in range(4):
        video[:, time] = time * 60
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_video("v", video, 1, fps=10)
        writer.add_video("gray", video[:, :, :1] / 255, 1)
        writer.add_video("moved", video.transpose(1, 0, 3, 4, 2), 1, fps=10, dataformats="TNHWC")
    first, gray, moved = values(read_events, tmp_path)
    gif = Image.open(io.BytesIO(first.image.encoded_image_string))
    assert (gif.format, gif.n_frames, gif.info["duration"]) == ("GIF", 4, 100)
    # Three videos are padded to four and stand in a row, as torch arranges them.
    assert (first.image.height, first.image.width, first.image.colorspace) == (6, 20, 3)
    for time in range(4):
        gif.seek(time)
        frame = np.asarray(gif.convert("RGB"))
        assert (frame[:, :15] == time * 60).all()
        assert (frame[:, 15:] == 0).all()
    assert gray.image.colorspace == 1
    assert moved.image.encoded_image_string == first.image.encoded_image_string


def test_sound_of_every_form(tmp_path, read_events):
    mono = np.linspace(-1, 1, 50)
    stereo = np.stack([mono, -mono], axis=1)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_audio("mono", mono, 1)
        writer.add_audio("batched", mono[np.newaxis].astype(np.float32), 1)
        writer.add_audio("stereo", stereo, 1, sample_rate=8000)
        writer.add_audio("pcm", np.array([1, -2, 32767], dtype=np.int16), 1)
        with pytest.warns(TbqWarning, match=r"snd_tensor: samples outside \[-1, 1\] are clipped"):
            writer.add_audio("loud", mono * 2, 1)
        mono_file = values_now(writer, read_events)["mono"].audio.encoded_audio_string
        writer.add_audio("file", mono_file, 1)
    got = {value.tag: value.audio for value in values(read_events, tmp_path)}
    assert decoded(got["mono"])[:, 0].tolist() == (mono * 32767).astype(int).tolist()
    assert got["batched"].length_frames == 50
    assert (got["stereo"].num_channels, got["stereo"].sample_rate) == (2, 8000)
    assert decoded(got["stereo"]).shape == (50, 2)
    assert decoded(got["pcm"])[:, 0].tolist() == [1, -2, 32767]
    assert abs(decoded(got["loud"])).max() == 32767
    assert got["file"] == got["mono"]


def values_now(writer, read_events):
    writer.flush()
    return {value.tag: value for value in values(read_events, writer.log_dir)}


def decoded(audio):
    with wave.open(io.BytesIO(audio.encoded_audio_string)) as stream:
        assert stream.getnframes() == audio.length_frames
        data = np.frombuffer(stream.readframes(10**6), dtype="<i2")
        return data.reshape(-1, stream.getnchannels())


class WithArray:
    """Has only the interface that JAX arrays, among others, offer."""

    def __init__(self, value):
        self.value = np.array(value)

    def __array__(self, dtype=None, copy=None):
        return self.value if dtype is None else self.value.astype(dtype)


class WithDlpack:
    def __init__(self, value):
        self.value = np.array(value)

    def __dlpack__(self, **options):
        return self.value.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.value.__dlpack_device__()


@pytest.mark.parametrize("kind", [WithArray, WithDlpack])
def test_numbers_and_steps_of_other_libraries_by_their_protocols(tmp_path, read_events, kind):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", kind(0.5), kind(3))
        writer.log({"b": kind([0.25])}, kind(4))
        with pytest.raises(tbq.TbqError, match=r"got an array of shape \(2,\), want one number"):
            writer.add_scalar("c", kind([1.0, 2.0]), 1)
    rows = [(e.step, v.tag, v.simple_value) for e in read_events(tmp_path) for v in e.summary.value]
    assert rows == [(3, "a", 0.5), (4, "b", 0.25)]


def test_arrays_of_other_libraries_by_their_protocols(tmp_path, read_events):
    pair = [1.0, 2.0]
    with tbq.SummaryWriter(tmp_path) as writer:
        for name, value in (("array", WithArray(pair)), ("dlpack", WithDlpack(pair)), ("list", [1, 2.0])):
            writer.add_histogram(name, value, 1)
            writer.add_tensor(name, value, 2)
    assert [v.histo.sum for v in values(read_events, tmp_path) if v.HasField("histo")] == [3.0] * 3
    tensors = [list(v.tensor.double_val) for v in values(read_events, tmp_path) if v.HasField("tensor")]
    assert tensors == [[1.0, 2.0]] * 3
