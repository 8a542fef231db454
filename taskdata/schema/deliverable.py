"""The files that a task asks for: their types and names."""

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
"""The beginning of a deliverable's name that stands for any file of a type, as in `*.docx`."""

_ENDINGS = {"html": (".html", ".htm"), "jpg": (".jpg", ".jpeg")}
"""The endings of types that have several."""


class DeliverableSpec(Value):
    """A file the task asks for."""

    name: RelativePath
    """The file's name. `*.docx` stands for any file of the type, in any folder."""
    type: DeliverableType
    description: str = ""

    @property
    def is_any(self) -> bool:
        """Whether the name stands for any file of the type."""
        return self.name.startswith(ANY)

    def matches(self, path: str) -> bool:
        """Return whether the deliverable's name fits the path of a file that was left."""
        return is_meant(path, self.name)


def is_meant(path: str, name: str) -> bool:
    """Return whether a deliverable's name fits the file at `path`.

    No pattern fits the final state of services, because the agent did not leave these files.
    """
    if not name.startswith(ANY):
        return path == name
    ending = name.removeprefix(ANY)
    is_state = path.partition("/")[0] == FOLDER
    return not is_state and path.lower().endswith(_ENDINGS.get(ending, (f".{ending}",)))
