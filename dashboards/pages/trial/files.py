"""Deliverables as a trial's page shows them: named safely, previewed, played and downloaded."""

import re
from pathlib import PurePosixPath
from typing import Any

from dashboards.pages import formats
from dashboards.pages.trial.caps import Cap, shown
from dashboards.pages.trial.previews import preview
from taskdata.schema.input_file import InputFile
from taskdata.schema.run import Deliverable
from taskdata.schema.views import PagePictures, RenderedDeliverable

_RECORDINGS = (".wav", ".mp3", ".ogg", ".flac", ".m4a", ".mp4", ".webm")
"""Endings of the files that a browser plays; `assets/files.js` has the type of each."""
_ONE_PICTURE = ("image", "svg")
"""Kinds of files that are a picture, and have no pages."""
_UNSAFE = re.compile(r"[^\w.\- ()+,=@\[\]]")
_NAME_LENGTH = 120


def deliverable(
    file: Deliverable, rendered: RenderedDeliverable | None, cap: Cap
) -> dict[str, Any]:
    """Return what the page shows of one deliverable within `cap`."""
    return {
        "name": shown(file.name, cap.reason),
        "facts": f"{formats.size(file.size_bytes)}, sha256 {file.sha256[:12]}",
        "sha256": file.sha256,
        **named(file.name),
        "picture": None if rendered is None else rendered.preview_png_sha256,
        **_pages(
            None if rendered is None or rendered.view.kind in _ONE_PICTURE else rendered.pages
        ),
        "blocks": [] if rendered is None else preview(rendered.view, cap),
    }


def input_file(file: InputFile, cap: Cap) -> dict[str, Any]:
    """Return what the page shows of one file that the task gave to the agent."""
    return {
        "name": shown(file.path, cap.reason),
        "facts": formats.size(file.size_bytes),
        "sha256": file.sha256,
        **named(file.path),
    }


def named(name: str) -> dict[str, str | None]:
    """Return under which name a file is saved, and what it is played as if it is a recording."""
    ending = PurePosixPath(name).suffix.lower()
    return {
        "save_as": save_as(name),
        "recording": ending[1:] if ending in _RECORDINGS else None,
    }


def _pages(pages: PagePictures | None) -> dict[str, Any]:
    if pages is None or not pages.pictures:
        return {"pages": [], "pages_note": ""}
    more = pages.page_count - len(pages.pictures)
    note = f"{formats.plural(more, 'more page')}, not drawn" if more > 0 else ""
    return {"pages": list(pages.pictures), "pages_note": note}


def left_out(count: int) -> dict[str, Any]:
    """Return the entry that stands for deliverables which are not shown."""
    more = formats.plural(count, "more file")
    return {"name": more, "facts": "", "sha256": None, "picture": None, "pages": [], "blocks": []}


def save_as(name: str) -> str:
    """Return the last part of a deliverable's name, harmless as the name of a downloaded file."""
    last = _UNSAFE.sub("_", PurePosixPath(name).name).strip(". ")
    ending = PurePosixPath(last).suffix[:20]
    return last[: _NAME_LENGTH - len(ending)].removesuffix(ending) + ending if last else "file"
