"""Personal data, harm, and orders to the model, in the texts and files of a whole task."""

from collections.abc import Iterable, Iterator

from quality.injection import injection_signs
from quality.safety.harm import harms
from quality.safety.personal import masked, personal_data, told
from quality.safety.task_texts import texts_of
from stages.intake.protection import Inspected
from taskdata.schema.quarantine import VALUE_CHARACTERS, Finding
from taskdata.schema.safety import SafetyRules
from taskdata.schema.task import InputFile, Task

_PLACES = 5


_SAYS = {
    "personal_data": "it holds personal data",
    "harm": "it asks for something that does harm",
    "injection": "it speaks to the model that reads it",
}


def unsafe(
    task: Task,
    rules: SafetyRules,
    gate: str,
    files: Iterable[tuple[InputFile, Inspected]] = (),
) -> Iterator[Finding]:
    """Yield what is found by rules of wording; it names places, and holds no personal data.

    Args:
        task: The task.
        rules: The kinds of personal data and harm that are allowed.
        gate: Where it is looked for.
        files: Files of the task, and what they hold.
    """
    places: dict[str, list[str]] = {rule: [] for rule in _SAYS}
    for place, text in texts_of(task).items():
        if data := personal_data(text, rules.allowed_personal_data):
            places["personal_data"].append(f"{place}: {told(data)}")
        if harm := harms(text, rules.allowed_harms):
            places["harm"].append(f"{place}: {', '.join(harm)}")
        if signs := injection_signs(text):
            places["injection"].append(f"{place}: {', '.join(signs)}")
    for file, found in files:
        if found.personal_data:
            places["personal_data"].append(f"file {file.path}: {found.personal_data}")
        for finding in found.findings:
            places[finding.rule].append(f"file {finding.told}")
    for rule, named in places.items():
        if named:
            yield _finding(gate, rule, _SAYS[rule], named)


def _finding(gate: str, rule: str, reason: str, places: list[str]) -> Finding:
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    value = (masked("; ".join(places[:_PLACES])) + more)[:VALUE_CHARACTERS]
    return Finding(gate=gate, rule=rule, reason=reason, value=value)
