"""Rules about wording: outcomes instead of actions, no tools, no prescribed steps (GTA-2, 3.3.4).

Code finds the plain cases; cases that take understanding are left to the model's opinion. Every
pattern is bounded, because models write the texts.
"""

import re
from collections.abc import Iterator

from quality.injection import injection_signs
from quality.safety.harm import harms
from quality.safety.personal import personal_data, told
from quality.tool_names import tools_named
from stages.construct.rules.violation import Rulebook, Violation, in_tree
from taskdata.schema.checkpoint import Judge
from taskdata.schema.construct import TaskDraft
from taskdata.schema.safety import SafetyRules

_WORKER = r"(?:agent|assistant|ai|llm|language model|solver|candidate)"
_DOING = (
    r"(?:opens?|reads?|uses?|calls?|invokes?|runs?|executes?|loads?|imports?|parses|extracts?"
    r"|search(?:es)?|browses?|clicks?|navigates?|downloads?|looks? up)"
)
_BEGINNING = (
    r"(?:open|read|use|call|invoke|run|execute|launch|load|import|parse|browse|search|click"
    r"|download|look up|go to)"
)
_STARTS = r"(?:the|an?|all|each|every|both|this|these|your|its|input|through|on|in|for|with)"

# Each alternative: an actor at work, an instruction to work, tool calls, or an order of work.
_ACTION = re.compile(
    rf"\b(?:the|an) {_WORKER} (?:\w{{1,20}} ){{0,2}}{_DOING}\b"
    rf"|\A\s{{0,9}}{_BEGINNING} {_STARTS}\b"
    r"|\A\s{0,9}(?:first|next|then|finally|afterwards),"
    r"|\btool[ -](?:calls?|invocations?|use)\b"
    r"|\b(?:use[sd]?|using|calls?|calling|invokes?|via|with) (?:the|an?) [\w.-]{1,40} tool\b"
    r"|(?:\A|[.;:,] )first(?:ly)?,? [^.;\n]{1,160}\b(?:then|afterwards|after that|finally)\b"
    r"|\bstep (?:\d{1,2}|one|two|three)\b",
    re.IGNORECASE,
)
_PROCESS = (
    r"(?:open|read|load|import|extract|parse|filter|sort|merge|join|convert|run|execute|call|use"
    r"|search|look up|download|click|save|export|clean)"
)
_STEP_LINE = re.compile(r"^[ \t>*#-]{0,9}step[ \t]{0,3}\d{1,2}\b", re.IGNORECASE | re.MULTILINE)
_STEP = re.compile(r"\bstep[ \t]{0,3}(\d{1,2})\b", re.IGNORECASE)
_NUMBERED = re.compile(
    rf"^[ \t]{{0,9}}\(?\d{{1,2}}[.):][ \t]{{1,4}}{_PROCESS}\b", re.IGNORECASE | re.MULTILINE
)
_ORDERED = re.compile(
    rf"\bfirst(?:ly)?,? {_PROCESS}\b[^\n]{{1,300}}?\b(?:then|after that|next),? {_PROCESS}\b",
    re.IGNORECASE,
)


def query_wording(draft: TaskDraft, book: Rulebook) -> tuple[Violation, ...]:
    """Return the violations in the wording of title, query and descriptions."""
    return tuple(_query(draft, book))


def tree_wording(draft: TaskDraft, book: Rulebook) -> tuple[Violation, ...]:
    """Return the violations in the wording of requirements and rubrics."""
    return tuple(_tree(draft, book))


def action_words(text: str) -> str | None:
    """Return the words with which a requirement prescribes an action, None if it does not."""
    found = _ACTION.search(text)
    return None if found is None else " ".join(found[0].split())


def prescribed_steps(query: str) -> str | None:
    """Return the words with which a query prescribes how to work, None if it does not.

    These are a line that begins with a numbered step, several step numbers, several numbered lines
    that begin with a verb of working, or such verbs joined by first and then.
    """
    for pattern in (_STEP_LINE, _ORDERED):
        if found := pattern.search(query):
            return " ".join(found[0].split())
    if len({match[1] for match in _STEP.finditer(query)}) > 1:
        return "step 1, step 2"
    numbered = _NUMBERED.findall(query)
    return " ".join(numbered[0].split()) if len(numbered) > 1 else None


def _query(draft: TaskDraft, book: Rulebook) -> Iterator[Violation]:
    for tool in sorted(tools_named(draft.query, book.tools)):
        message = f"the query names the tool {tool}; say what is wanted instead"
        yield Violation(field="query", rule="names_tool", message=message)
    if steps := prescribed_steps(draft.query):
        message = f"the query prescribes steps ({steps!r}); say what is wanted instead"
        yield Violation(field="query", rule="prescribes_steps", message=message)
    texts = [("title", draft.title), ("query", draft.query)]
    texts += [("deliverables", spec.description) for spec in draft.deliverables]
    for field, text in texts:
        yield from _unsafe(field, text, book.safety)


def _tree(draft: TaskDraft, book: Rulebook) -> Iterator[Violation]:
    for node in draft.checkpoints.nodes():
        parts = [("requirement", node.requirement)]
        if isinstance(node.verifier, Judge):
            parts.append(("rubric", node.verifier.rubric))
        for part, text in parts:
            field = in_tree(node.id, part)
            if words := action_words(text):
                message = f"prescribes an action ({words!r}); say how the finished work is"
                yield Violation(field=field, rule="action_oriented", message=message)
            for tool in sorted(tools_named(text, book.tools)):
                message = f"names the tool {tool}; results are scored, not tools"
                yield Violation(field=field, rule="names_tool", message=message)
            yield from _unsafe(field, text, book.safety)


def _unsafe(field: str, text: str, rules: SafetyRules) -> Iterator[Violation]:
    if signs := injection_signs(text):
        message = f"speaks to the model that reads it ({', '.join(signs)})"
        yield Violation(field=field, rule="injection", message=message)
    if harm := harms(text, rules.allowed_harms):
        message = f"asks for something that does harm ({', '.join(harm)})"
        yield Violation(field=field, rule="harm", message=message)
    # Under the other policy such data is masked before the draft is stored.
    if rules.personal_data == "quarantine" and (
        found := personal_data(text, rules.allowed_personal_data)
    ):
        message = f"holds personal data: {told(found)}; say it without"
        yield Violation(field=field, rule="personal_data", message=message)
