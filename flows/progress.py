"""What a person sees while a run goes on; flows report here, the CLI decides how it looks."""

import logging
from typing import Protocol

from taskdata.schema.run import StageReport

_logger = logging.getLogger(__name__)


class Progress(Protocol):
    """Where flows report how far they are."""

    def told(self, line: str) -> None:
        """Something begins that takes a while and is no stage."""
        ...

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

    def told(self, line: str) -> None:
        """Log it."""
        _logger.info("%s", line)

    def started(self, stage: str, total: int) -> None:
        """Log the beginning."""
        _logger.info("%s: %d due", stage, total)

    def advanced(self, stage: str, done: int) -> None:
        """Log nothing: the Prefect progress artifact shows it."""

    def ended(self, stage: str, report: StageReport) -> None:
        """Log the counts."""
        _logger.info("%s: %d of %d done, %d errors", stage, report.done, report.due, report.errors)
