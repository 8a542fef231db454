"""Runs inside the sandbox: reads the text in pictures.

`python -m environments.renderers.lettering.worker` reads `{"names": [...]}` from stdin, opens these
files in `input/`, and writes two lines to stdout: `ready` once all imports are done, and
`{"texts": [...], "reason": ...}`, a text for each picture that was read. Other output of libraries
goes to stderr.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from environments.renderers.lettering.formats import (
    MAX_PICTURE_SECONDS,
    MAX_READ_SECONDS,
    MAX_TEXT_CHARACTERS,
    NO_READER,
    has_reader,
)
from environments.renderers.media.image import on_white, open_image
from environments.tools.images.recognition.text_lines import read_page


def main() -> None:
    """Serve one request."""
    with os.fdopen(os.dup(1), "wb") as reply:
        os.dup2(2, 1)
        names = json.load(sys.stdin)["names"]
        reply.write(b"ready\n")
        reply.flush()
        reply.write(json.dumps(_read(names)).encode() + b"\n")


def _read(names: Sequence[str]) -> dict[str, Any]:
    if not has_reader():
        return {"texts": [], "reason": NO_READER}
    texts: list[str] = []
    end = time.process_time() + MAX_READ_SECONDS
    for name in names:
        if time.process_time() > end:
            return {"texts": texts, "reason": "the time for it was up"}
        picture = on_white(open_image(Path("input") / name))
        page = read_page(picture, MAX_PICTURE_SECONDS)
        texts.append("\n".join(line.text for line in page.lines)[:MAX_TEXT_CHARACTERS])
        if page.unread:
            return {"texts": texts, "reason": "the time for it was up"}
    return {"texts": texts, "reason": ""}


if __name__ == "__main__":
    main()
