import numpy as np
import pytest
from PIL import Image

from environments.tools.images.styles import STYLES
from environments.tools.images.stylization import style_of
from taskdata.errors import ToolRefused


@pytest.mark.parametrize(
    ("instruction", "style"),
    [
        ("turn it into a pencil drawing", "pencil sketch"),
        ("Make it look like a COLOR-PENCIL sketch!", "colour pencil"),
        ("black and white pencil sketch", "pencil sketch"),
        ("black-and-white", "black and white"),
        ("convert to grayscale", "black and white"),
        ("a watercolor painting", "watercolour"),
        ("an oil painting please", "oil painting"),
        ("8-bit", "pixel art"),
        ("line art, only outlines", "edges"),
        ("invert the colours", "negative"),
        ("an old photo in sepia", "sepia"),
        ("a cartoon drawing", "cartoon"),
        *((name, name) for name in STYLES),
    ],
)
def test_instructions_name_styles(instruction, style):
    assert style_of(instruction) == style


@pytest.mark.parametrize("instruction", ["anime", "as a cyborg", "boil it down", "!!", "ünïcode"])
def test_a_style_that_is_not_there_is_refused_with_those_that_are(instruction):
    with pytest.raises(ToolRefused, match="it knows colour pencil, cartoon, watercolour"):
        style_of(instruction)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("size", [(160, 120), (1, 1), (3, 200)])
def test_every_style_keeps_the_size_and_changes_the_picture(scene, style, size):
    pixels = np.asarray(scene.resize(size))
    drawn = STYLES[style](pixels.copy())
    assert (drawn.shape, drawn.dtype) == (pixels.shape, np.uint8)
    if size == (160, 120):
        assert np.abs(drawn.astype(int) - pixels).mean() > 0.05


def test_styles_are_what_they_are_called(scene):
    pixels = np.asarray(scene)
    greys = STYLES["black and white"](pixels)
    assert (greys[:, :, 0] == greys[:, :, 2]).all()
    assert (STYLES["negative"](pixels) == 255 - pixels).all()
    assert len(np.unique(STYLES["posterize"](pixels))) <= 4
    assert len(np.unique(STYLES["edges"](pixels))) == 2
    red, _, blue = STYLES["sepia"](np.full((4, 4, 3), 128, dtype=np.uint8))[0, 0]
    assert red > blue
    assert STYLES["blur"](pixels).std() < pixels.std()
    sketch = STYLES["pencil sketch"](pixels)
    assert sketch.mean() > 200


def test_as_a_tool_transparency_stays(run, given, opened, scene):
    scene.putalpha(Image.linear_gradient("L").resize(scene.size))
    result = run("ImageStylization", image=given(scene), instruction="cartoon")
    assert result.files == ("output/a_cartoon.png",)
    assert "the image as cartoon, 160 x 120 pixels" in result.text
    assert opened(result.files[0]).getchannel("A").getextrema() == (
        scene.getchannel("A").getextrema()
    )


def test_a_refused_style_writes_nothing(run, given, scene):
    result = run("ImageStylization", image=given(scene), instruction="Ghibli")
    assert (result.error, result.files) == ("refused", ())


def test_it_works_in_the_sandbox(in_sandbox, scene, png):
    (result,) = in_sandbox(
        ("ImageStylization", {"image": "input/a.png", "instruction": "oil painting"}),
        files={"a.png": png(scene)},
    )
    assert (result.error, result.files) == (None, ("output/a_oil_painting.png",))
