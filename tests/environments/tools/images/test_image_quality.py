import numpy as np
import pytest
from PIL import Image, ImageFilter

from environments.tools.images.image_quality import measure

CHECKS = (np.indices((256, 256)).sum(axis=0) // 16 % 2).astype(np.uint8)


def grey(values: np.ndarray) -> np.ndarray:
    return np.repeat(values[:, :, None], 3, axis=2).astype(np.uint8)


def test_a_plain_picture_has_no_contrast_noise_colour_or_edges():
    found = measure(grey(np.full((100, 200), 128)))
    assert found.megapixels == 0.02
    assert found.brightness == 128
    assert (found.contrast, found.noise, found.sharpness, found.colourfulness) == (0, 0, 0, 0)
    assert (found.blown, found.crushed) == (0, 0)


def test_contrast_and_clipping_of_black_and_white_checks():
    found = measure(grey(CHECKS * 255))
    assert found.contrast == pytest.approx(127.5)
    assert found.blown == found.crushed == 0.5


@pytest.mark.parametrize("sigma", [3, 10, 20])
def test_noise_is_estimated_close_to_what_was_added(sigma):
    noise = np.random.default_rng(0).normal(128, sigma, (400, 400)).clip(0, 255)
    assert measure(grey(noise)).noise == pytest.approx(sigma, rel=0.1)


def test_blur_lowers_sharpness_and_size_hardly_matters():
    picture = Image.fromarray(grey(60 + CHECKS * 120))
    sharp = measure(np.asarray(picture)).sharpness
    assert measure(np.asarray(picture.filter(ImageFilter.GaussianBlur(3)))).sharpness < sharp / 20
    large = picture.resize((1024, 1024), Image.Resampling.NEAREST)
    larger = picture.resize((2048, 2048), Image.Resampling.NEAREST)
    assert measure(np.asarray(larger)).sharpness == pytest.approx(
        measure(np.asarray(large)).sharpness, rel=0.1
    )


def test_colourfulness_is_that_of_the_paper():
    pixels = np.zeros((2, 2, 3), dtype=np.uint8)
    pixels[0] = (255, 0, 0)
    pixels[1] = (0, 0, 255)
    # rg is 255 and 0, yb 127.5 and -255: deviations 127.5 and 191.25, means 127.5 and -63.75.
    expected = np.hypot(127.5, 191.25) + 0.3 * np.hypot(127.5, -63.75)
    assert measure(pixels).colourfulness == pytest.approx(expected)


def test_verdicts_in_words(run, given, scene):
    text = run("ImageQualityTest", image=given(scene)).text
    assert text.startswith("input/a.png: 160 x 120 pixels\nresolution: 0.02 megapixels: low\n")
    assert text.endswith("Faults: low resolution")

    dark = Image.new("RGB", (800, 600), (1, 1, 1))
    text = run("ImageQualityTest", image=given(dark, "dark.png")).text
    assert "shadows clipped: 100.0% of pixels: much detail lost" in text
    assert text.endswith("Faults: very blurred, too dark, low contrast, shadows clipped")


def test_a_good_photo_has_no_faults(run, given):
    noise = np.random.default_rng(0).integers(20, 235, (300, 400, 3), dtype=np.uint8)
    photo = Image.fromarray(noise).resize((800, 600), Image.Resampling.BILINEAR)
    assert run("ImageQualityTest", image=given(photo)).text.endswith("Faults: none found")


def test_it_works_in_the_sandbox(in_sandbox, scene, png):
    good, broken = in_sandbox(
        ("ImageQualityTest", {"image": "input/a.png"}),
        ("ImageQualityTest", {"image": "input/b.png"}),
        files={"a.png": png(scene), "b.png": png(scene)[:300]},
    )
    assert (good.error, good.files) == (None, ())
    assert broken.error == "refused"
    assert "damaged image" in broken.text
