"""How long pages take to open in Chromium, up to the first figure drawn."""

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_TO_FIRST_FIGURE = """() => {
  const figure = document.querySelector("[data-figure]");
  figure?.scrollIntoView();
  return Boolean(figure);
}"""
_IS_DRAWN = "() => Boolean(document.querySelector('[data-figure] svg'))"


class Opening(NamedTuple):
    """How one page opened."""

    page: Path
    seconds: float
    cpu_s: float


def openings(pages: Sequence[Path]) -> Iterator[Opening]:
    """Open each page; yield nothing where no Chromium is on the PATH."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for page in pages:
            tab = browser.new_page()
            devtools = tab.context.new_cdp_session(tab)
            devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
            began = time.perf_counter()
            tab.goto(page.resolve().as_uri())
            if tab.evaluate(_TO_FIRST_FIGURE):
                # Playwright's own selectors walk every row of a large page for each look.
                tab.wait_for_function(_IS_DRAWN)
            seconds = time.perf_counter() - began
            metrics = devtools.send("Performance.getMetrics")["metrics"]
            worked = {one["name"]: one["value"] for one in metrics}["TaskDuration"]
            tab.close()
            yield Opening(page, seconds, worked)
        browser.close()
