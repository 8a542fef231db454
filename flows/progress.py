"""What a person sees while a run goes on; flows report here, the CLI decides how it looks."""

import logging
from contextvars import ContextVar
from typing import Protocol

from taskdata.schema.run import StageReport

_logger = logging.getLogger(__name__)


class Progress(Protocol):
    """Where flows report how far they are."""

    def started(self, stage: str, total: int) -> None:
        """A stage begins; `total` trials are due."""
        ...

    def advanced(self, stage: str, done: int) -> None:
        """`done` of the stage's trials are done by now."""
        ...

    def ended(self, stage: str, report: StageReport) -> None:
        """A stage has ended."""
        ...


class LoggedProgress:
    """Progress in the log, for runs without a terminal."""

    def started(self, stage: str, total: int) -> None:
        """Log the beginning."""
        _logger.info("%s: %d due", stage, total)

    def advanced(self, stage: str, done: int) -> None:
        """Log nothing: the Prefect progress artifact shows it."""

    def ended(self, stage: str, report: StageReport) -> None:
        """Log the counts."""
        _logger.info("%s: %d of %d done, %d errors", stage, report.done, report.due, report.errors)


progress: ContextVar[Progress] = ContextVar("progress", default=LoggedProgress())  # noqa: B039
"""The listener of this process."""
