"""Take a picture of a page for the documentation, as a reader with a light screen sees its top.

`python scripts/picture.py PAGE IMAGE [--width 1240] [--height 1070]`, for example with
`$(nightshift dashboard --path)` and `docs/images/morning.png`; it needs Chromium on the PATH.
"""

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

_DRAWN = """() => Array.from(document.querySelectorAll("[data-figure]"))
  .filter((figure) => figure.getBoundingClientRect().top < innerHeight)
  .every((figure) => figure.querySelector(".main-svg"))"""


def main() -> None:
    """Take the picture, once every figure in it is drawn."""
    wanted = _options()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("no Chromium on the PATH; install Debian's `chromium`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        size = {"width": wanted.width, "height": wanted.height}
        page = browser.new_page(viewport=size, color_scheme="light")
        page.goto(wanted.page.resolve().as_uri())
        page.wait_for_function(_DRAWN)
        page.screenshot(path=wanted.image)
        browser.close()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("image", type=Path)
    parser.add_argument("--width", type=int, default=1240, help="pixels")
    parser.add_argument("--height", type=int, default=1070, help="pixels")
    return parser.parse_args()


if __name__ == "__main__":
    main()
