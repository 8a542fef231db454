"""The gate on the files of tasks: are the bytes there, and are they what their name says?

Nothing here opens a file: the beginnings of those that the artifact store holds are passed in.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pydantic import Field

from quality.gates import Suite
from quality.suites.expectations import between, empty, one_of, quarantining
from taskdata.schema.base import Value
from taskdata.schema.service import FOLDER
from taskdata.schema.task import InputFile, Task

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

HEAD_BYTES = 512
"""How much of the beginning of a file `file_rows` wants to see."""


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
        _row(task.id, folder, file, repeated, heads.get(file.sha256))
        for task in tasks
        for folder, files in _folders(task).items()
        for repeated in [_repeated(files)]
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
            "path",
            "outside",
            "repeated",
            "size_bytes",
            "is_stored",
            "unlike_its_name",
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


def _repeated(files: Sequence[InputFile]) -> set[str]:
    """Return the paths that a file system without case could not keep apart, in lower case."""
    return {p for p, count in Counter(file.path.lower() for file in files).items() if count > 1}


def _row(
    task_id: str, folder: str, file: InputFile, repeated: set[str], head: bytes | None
) -> dict[str, Any]:
    path = f"{folder}/{file.path}"
    return {
        "task_id": task_id,
        "path": path,
        "outside": None if _stays_inside(file.path) else path,
        "repeated": path if file.path.lower() in repeated else None,
        "size_bytes": file.size_bytes,
        "is_stored": head is not None,
        "unlike_its_name": None if head is None or _fits(file.path, head) else path,
    }


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    odd = path.startswith(("/", "~")) or "\\" in path or "\0" in path
    return bool(parts) and ".." not in parts and not odd


def _starts(*beginnings: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(beginnings)


def _at(offset: int, mark: bytes) -> Callable[[bytes], bool]:
    return lambda head: head[offset : offset + len(mark)] == mark


def _is_text(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    # UTF-16 apart, text has no NUL; older encodings than UTF-8 are text as well.
    return b"\0" not in head


_ZIP = _starts(b"PK\x03\x04", b"PK\x05\x06")
_JPEG = _starts(b"\xff\xd8\xff")
_TIFF = _starts(b"II*\0", b"MM\0*")
_MP4 = _at(4, b"ftyp")
_LOOKS: dict[str, Callable[[bytes], bool]] = {
    **dict.fromkeys(("docx", "xlsx", "pptx", "odt", "ods", "odp", "zip", "epub"), _ZIP),
    **dict.fromkeys(("jpg", "jpeg"), _JPEG),
    **dict.fromkeys(("tif", "tiff"), _TIFF),
    **dict.fromkeys(("mp4", "m4a", "mov"), _MP4),
    **dict.fromkeys(
        ("txt", "md", "csv", "tsv", "json", "jsonl", "html", "htm", "xml", "svg", "yaml", "yml"),
        _is_text,
    ),
    **dict.fromkeys(("py", "js", "ts", "css", "sh", "sql", "ics", "eml"), _is_text),
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
    "gz": _starts(b"\x1f\x8b"),
}
"""How files begin, by extension; of others nothing is known, and nothing is held against them."""


def _fits(path: str, head: bytes) -> bool:
    looks = _LOOKS.get(PurePosixPath(path).suffix.lower().removeprefix("."))
    return looks is None or not head or looks(head)


def _expectations(rules: FileRules) -> list["Expectation"]:
    megabytes = rules.max_bytes / 2**20
    return [
        empty("outside", "a file stays inside its folder"),
        empty("repeated", "the paths of a task's files are distinct, whatever their case"),
        between("size_bytes", "no file is empty", 1),
        between("size_bytes", f"a file has at most {megabytes:g} MiB", high=rules.max_bytes),
        one_of("is_stored", "the artifact store holds every file", [True]),
        empty("unlike_its_name", "the bytes of a file are of the type that its name says"),
    ]
