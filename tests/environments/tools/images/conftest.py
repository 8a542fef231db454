"""Pictures to test with, all drawn here."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

FONT = Path(mpl.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"

INVOICE = (
    (40, 30, "Northwind Traders Ltd"),
    (40, 66, "12 Harbour Street, Bristol"),
    (40, 130, "INVOICE No. 2024-0815"),
    (40, 166, "Date: 14 March 2024"),
    *((40, 230, "Item"), (340, 230, "Quantity"), (500, 230, "Unit price"), (680, 230, "Total")),
    *((40, 270, "Desk lamp"), (340, 270, "4"), (500, 270, "24.50 EUR"), (680, 270, "98.00 EUR")),
    *((40, 310, "Office chair"), (340, 310, "2"), (500, 310, "189.00 EUR")),
    (680, 310, "378.00 EUR"),
    *((40, 350, "Paper A4, 500 sheets"), (340, 350, "10"), (500, 350, "4.90 EUR")),
    (680, 350, "49.00 EUR"),
    *((500, 410, "Net amount"), (680, 410, "525.00 EUR")),
    (40, 480, "Please pay within 30 days to the account below."),
)
"""Left, top and words of each text of an invoice, in reading order."""


@pytest.fixture(scope="session")
def png() -> Callable[[Image.Image], bytes]:
    """Turns a picture into the bytes of a PNG."""

    def as_png(image: Image.Image) -> bytes:
        stream = BytesIO()
        image.save(stream, format="PNG")
        return stream.getvalue()

    return as_png


@pytest.fixture(scope="session")
def invoice_words() -> list[str]:
    """The words of the invoice in reading order."""
    return " ".join(words for _, _, words in INVOICE).split()


@pytest.fixture(scope="session")
def invoice() -> Image.Image:
    """A page with an invoice, as a scan or screenshot would show it."""
    page = Image.new("RGB", (860, 540), "white")
    draw = ImageDraw.Draw(page)
    face = ImageFont.truetype(FONT, 20)
    for left, top, words in INVOICE:
        draw.text((left, top), words, fill="black", font=face)
    return page


@pytest.fixture
def scene() -> Image.Image:
    """A colourful picture with edges, flat parts and a gradient."""
    across = np.linspace(40, 220, 160).astype(np.uint8)
    pixels = np.zeros((120, 160, 3), dtype=np.uint8)
    pixels[:, :, 0] = across
    pixels[:, :, 2] = across[::-1]
    image = Image.fromarray(pixels)
    draw = ImageDraw.Draw(image)
    draw.ellipse((20, 20, 80, 80), fill="yellow")
    draw.rectangle((90, 60, 140, 110), fill="green", outline="black", width=3)
    return image


@pytest.fixture
def given(workspace: Path) -> Callable[..., str]:
    """Puts a picture, or bytes, into input/ and returns its path."""

    def give(content: Image.Image | bytes, name: str = "a.png") -> str:
        target = workspace / "input" / name
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            content.save(target)
        return f"input/{name}"

    return give


@pytest.fixture
def opened(workspace: Path) -> Callable[[str], Image.Image]:
    """Reads a picture of the workspace."""

    def read(path: str) -> Image.Image:
        with Image.open(workspace / path) as image:
            image.load()
            return image

    return read


@pytest.fixture(scope="session")
def font_of() -> Callable[[int], ImageFont.FreeTypeFont]:
    """Gives a plain font of a size in pixels."""
    return lambda size: ImageFont.truetype(FONT, size)
