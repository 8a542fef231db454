"""What the host and the Python that stays say to each other: lines of JSON, and counted bytes.

Of what a forked call wrote, only the bytes travel: they are as untrusted as those of a program of
its own, and are read where such are.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_LINE_BYTES = 1_000
"""Of the line in front of an answer."""


class _Frame(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    nonce: str
    """Made up for each request, so that nothing said before it passes for its answer."""


class Request(_Frame):
    """Run the `main` of one of our modules, as `python -m` would."""

    module: str
    load: tuple[str, ...]
    """See `libraries.load`."""
    stdin: str
    wall_seconds: float
    output_bytes: int
    """Kept of standard output and standard error, each."""
    memory_bytes: int
    """What all processes together may use."""


class Response(_Frame):
    """Said twice of a request: when its program is about to begin, and when it has ended."""

    state: Literal["begun", "ended", "declined"]
    """`declined`: nothing was begun, because this process cannot be forked safely."""
    exit_code: int = 0
    """Negative: the signal that killed it."""
    limit: Literal["wall", "output"] | None = None
    stdout_bytes: int = Field(default=0, ge=0)
    stderr_bytes: int = Field(default=0, ge=0)
    """So many follow the line, those of standard output first."""
    leaving: bool = False
    """No other request will be read."""
