"""Messages between the host and the warm Python: lines of JSON, and byte strings.

The output of a forked call travels as plain bytes: it is as untrusted as the output of any other
program, and is parsed in the same place.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_LINE_BYTES = 1_000
"""Length of the line in front of an answer."""


class _Frame(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    nonce: str
    """Random value of each request, so that earlier output cannot pass for its answer."""


class Request(_Frame):
    """Run the `main` of a module of this project, as `python -m` would."""

    module: str
    load: tuple[str, ...]
    """See `libraries.load`."""
    stdin: str
    wall_seconds: float
    output_bytes: int
    """How much of standard output and of standard error is kept."""
    memory_bytes: int
    """Memory that all processes together may use."""


class Response(_Frame):
    """Sent twice for a request: when its program is about to begin, and when it has ended."""

    state: Literal["begun", "ended", "declined"]
    """`declined`: nothing was started, because this process cannot be forked safely."""
    exit_code: int = 0
    """Exit code; negative: the signal that killed it."""
    limit: Literal["wall", "output"] | None = None
    stdout_bytes: int = Field(default=0, ge=0)
    stderr_bytes: int = Field(default=0, ge=0)
    """How many bytes of standard error follow the line, after those of standard output."""
    leaving: bool = False
    """The process exits and will read no other request."""
