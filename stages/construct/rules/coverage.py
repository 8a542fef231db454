"""The coverage map: explicit requirements of a query, and the leaves that score each of them.

Code finds the requirements that are explicit in form: names of deliverables, names in quotation
marks, and numbers of parts ("six slides"). What a query demands in other words is left to
the reviewer.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from stages.construct.rules.violation import Violation, of_tree
from stages.score.matching import contains_phrase, fold
from taskdata.schema.base import Value
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.construct import TaskDraft
from taskdata.schema.deliverable import is_meant

_QUOTED = re.compile(
    r'"([^"\n]{2,60})"|\u201c([^\u201d\n]{2,60})\u201d|\u201e([^\u201c\n]{2,60})\u201c'
    r"|\u00ab([^\u00bb\n]{2,60})\u00bb|`([^`\n]{2,60})`"
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


class RequirementKind(StrEnum):
    """How a requirement is explicit."""

    FILE = "file"
    NAME = "name"
    COUNT = "count"


class ExplicitRequirement(Value):
    """A requirement in the words of the query, and the leaves that score it."""

    kind: RequirementKind
    quote: str
    """As it stands in the query; of a file that the query does not name, the file's name."""
    leaves: tuple[str, ...]
    """Ids; empty: no leaf scores it."""


def coverage_map(draft: TaskDraft) -> tuple[ExplicitRequirement, ...]:
    """Return the explicit requirements of a draft, each once, with the leaves that score them.

    A leaf scores a file that it looks at, and a name or number that its requirement, rubric or the
    arguments of its check state.
    """
    leaves = draft.checkpoints.leaves()
    found: dict[tuple[RequirementKind, str], ExplicitRequirement] = {}
    for one in (*_files(draft, leaves), *_names(draft, leaves), *_counts(draft.query, leaves)):
        found.setdefault((one.kind, fold(one.quote)), one)
    return tuple(found.values())


def uncovered(draft: TaskDraft) -> tuple[Violation, ...]:
    """Return a violation of the tree for each explicit requirement that no leaf scores."""
    return tuple(
        Violation(
            field=of_tree(),
            rule="coverage",
            message=f"no leaf scores what the query asks for explicitly: {one.quote!r}",
        )
        for one in coverage_map(draft)
        if not one.leaves
    )


def _files(draft: TaskDraft, leaves: Sequence[Checkpoint]) -> Iterator[ExplicitRequirement]:
    for spec in draft.deliverables:
        looking = [leaf for leaf in leaves if any(is_meant(spec.name, n) for n in _read(leaf))]
        yield _requirement(RequirementKind.FILE, spec.name, looking)


def _names(draft: TaskDraft, leaves: Sequence[Checkpoint]) -> Iterator[ExplicitRequirement]:
    files = {fold(name) for name in (*draft.files, *(spec.name for spec in draft.deliverables))}
    for match in _QUOTED.finditer(draft.query):
        quote = next(filter(None, match.groups())).strip(" .,;:!?")
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
