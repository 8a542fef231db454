"""What is recorded of a trial: its counts, and why it failed where it did."""

import logging
import traceback
from datetime import UTC, datetime
from typing import Any

from environments.models.faults import one_line
from environments.models.wire.arguments import clean_text
from stages.execute.dialogue.journal import Journal
from taskdata.errors import NightshiftError
from taskdata.schema.run import TrialOutcome
from taskdata.schema.transcript import ModelEvent, ToolEvent, Usage
from taskdata.store import Store

_logger = logging.getLogger(__name__)
_CAUSE_CHARS = 500
_DETAIL_CHARS = 20_000
_LEAST = (
    *("trial_id", "attempt", "status", "error", "error_detail", "wall_seconds"),
    *("sandbox", "code_version", "started_at"),
)
"""What every outcome of a failed trial says."""
_COUNTS = ("usage", "cost_usd", "turns", "tool_calls", "tool_errors")


def outcome_of(facts: dict[str, Any]) -> TrialOutcome:
    """Return the outcome of a trial that has just ended, with these fields."""
    return TrialOutcome.model_validate(facts | {"finished_at": datetime.now(UTC)})


def failed_outcome(facts: dict[str, Any], journal: Journal) -> TrialOutcome:
    """Return the outcome of a trial that failed; where it does not hold all, the cause at least."""
    try:
        return outcome_of(facts | totals(journal))
    # Without an outcome the trial would stay due for ever, and nobody would learn why.
    except Exception as exc:  # noqa: BLE001
        _logger.warning("trial %s: its counts are lost: %s", facts["trial_id"], cause(exc))
        return outcome_of({name: facts[name] for name in _LEAST} | dict.fromkeys(_COUNTS))


def totals(journal: Journal) -> dict[str, Any]:
    """Return the outcome's counts; also of a trial that was cut short, for its calls cost too."""
    models = [event for event in journal.events if isinstance(event, ModelEvent)]
    tools = [event for event in journal.events if isinstance(event, ToolEvent)]
    errors = sum(1 for event in tools if event.error is not None)
    costs = [event.cost_usd for event in journal.events if event.cost_usd is not None]
    return {
        "usage": sum((event.usage for event in models), Usage()),
        "cost_usd": sum(costs) if len(costs) == len(journal.events) else None,
        "turns": len(models) or len(tools),
        "tool_calls": len(tools) if journal.calls_are_seen else None,
        "tool_errors": errors if journal.calls_are_seen else None,
        "model_id": models[-1].model if models else None,
    }


def cause(exc: Exception) -> str:
    """Return what went wrong on one line; a type in front of what we did not raise ourselves."""
    text = one_line(clean_text(str(exc)), limit=_CAUSE_CHARS)
    return text if isinstance(exc, NightshiftError) else f"{type(exc).__name__}: {text}"


def detail_of(store: Store, journal: Journal, exc: Exception) -> str:
    """Return the traceback, and where the events up to the failure are kept."""
    detail = clean_text("".join(traceback.format_exception(exc)))[-_DETAIL_CHARS:]
    if not journal.events:
        return detail
    try:
        lines = "\n".join(event.model_dump_json() for event in journal.events)
        kept = store.artifacts.put_bytes(lines.encode())
    # What is lost here must not take the cause along.
    except Exception as error:  # noqa: BLE001
        return f"{detail}\nThe events up to here could not be kept: {cause(error)}"
    return f"{detail}\nThe events up to here: artifact {kept}"
