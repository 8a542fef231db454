"""Videos to test with: a scene whose texts, moving square and QR code are known."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import cv2
import matplotlib as mpl
import numpy as np
import pytest
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image, ImageDraw, ImageFont

FONT = Path(mpl.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
WIDTH, HEIGHT, RATE, SECONDS = 480, 270, 10, 6


def frames() -> Iterator[bytes]:
    """Two titles, a red square that goes right from 1 to 4 s, a QR code from 3 s on."""
    rng = np.random.default_rng(1)
    ground = rng.integers(90, 140, (HEIGHT // 10, WIDTH // 10, 3), dtype=np.uint8)
    ground = ground.repeat(10, axis=0).repeat(10, axis=1)
    code = cv2.QRCodeEncoder.create().encode("https://example.org/night")
    code = cv2.resize(code, (120, 120), interpolation=cv2.INTER_NEAREST)
    face = ImageFont.truetype(FONT, 30)
    for number in range(RATE * SECONDS):
        time = number / RATE
        picture = Image.fromarray(ground)
        draw = ImageDraw.Draw(picture)
        draw.text((20, 20), "Opening hours" if time < 2 else "Monday 9 to 17", font=face)
        if 1 <= time < 4:
            left = round(20 + (time - 1) * 100)
            draw.rectangle((left, 180, left + 50, 230), fill="red")
        if time >= 3:
            picture.paste(Image.fromarray(code).convert("RGB"), (340, 10))
        grain = rng.integers(-3, 4, (HEIGHT, WIDTH, 1))
        yield (np.asarray(picture).astype(np.int16) + grain).clip(0, 255).astype(np.uint8).tobytes()


@pytest.fixture(scope="session")
def scene_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scene, 6 s of 480 x 270 pixels with a tone, as an MP4 file."""
    target = tmp_path_factory.mktemp("videos") / "scene.mp4"
    raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-r", str(RATE))
    tone = ("-f", "lavfi", "-i", f"sine=frequency=440:duration={SECONDS}")
    command = [get_ffmpeg_exe(), "-v", "error", *raw, "-i", "-", *tone, "-pix_fmt", "yuv420p"]
    subprocess.run([*command, str(target)], input=b"".join(frames()), check=True)
    return target


@pytest.fixture
def scene(workspace: Path, scene_file: Path) -> str:
    """Path of the scene in a workspace."""
    (workspace / "input/scene.mp4").write_bytes(scene_file.read_bytes())
    return "input/scene.mp4"
