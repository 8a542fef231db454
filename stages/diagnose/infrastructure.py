"""Labels trials lost outside their agent with the part that failed, from the recorded error."""

import re

from stages.diagnose.signals import one_line
from taskdata import errors
from taskdata.schema.diagnosis import Evidence, Label, Taxonomy
from taskdata.schema.run import TrialResult

PROVIDER, SANDBOX, TOOL_BACKEND = "provider", "sandbox", "tool_backend"
TASK, OUR_BUG, RUN_LIMIT, UNDETERMINED = "broken_task", "our_bug", "run_limit", "undetermined"

_BY_ERROR = {
    "ModelUnavailable": PROVIDER,
    "ModelRejected": PROVIDER,
    "AttemptFailed": PROVIDER,
    "NotSent": PROVIDER,
    "NoAnswerInTime": PROVIDER,
    "ConversationTooLong": PROVIDER,
    "ConversationRefused": PROVIDER,
    "NotRecorded": PROVIDER,
    "JudgeUnreadable": PROVIDER,
    "SimulatedUserFailed": PROVIDER,
    "CriticFailed": PROVIDER,
    "SandboxFailed": SANDBOX,
    "ChecksFailed": SANDBOX,
    "ToolUnavailable": TOOL_BACKEND,
    "ServiceFailed": TOOL_BACKEND,
    "ServiceUnable": TOOL_BACKEND,
    "BadTaskData": TASK,
    "PreprocessFailed": TASK,
    "BudgetExhausted": RUN_LIMIT,
    "TooDear": RUN_LIMIT,
    "MoneyHeld": RUN_LIMIT,
    "DeadlinePassed": RUN_LIMIT,
}
_OWN = frozenset(
    name
    for name, error in vars(errors).items()
    if isinstance(error, type) and issubclass(error, errors.NightshiftError)
) | frozenset(_BY_ERROR)
_RAISED = re.compile(r"^(?:[a-zA-Z_]\w*\.)*(?P<type>[A-Z]\w*)(?::|$)", re.MULTILINE)
"""The line of a traceback, or the beginning of a cause, that names the type of an exception."""
_FOREIGN = re.compile(r"^[A-Z]\w*(Error|Exception|Timeout|Interrupt)(:|$)")
_IN_WORDS = (
    (TASK, re.compile(r"^(check|task|checkpoint) '[^']{0,200}':? ")),
    (SANDBOX, re.compile(r"^bubblewrap |^the process that runs checks ")),
    (PROVIDER, re.compile(r": HTTP \d{3}\b|: the connection failed: ")),
)
_STATED, _GUESSED = 1.0, 0.5


def infrastructure_label(result: TrialResult) -> Label | None:
    """Return which part outside the agent failed; None: the trial was not lost.

    The label is derived from the stored error and never stored itself, so a trial that is repeated
    loses it together with the error.
    """
    if not result.is_infrastructure_error:
        return None
    outcome = result.outcome
    detail = (outcome.error_detail if outcome is not None else None) or ""
    error = (outcome.error if outcome is not None else None) or result.scoring_error or ""
    name = RUN_LIMIT if result.is_left_out else _part(error, detail)
    return Label(
        taxonomy=Taxonomy.INFRASTRUCTURE,
        name=name,
        confidence=_GUESSED if name == UNDETERMINED else _STATED,
        evidence=(Evidence(says=one_line(error) or "no cause was recorded"),),
    )


def _part(error: str, detail: str) -> str:
    raised = [match["type"] for match in _RAISED.finditer(detail)]
    known = [name for name in raised if name in _OWN or _FOREIGN.match(name)]
    # The last exception ended the trial; the ones before it are its causes.
    if known and known[-1] not in _OWN:
        return OUR_BUG
    if known and known[-1] in _BY_ERROR:
        return _BY_ERROR[known[-1]]
    # Errors of Nightshift's own types are recorded without the type's name, all others with it.
    if _FOREIGN.match(error):
        return OUR_BUG
    # An error of scoring has no traceback on record.
    return next((part for part, words in _IN_WORDS if words.search(error)), UNDETERMINED)
