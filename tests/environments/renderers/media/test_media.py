import io
import struct

import numpy as np
import pytest
import soundfile
from PIL import Image

from environments.renderers.limits import MAX_PREVIEW_BYTES, Unreadable
from environments.renderers.media.audio import preview_audio, read_audio
from environments.renderers.media.image import preview_image, read_image, small_png


def test_an_image_in_numbers(tmp_path):
    picture = Image.new("RGB", (64, 64), "#FF0000")
    picture.paste("#0000FF", (0, 0, 32, 64))
    picture.save(tmp_path / "half.png", dpi=(300, 300))
    view = read_image(tmp_path / "half.png")
    assert (view.format, view.width, view.height, view.has_alpha) == ("PNG", 64, 64, False)
    assert view.colours == {"0000FF": 0.5, "FF0000": 0.5}
    assert view.grid[0] == ("0000FF",) * 16 + ("FF0000",) * 16
    assert view.dpi == pytest.approx(300, abs=1)
    assert view.contrast == pytest.approx(23.5, abs=1)


def test_transparency_counts_as_white(tmp_path):
    Image.new("RGBA", (40, 40), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    view = read_image(tmp_path / "clear.png")
    assert view.has_alpha
    assert view.colours == {"FFFFFF": 1.0}


def test_a_16_bit_image_is_not_all_white(tmp_path):
    Image.fromarray(np.full((8, 8), 257 * 100, dtype=np.uint16)).save(tmp_path / "deep.png")
    assert read_image(tmp_path / "deep.png").mean_luminance == pytest.approx(100, abs=1)


def test_the_content_must_be_what_the_name_says(tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.jpg")
    (tmp_path / "a.jpg").rename(tmp_path / "a.png")
    with pytest.raises(Unreadable, match="JPEG, not PNG"):
        read_image(tmp_path / "a.png")


def test_an_image_bomb_is_refused_by_its_header(tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "bomb.png")
    data = bytearray((tmp_path / "bomb.png").read_bytes())
    data[16:24] = struct.pack(">II", 60_000, 60_000)
    # The CRC of the changed header.
    data[29:33] = struct.pack(">I", __import__("zlib").crc32(bytes(data[12:29])))
    (tmp_path / "bomb.png").write_bytes(data)
    with pytest.raises(Unreadable, match="pixels"):
        read_image(tmp_path / "bomb.png")


def test_a_preview_is_small_whatever_the_image(tmp_path):
    noise = np.random.default_rng(1).integers(0, 256, (1000, 1400, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    png = preview_image(tmp_path / "noise.png")
    assert len(png) <= MAX_PREVIEW_BYTES
    assert max(Image.open(io.BytesIO(png)).size) <= 480
    assert Image.open(io.BytesIO(small_png(Image.new("L", (10, 10))))).size == (10, 10)


def tone(path, seconds: float, **settings: object) -> None:
    t = np.arange(int(8000 * seconds)) / 8000
    soundfile.write(path, 0.5 * np.sin(2 * np.pi * 440 * t), 8000, format="WAV", **settings)


def test_a_sound_in_numbers(tmp_path):
    tone(tmp_path / "tone.wav", 1.05)
    view = read_audio(tmp_path / "tone.wav")
    assert (view.seconds, view.sample_rate, view.channels) == (1.05, 8000, 1)
    assert view.peak == pytest.approx(0.5, abs=0.01)
    assert view.rms == pytest.approx(0.5 / 2**0.5, abs=0.01)
    assert len(view.envelope) == 11
    assert Image.open(io.BytesIO(preview_audio(view))).size == (480, 120)


@pytest.mark.parametrize("content", [b"RIFF....WAVE nothing", b"ID3 some mp3"])
def test_what_is_no_sound_is_unreadable(tmp_path, content):
    (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(Unreadable, match="not that of a WAV"):
        read_audio(tmp_path / "a.wav")


def test_samples_that_are_not_numbers_are_unreadable(tmp_path):
    samples = np.full(1000, np.nan, dtype=np.float32)
    soundfile.write(tmp_path / "nan.wav", samples, 8000, format="WAV", subtype="FLOAT")
    with pytest.raises(Unreadable, match="not numbers"):
        read_audio(tmp_path / "nan.wav")


@pytest.mark.parametrize("ending", ["mp3", "flac", "ogg"])
def test_compressed_sounds_are_measured_like_others(tmp_path, ending):
    samples = 0.5 * np.sin(2 * np.pi * 440 * np.arange(44_100) / 44_100)
    soundfile.write(tmp_path / f"tone.{ending}", samples, 44_100, format=ending.upper())
    view = read_audio(tmp_path / f"tone.{ending}")
    assert view.seconds == pytest.approx(1, abs=0.1)
    assert view.rms == pytest.approx(0.5 / 2**0.5, abs=0.05)


@pytest.mark.parametrize("ending", ["mp3", "flac", "ogg"])
def test_a_sound_by_another_name_is_unreadable(tmp_path, ending):
    tone(tmp_path / f"tone.{ending}", 0.1)
    with pytest.raises(Unreadable, match=f"is WAV, not {ending.upper()}"):
        read_audio(tmp_path / f"tone.{ending}")
