"""What a task asks for: kinds of files, and their names."""

from enum import StrEnum

from taskdata.schema.base import RelativePath, Value
from taskdata.schema.service import FOLDER


class DeliverableType(StrEnum):
    """File types that a task may ask for."""

    XLSX = "xlsx"
    CSV = "csv"
    DOCX = "docx"
    PPTX = "pptx"
    PDF = "pdf"
    HTML = "html"
    PNG = "png"
    JSON = "json"
    WAV = "wav"
    MD = "md"
    TXT = "txt"
    JPG = "jpg"
    GIF = "gif"
    WEBP = "webp"
    SVG = "svg"
    MP3 = "mp3"
    FLAC = "flac"
    OGG = "ogg"
    MP4 = "mp4"
    WEBM = "webm"
    ZIP = "zip"
    PY = "py"
    JS = "js"
    CSS = "css"
    SQL = "sql"
    SH = "sh"
    XML = "xml"
    YAML = "yaml"
    TEX = "tex"


ANY = "*."
"""What the name of a deliverable begins with that may have any name."""

_ENDINGS = {"html": (".html", ".htm"), "jpg": (".jpg", ".jpeg")}
"""Of types whose files have several endings."""


class DeliverableSpec(Value):
    """A file the task asks for."""

    name: RelativePath
    """`*.docx`: the task names no file, so any file of the type is meant, in any folder."""
    type: DeliverableType
    description: str = ""

    @property
    def is_any(self) -> bool:
        """Whether any file of the type is meant."""
        return self.name.startswith(ANY)

    def matches(self, path: str) -> bool:
        """Return whether a file that was left under this path is meant."""
        return is_meant(path, self.name)


def is_meant(path: str, name: str) -> bool:
    """Return whether the file left under `path` is meant by the name of a deliverable.

    The final state of services, which has a folder of its own, is no file of an agent.
    """
    if not name.startswith(ANY):
        return path == name
    ending = name.removeprefix(ANY)
    is_state = path.partition("/")[0] == FOLDER
    return not is_state and path.lower().endswith(_ENDINGS.get(ending, (f".{ending}",)))
