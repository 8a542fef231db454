"""What a flow is given by whoever calls it in this process, such as `nightshift run`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from flows.progress import LoggedProgress, Progress


@dataclass(frozen=True)
class Caller:
    """What the caller of a flow shares with it; as it stands, what a deployment's flow runs get."""

    progress: Progress = field(default_factory=LoggedProgress)
    """Who is told how far the flow is."""
    holds_run: bool = False
    """Whether the caller holds the lock of the run, or of the refresh, and calls all its stages."""
    endpoints: Mapping[str, tuple[str, ...]] | None = None
    """Local model servers that the caller keeps for all stages, by model; None: there are none."""


_caller: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039
"""No argument, for those of a flow are stored as JSON and are the form of its deployment."""


def caller() -> Caller:
    """Return what the flow in progress is given by its caller."""
    return _caller.get()


@contextmanager
def calling(**changes: Any) -> Iterator[None]:
    """Give these fields of `Caller` to the flows that are called in the block."""
    token = _caller.set(replace(_caller.get(), **changes))
    try:
        yield
    finally:
        _caller.reset(token)
