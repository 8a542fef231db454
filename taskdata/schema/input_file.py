"""A file that a task brings."""

from pydantic import Field

from taskdata.schema.base import RelativePath, Sha256, Value


class InputFile(Value):
    """A file the task brings; its bytes are in the artifact store."""

    path: RelativePath
    sha256: Sha256
    size_bytes: int = Field(ge=0)
