import pytest
from PIL import Image


@pytest.fixture
def blocks(workspace):
    """One block of every type, with text that needs escaping and bold parts."""
    Image.new("RGB", (400, 200), "red").save(workspace / "input/i.png")
    return [
        {"type": "heading", "text": "Größe"},
        {"type": "paragraph", "text": "A <b>tag</b> & **bold — €** end\nnext line"},
        {"type": "bullets", "items": ["first", "**second**"]},
        {"type": "numbered", "items": ["one", "two"]},
        {"type": "numbered", "items": ["again one"]},
        {"type": "heading", "text": "Zahlen", "level": 3},
        {"type": "table", "rows": [["Item", "Price"], ["Tea & <milk>", 3.5], ["Cake", None]]},
        {"type": "image", "path": "input/i.png", "width_cm": 5},
        {"type": "page_break"},
        {"type": "paragraph", "text": "last"},
    ]
