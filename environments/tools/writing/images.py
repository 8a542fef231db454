"""Images for documents: checked before a library opens them."""

from pathlib import Path

from environments.tools.workspace.paths import input_file
from taskdata.errors import ToolRefused


def picture(workspace: Path, path: str) -> tuple[Path, int, int]:
    """Return the file, width and height in pixels of a PNG, JPEG, GIF, BMP or TIFF.

    Raises `ToolRefused` for anything else.
    """
    from PIL import Image, UnidentifiedImageError

    source = input_file(workspace, path)
    try:
        with Image.open(source) as image:
            kind, (width, height) = image.format, image.size
            image.verify()
    except UnidentifiedImageError as exc:
        raise ToolRefused(f"{path} is not an image.") from exc
    except (OSError, SyntaxError, ValueError) as exc:
        raise ToolRefused(f"{path} is a damaged image: {exc}") from exc
    if kind not in ("PNG", "JPEG", "GIF", "BMP", "TIFF"):
        raise ToolRefused(f"{path} is a {kind} image; save it as PNG or JPEG first.")
    return source, width, height
