"""The coverage map: explicit requirements of a query, and the leaves that score each of them.

Code finds the requirements that are explicit in form: names of deliverables, names in quotation
marks, and numbers of parts ("six slides"). What a query demands in other words is named by a model,
with quotes and leaves; code accepts quotes that stand in the query and leaves that the tree has.
Which leaves score what code has found is decided by code alone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from stages.construct.rules.violation import Violation, of_tree
from stages.score.matching import contains_phrase, fold
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.construct import TaskDraft
from taskdata.schema.deliverable import is_meant
from taskdata.schema.requirement import ExplicitRequirement, MapOrigin, RequirementKind

_INSIDE = r"(?:[^%s\n]|\n(?!\s*\n)){2,60}?"
"""Text in quotation marks, which may run over the end of a line but not of a paragraph."""
_QUOTED = re.compile(
    r"|".join(
        # What begins with a space or a comma stands between two quotations.
        rf"{left}(?=[^\s,.;:!?)])({_INSIDE % right}){right}"
        for left, right in ('""', "\u201c\u201d", "\u201e\u201c", "\u00ab\u00bb", "``")
    )
)
_WORDS = (
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_NUMBERS = {word: number for number, word in enumerate(_WORDS, start=2)}
_COUNTED = re.compile(
    rf"\b(\d{{1,3}}|{'|'.join(_WORDS)})\s(?:[a-z-]{{1,20}}\s){{0,2}}"
    r"(slides?|pages?|sheets|worksheets|tabs|rows|columns|questions|bullets|bullet points"
    r"|paragraphs|sections|charts|sentences|chapters|scenes|headings)\b",
    re.IGNORECASE,
)
_LISTED = {"sheets": "sheet", "worksheets": "sheet", "tabs": "sheet", "columns": "columns"}
"""Arguments of checks that name each of several parts, by the word for these parts."""

COVERAGE = "coverage"
"""The rule that every explicit requirement has a leaf."""

QUOTE_LENGTH = (3, 300)
"""Characters of a quote that names one requirement."""
_PUNCTUATION = ' \t\n.,;:!?\u2026"\u201c\u201d'
_TOLD = 80


def coverage_map(
    draft: TaskDraft, named: Iterable[ExplicitRequirement] = ()
) -> tuple[ExplicitRequirement, ...]:
    """Return the explicit requirements of a draft, each once, with the leaves that score them.

    A leaf scores a file that it looks at, and a name or number that its requirement, rubric or the
    arguments of its check state.

    Args:
        draft: The task with its tree.
        named: Requirements that a model has named, perhaps for an earlier wording of the task.
            Those whose words no longer stand in the query are left out, and so are leaves that the
            tree no longer has.
    """
    leaves = draft.checkpoints.leaves()
    found: dict[str, ExplicitRequirement] = {}
    of_form = (*_files(draft, leaves), *_names(draft, leaves), *_counts(draft.query, leaves))
    for one in (*of_form, *_still_there(draft, named)):
        found.setdefault(fold(one.quote), one)
    return tuple(found.values())


def uncovered(draft: TaskDraft, named: Iterable[ExplicitRequirement] = ()) -> tuple[Violation, ...]:
    """Return a violation of the tree for each explicit requirement that no leaf scores."""
    return tuple(
        Violation(
            field=of_tree(),
            rule=COVERAGE,
            message=f"no leaf scores what the query asks for explicitly: {one.quote!r}",
        )
        for one in coverage_map(draft, named)
        if not one.leaves
    )


def named_requirement(draft: TaskDraft, quote: str, leaves: Iterable[str]) -> ExplicitRequirement:
    """Return a requirement as a model names it, with the quote as it stands in the query.

    White space, and punctuation at the ends of the quote, make no difference.

    Raises:
        BadTaskData: if the quote does not stand in the query, is too short or too long to name one
            requirement, or if the tree has no such leaf.
    """
    words = quote.strip(_PUNCTUATION).split()
    text = " ".join(words)
    if not QUOTE_LENGTH[0] <= len(text) <= QUOTE_LENGTH[1]:
        raise BadTaskData(
            f"quote {text[:_TOLD]!r}: has {len(text)} characters; {QUOTE_LENGTH[0]} to "
            f"{QUOTE_LENGTH[1]} name one requirement"
        )
    if not _stands(text, draft.query):
        raise BadTaskData(
            f"quote {text[:_TOLD]!r}: these words do not stand in the query; copy them from it"
        )
    ids = tuple(dict.fromkeys(leaves))
    there = [leaf.id for leaf in draft.checkpoints.leaves()]
    if unknown := [name for name in ids if name not in there]:
        raise BadTaskData(
            f"quote {text[:_TOLD]!r}: {unknown[0][:_TOLD]!r} is not a leaf; the leaves are "
            f"{', '.join(there)}"
        )
    return ExplicitRequirement(
        kind=RequirementKind.WORDS, quote=text, leaves=ids, origin=MapOrigin.MODEL
    )


def _still_there(
    draft: TaskDraft, named: Iterable[ExplicitRequirement]
) -> Iterator[ExplicitRequirement]:
    there = {leaf.id for leaf in draft.checkpoints.leaves()}
    for one in named:
        if one.origin is MapOrigin.MODEL and _stands(one.quote, draft.query):
            leaves = tuple(name for name in one.leaves if name in there)
            yield one.model_copy(update={"leaves": leaves})


def _stands(text: str, query: str) -> bool:
    return text in " ".join(query.split())


def _files(draft: TaskDraft, leaves: Sequence[Checkpoint]) -> Iterator[ExplicitRequirement]:
    for spec in draft.deliverables:
        looking = [leaf for leaf in leaves if any(is_meant(spec.name, n) for n in _read(leaf))]
        yield _requirement(RequirementKind.FILE, spec.name, looking)


def _names(draft: TaskDraft, leaves: Sequence[Checkpoint]) -> Iterator[ExplicitRequirement]:
    files = {fold(name) for name in (*draft.files, *(spec.name for spec in draft.deliverables))}
    for match in _QUOTED.finditer(draft.query):
        quote = " ".join(next(filter(None, match.groups())).split()).strip(" .,;:!?")
        if quote and fold(quote) not in files:
            stating = [leaf for leaf in leaves if contains_phrase(_said(leaf), fold(quote))]
            yield _requirement(RequirementKind.NAME, quote, stating)


def _counts(query: str, leaves: Sequence[Checkpoint]) -> Iterator[ExplicitRequirement]:
    for match in _COUNTED.finditer(query):
        written, part = match[1].lower(), match[2].lower()
        number = _NUMBERS.get(written) or int(written)
        ways = {str(number), *(word for word, value in _NUMBERS.items() if value == number)}
        stating = [leaf for leaf in leaves if any(contains_phrase(_said(leaf), w) for w in ways)]
        listing = [leaf for leaf in leaves if _parts(leaf, part)]
        named = {name for leaf in listing for name in _parts(leaf, part)}
        if len(named) >= number:
            stating += [leaf for leaf in listing if leaf not in stating]
        yield _requirement(RequirementKind.COUNT, " ".join(match[0].split()), stating)


def _requirement(
    kind: RequirementKind, quote: str, leaves: Sequence[Checkpoint]
) -> ExplicitRequirement:
    return ExplicitRequirement(kind=kind, quote=quote, leaves=tuple(leaf.id for leaf in leaves))


def _read(leaf: Checkpoint) -> tuple[str, ...]:
    if isinstance(leaf.verifier, Judge):
        return leaf.verifier.deliverables
    if isinstance(leaf.verifier, Check) and leaf.verifier.deliverable is not None:
        return (leaf.verifier.deliverable,)
    return ()


def _said(leaf: Checkpoint) -> str:
    said = [leaf.requirement]
    if isinstance(leaf.verifier, Judge):
        said.append(leaf.verifier.rubric)
    elif isinstance(leaf.verifier, Check):
        said += _texts(leaf.verifier.args)
    return fold("\n".join(said))


def _texts(value: object) -> Iterator[str]:
    """Yield every key and value of a check's arguments as text."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield str(key)
            yield from _texts(below)
    elif isinstance(value, list | tuple):
        for below in value:
            yield from _texts(below)
    else:
        yield str(value)


def _parts(leaf: Checkpoint, part: str) -> tuple[str, ...]:
    """Return the names of such parts, such as sheets, that the leaf's check states."""
    if part not in _LISTED or not isinstance(leaf.verifier, Check):
        return ()
    args = leaf.verifier.args
    named = args.get(_LISTED[part]) or (args.get("names") if _LISTED[part] == "sheet" else None)
    if isinstance(named, str):
        return (named,)
    return tuple(map(str, named)) if isinstance(named, list | tuple) else ()
