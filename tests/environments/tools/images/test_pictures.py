import struct
import zlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from environments.tools.images.pictures import MAX_PIXELS, flat, open_picture, result_file
from taskdata.errors import ToolRefused


def png_claiming(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header claims any size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("mode", "colour", "as_rgb"),
    [
        ("L", 100, (100, 100, 100)),
        ("1", 1, (255, 255, 255)),
        ("P", 0, (0, 0, 0)),
        ("RGBA", (9, 8, 7, 255), (9, 8, 7)),
        ("LA", (50, 255), (50, 50, 50)),
        ("CMYK", (0, 0, 0, 255), (0, 0, 0)),
        ("I;16", 65_535, (255, 255, 255)),
        ("I;16", 257 * 100, (100, 100, 100)),
        ("F", 3.5, (0, 0, 0)),
    ],
)
def test_every_kind_of_pixel_becomes_eight_bit_colour(workspace, given, mode, colour, as_rgb):
    path = given(Image.new(mode, (6, 4), colour), "a.tif" if mode != "P" else "a.png")
    picture = flat(open_picture(workspace, path))
    assert (picture.mode, picture.size) == ("RGB", (6, 4))
    assert picture.getpixel((3, 2)) == as_rgb


def test_a_photo_taken_sideways_stands_upright(workspace, given):
    pixels = np.zeros((10, 30, 3), dtype=np.uint8)
    pixels[:, :10] = 255
    stream = BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise
    Image.fromarray(pixels).save(stream, format="JPEG", exif=exif)
    picture = open_picture(workspace, given(stream.getvalue(), "a.jpg"))
    assert picture.size == (10, 30)
    assert picture.getpixel((5, 4))[0] > 200
    assert picture.getpixel((5, 25))[0] < 50


def test_of_an_animation_the_first_frame_is_read(workspace, given):
    stream = BytesIO()
    frames = [Image.new("RGB", (5, 5), colour) for colour in ("red", "blue")]
    frames[0].save(stream, format="GIF", save_all=True, append_images=frames[1:])
    picture = flat(open_picture(workspace, given(stream.getvalue(), "a.gif")))
    assert picture.getpixel((2, 2)) == (255, 0, 0)


@pytest.mark.parametrize(("ink", "ground"), [("black", (255, 255, 255)), ("white", (0, 0, 0))])
def test_transparent_ground_is_chosen_so_that_the_content_shows(ink, ground):
    image = Image.new("RGBA", (20, 20), (0, 0, 0, 0))
    image.paste(Image.new("RGB", (5, 5), ink), (0, 0))
    alpha = Image.new("L", (20, 20), 0)
    alpha.paste(255, (0, 0, 5, 5))
    image.putalpha(alpha)
    assert flat(image).getpixel((15, 15)) == ground


@pytest.mark.parametrize("size", [(7000, 7000), (100_000, 100_000), (40_000, 10)])
def test_a_picture_too_large_is_refused_before_it_is_decoded(workspace, given, size):
    with pytest.raises(ToolRefused, match=f"at most {MAX_PIXELS}"):
        open_picture(workspace, given(png_claiming(*size)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain text",
        b"%!PS-Adobe-3.0 EPSF-3.0\n",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    ],
)
def test_what_is_no_image_is_refused(workspace, given, data):
    with pytest.raises(ToolRefused, match="not an image that can be read"):
        open_picture(workspace, given(data))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_file_cut_off_is_refused(workspace, given, kind, share):
    noise = np.random.default_rng(1).integers(0, 255, (80, 80, 3), dtype=np.uint8)
    stream = BytesIO()
    Image.fromarray(noise).save(stream, format=kind)
    data = stream.getvalue()
    with pytest.raises(ToolRefused, match=r"damaged image|not an image"):
        open_picture(workspace, given(data[: int(len(data) * share)], "a.bin"))


def test_pixels_that_never_come_are_refused(workspace, given):
    with pytest.raises(ToolRefused, match="damaged image"):
        open_picture(workspace, given(png_claiming(500, 500)))


def test_results_are_named_after_their_source_and_never_overwrite(workspace):
    first, path = result_file(workspace, None, "input/my photo (1).jpg", "box")
    assert path == "output/my_photo_1__box.png"
    first.write_bytes(b"taken")
    _, path = result_file(workspace, None, "input/my photo (1).jpg", "box")
    assert path.endswith("_box_2.png")


@pytest.mark.parametrize("path", ["input/a.png", "../a.png", "output/a.txt"])
def test_results_go_to_pictures_below_output(workspace, path):
    with pytest.raises(ToolRefused, match=r"below output/|outside the workspace|must end in"):
        result_file(workspace, path, "input/a.png", "box")
