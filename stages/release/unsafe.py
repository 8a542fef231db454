"""Personal data, harm, and orders to the model, in the texts of a whole task."""

from collections.abc import Iterator

from quality.injection import injection_signs
from quality.safety.harm import harms
from quality.safety.personal import masked, personal_data, told
from quality.safety.task_texts import texts_of
from taskdata.schema.quarantine import VALUE_CHARACTERS, Finding
from taskdata.schema.safety import SafetyRules
from taskdata.schema.task import Task

_PLACES = 5


def unsafe(task: Task, rules: SafetyRules, gate: str) -> Iterator[Finding]:
    """Yield what is found by rules of wording; it names places, and holds no personal data.

    Args:
        task: The task.
        rules: The kinds of personal data and harm that are allowed.
        gate: Where it is looked for.
    """
    texts = texts_of(task)
    data = {p: personal_data(t, rules.allowed_personal_data) for p, t in texts.items()}
    if any(data.values()):
        places = [f"{place}: {told(found)}" for place, found in data.items() if found]
        yield _finding(gate, "personal_data", "it holds personal data", places)
    harm = {place: harms(text, rules.allowed_harms) for place, text in texts.items()}
    if any(harm.values()):
        places = [f"{place}: {', '.join(found)}" for place, found in harm.items() if found]
        yield _finding(gate, "harm", "it asks for something that does harm", places)
    signs = {place: injection_signs(text) for place, text in texts.items()}
    if any(signs.values()):
        places = [f"{place}: {', '.join(found)}" for place, found in signs.items() if found]
        yield _finding(gate, "injection", "it speaks to the model that reads it", places)


def _finding(gate: str, rule: str, reason: str, places: list[str]) -> Finding:
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    value = (masked("; ".join(places[:_PLACES])) + more)[:VALUE_CHARACTERS]
    return Finding(gate=gate, rule=rule, reason=reason, value=value)
