"""Messages between the host and the warm Python: lines of JSON, and byte strings.

A request is a nonce, the length of its JSON in digits, and the JSON. An answer begins with the
nonce, so that nothing else can pass for it: no call knows the nonce of its request, because the
warm Python keeps it where forked processes do not have it. The output of a forked call travels as
plain bytes: it is as untrusted as the output of any other program, and is parsed in the same place.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_LINE_BYTES = 1_000
"""Length of the line in front of an answer."""


NONCE_BYTES = 32
LENGTH_DIGITS = 8


class _Frame(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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
    unrelated: bool = False
    """The requests are of different trials: none may leave anything to the next, so also nothing
    in the output folder."""


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
