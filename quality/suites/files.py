"""The gate on the files of tasks: are the bytes there, and are they what their name says?

Nothing here opens a file: the beginnings of those that the artifact store holds are passed in.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pydantic import Field

from quality.gates import Suite
from quality.suites.expectations import (
    among,
    between,
    one_of,
    quarantining,
    rule,
    unique_together,
    unlike,
)
from taskdata.schema.base import Value
from taskdata.schema.service import FOLDER
from taskdata.schema.task import InputFile, Task

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

HEAD_BYTES = 512
"""How much of the beginning of a file `file_rows` wants to see."""
_OUTSIDE = r"^[/~]|[\\\x00]|(?:^|/)\.\.(?:/|$)|^(?:\./)*\.?$"
"""A path that leaves its folder or means another one on some system, or no file at all."""


class FileRules(Value):
    """What the gate asks of a file."""

    max_bytes: int = Field(default=256 << 20, ge=1)


def file_rows(tasks: Sequence[Task], heads: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Return one row per file of each task, those hidden from the agent included.

    Args:
        tasks: Tasks whose files are meant.
        heads: The first `HEAD_BYTES` of every file in the artifact store, by sha256; a file that
            is missing there is missing here.
    """
    return [
        _row(task.id, f"{number} {folder}", folder, file, heads.get(file.sha256))
        for number, task in enumerate(tasks)
        for folder, files in _folders(task).items()
        for file in files
    ]


def files_suite(rules: FileRules = FileRules()) -> Suite:
    """Return the suite named `files` over `file_rows`.

    Its ids are those of tasks: a task goes into quarantine with all its files.
    """
    return Suite(
        name="files",
        id_column="task_id",
        columns=(
            "task_id",
            "folder",
            "path_in_folder",
            "path_without_case",
            "size_bytes",
            "is_stored",
            "form_of_name",
            "forms_of_bytes",
        ),
        expectations=lambda: quarantining(_expectations(rules)),
        may_be_empty=True,
    )


def _folders(task: Task) -> dict[str, tuple[InputFile, ...]]:
    folders = {"files": task.files}
    if around := task.environment:
        folders |= {
            "preprocess": around.preprocess,
            "evaluation": around.evaluation,
            "groundtruth": around.groundtruth,
            "search": around.search,
            **{f"{FOLDER}/{service.name}": service.files for service in around.services},
        }
    return folders


def _row(
    task_id: str, folder: str, shown: str, file: InputFile, head: bytes | None
) -> dict[str, Any]:
    extension = PurePosixPath(file.path).suffix.lower().removeprefix(".")
    return {
        "task_id": task_id,
        "folder": folder,
        "path": f"{shown}/{file.path}",
        "path_in_folder": file.path,
        # A file system without case could not keep such paths apart.
        "path_without_case": file.path.lower(),
        "size_bytes": file.size_bytes,
        "is_stored": head is not None,
        "form_of_name": _FORM_OF.get(extension),
        "forms_of_bytes": _forms(head) if head else None,
    }


def _starts(*beginnings: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(beginnings)


def _at(offset: int, mark: bytes) -> Callable[[bytes], bool]:
    return lambda head: head[offset : offset + len(mark)] == mark


def _is_text(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    # UTF-16 apart, text has no NUL; older encodings than UTF-8 are text as well.
    return b"\0" not in head


_LOOKS: dict[str, Callable[[bytes], bool]] = {
    "zip": _starts(b"PK\x03\x04", b"PK\x05\x06"),
    "jpeg": _starts(b"\xff\xd8\xff"),
    "tiff": _starts(b"II*\0", b"MM\0*"),
    "mp4": _at(4, b"ftyp"),
    "text": _is_text,
    # The header of a PDF may stand anywhere in its first kilobyte (ISO 32000-1, annex H.3.4.1).
    "pdf": lambda head: b"%PDF-" in head,
    "png": _starts(b"\x89PNG\r\n\x1a\n"),
    "gif": _starts(b"GIF87a", b"GIF89a"),
    "bmp": _starts(b"BM"),
    "webp": _at(8, b"WEBP"),
    "wav": _at(8, b"WAVE"),
    "mp3": _starts(b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"),
    "flac": _starts(b"fLaC"),
    "ogg": _starts(b"OggS"),
    "gzip": _starts(b"\x1f\x8b"),
}
"""How files begin, by their form; the same bytes may have several."""

_FORM_OF = {
    **{form: form for form in ("pdf", "png", "gif", "bmp", "webp", "wav", "mp3", "flac", "ogg")},
    **dict.fromkeys(("docx", "xlsx", "pptx", "odt", "ods", "odp", "zip", "epub"), "zip"),
    **dict.fromkeys(("jpg", "jpeg"), "jpeg"),
    **dict.fromkeys(("tif", "tiff"), "tiff"),
    **dict.fromkeys(("mp4", "m4a", "mov"), "mp4"),
    **dict.fromkeys(
        ("txt", "md", "csv", "tsv", "json", "jsonl", "html", "htm", "xml", "svg", "yaml", "yml"),
        "text",
    ),
    **dict.fromkeys(("py", "js", "ts", "css", "sh", "sql", "ics", "eml"), "text"),
    "gz": "gzip",
}
"""The form of a file by its extension; of others nothing is known or held against them."""


def _forms(head: bytes) -> tuple[str, ...]:
    return tuple(form for form, looks in _LOOKS.items() if looks(head))


def _expectations(rules: FileRules) -> list["Expectation"]:
    megabytes = rules.max_bytes / 2**20
    return [
        rule(
            "outside",
            unlike("path_in_folder", "a file stays inside its folder", _OUTSIDE),
            shows="path",
        ),
        rule(
            "repeated",
            unique_together(
                ["folder", "path_without_case"],
                "the paths of a task's files are distinct, whatever their case",
            ),
            shows="path",
        ),
        between("size_bytes", "no file is empty", 1),
        between("size_bytes", f"a file has at most {megabytes:g} MiB", high=rules.max_bytes),
        one_of("is_stored", "the artifact store holds every file", [True]),
        rule(
            "unlike_its_name",
            among(
                "form_of_name",
                "forms_of_bytes",
                "the bytes of a file are of the type that its name says",
            ),
            shows="path",
        ),
    ]
