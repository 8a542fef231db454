"""Runs inside the sandbox: reads one deliverable and replies with its view.

`python -m environments.renderers.worker` reads `{"name": ...}` from stdin, opens that file in
`input/`, and writes three lines to stdout: `ready` once all imports are done (a later failure is
caused by the file), the view, and the preview. Other output, of a library or caused by the file,
goes to stderr.
"""

import base64
import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from environments.renderers.limits import MAX_PREVIEW_BYTES, MAX_REPLY_BYTES, Unreadable
from taskdata.schema.views import UnreadableView, View

SOURCES = (
    *(
        ".py",
        ".js",
        ".ts",
        ".jsx",
        ".tsx",
        ".css",
        ".java",
        ".c",
        ".h",
        ".cpp",
        ".cs",
        ".go",
        ".rs",
    ),
    *(".rb", ".php", ".swift", ".kt", ".r", ".jl", ".sql", ".sh", ".ps1", ".tex", ".bib", ".rst"),
    *(".xml", ".yaml", ".yml", ".toml", ".ini", ".log", ".srt", ".vtt", ".ics", ".mmd", ".dot"),
)
"""Endings of source code and other plain texts."""
READERS = {
    ".xlsx": ("office.xlsx", "read_xlsx"),
    ".docx": ("office.docx", "read_docx"),
    ".pptx": ("office.pptx", "read_pptx"),
    ".pdf": ("pdf", "read_pdf"),
    ".html": ("web.html", "read_html"),
    ".htm": ("web.html", "read_html"),
    ".csv": ("text", "read_csv"),
    ".json": ("text", "read_json"),
    ".txt": ("text", "read_text"),
    ".md": ("text", "read_text"),
    ".eml": ("mail", "read_mail"),
    ".png": ("media.image", "read_image"),
    ".jpg": ("media.image", "read_image"),
    ".jpeg": ("media.image", "read_image"),
    ".gif": ("media.image", "read_image"),
    ".webp": ("media.image", "read_image"),
    ".wav": ("media.audio", "read_audio"),
    ".mp3": ("media.audio", "read_audio"),
    ".flac": ("media.audio", "read_audio"),
    ".ogg": ("media.audio", "read_audio"),
    ".mp4": ("media.video", "read_video"),
    ".webm": ("media.video", "read_video"),
    ".svg": ("web.svg", "read_svg"),
    ".zip": ("archive", "read_archive"),
    **dict.fromkeys(SOURCES, ("text", "read_text")),
}
"""Module below this package and its function, by file ending."""


def main() -> None:
    """Serve one request."""
    with os.fdopen(os.dup(1), "wb") as reply:
        os.dup2(2, 1)
        name = json.load(sys.stdin)["name"]
        path = Path("input") / name
        module_name, reader = READERS[path.suffix.lower()]
        if module_name == "office.xlsx":
            load_openpyxl()
        module = importlib.import_module(f"environments.renderers.{module_name}")
        _send(reply, b"ready")
        view = _view(getattr(module, reader), path)
        _send(reply, _view_line(view))
        _send(reply, json.dumps(_preview(module, module_name, path, view)).encode())


def load_openpyxl() -> None:
    """Import openpyxl without numpy, whose numbers it could write; no reader has any.

    numpy takes a fifth of the time and of the memory, and can still be imported afterwards.
    """
    if "numpy" in sys.modules or "openpyxl" in sys.modules:
        return
    sys.modules["numpy"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("openpyxl")
    finally:
        del sys.modules["numpy"]


def _send(reply: BinaryIO, line: bytes) -> None:
    reply.write(line + b"\n")
    reply.flush()


def _view(read: Callable[[Path], View], path: Path) -> View:
    try:
        if path.stat().st_size == 0:
            raise Unreadable("it is empty")
        return read(path)
    except Unreadable as exc:
        return UnreadableView(reason=str(exc))
    except MemoryError:
        return UnreadableView(reason="opening it takes more memory than allowed")
    except Exception as exc:  # noqa: BLE001 - a malformed file can raise anything in a parser
        return UnreadableView(reason=f"it cannot be parsed: {type(exc).__name__}: {exc}"[:500])


def _view_line(view: View) -> bytes:
    fields = _storable(view.model_dump(mode="python"))
    try:
        line = json.dumps(fields, allow_nan=False).encode()
    except ValueError:
        return _view_line(UnreadableView(reason="it holds a number that is not finite"))
    if len(line) > MAX_REPLY_BYTES:
        reason = f"its content takes {len(line):,} bytes; at most {MAX_REPLY_BYTES:,} are looked at"
        return _view_line(UnreadableView(reason=reason))
    return line


def _storable(value: Any) -> Any:
    """Return the value without NUL and lone surrogates, which databases and UTF-8 refuse."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return value


def _preview(module: Any, module_name: str, path: Path, view: View) -> str | None:
    """Return a small PNG in base64, if the format has a picture and it can be drawn."""
    try:
        if isinstance(view, UnreadableView):
            return None
        if module_name == "media.image":
            png = module.preview_image(path)
        elif module_name == "pdf":
            png = module.preview_pdf(path)
        elif module_name == "media.video":
            png = module.preview_video(path)
        elif module_name == "media.audio":
            png = module.preview_audio(view)
        else:
            return None
    except Exception as exc:  # noqa: BLE001 - no picture is no reason to lose the view
        sys.stderr.write(f"no preview: {type(exc).__name__}: {exc}\n")
        return None
    return base64.b64encode(png).decode() if len(png) <= MAX_PREVIEW_BYTES else None


if __name__ == "__main__":
    main()
