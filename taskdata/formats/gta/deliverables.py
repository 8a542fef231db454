"""The files that a GTA-Workflow item asks for: stated, named in its query, or only by format."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from taskdata.formats.gta.wording import format_named, formats_asked_for, is_given
from taskdata.formats.rows import RowNotes, refusal
from taskdata.schema.deliverable import ANY
from taskdata.schema.task import DeliverableSpec, DeliverableType

_ASIDE = "`\"'()[]{}<>,;:!?*“”‘’«»"
_MAX_DELIVERABLES = 20
_MAX_NAME = 100

_ALIASES = {"jpeg": "jpg", "htm": "html", "yml": "yaml"}
"""Endings beside those that a deliverable's name may have, with their types."""
_QUOTED = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|«([^»\n]+)»|「([^」\n]+)」|(?<!\w)'([^'\n]+)'"
)
_TOKEN = re.compile(r"(?:[^\s，。、；：？！《》「」“”\"`'*()\[\]{}<>|]|\((?=\d+\)))+")
_NEXT = re.compile(r"\W*(?:and|und|et|y|e|和|与|及)?\W*")
"""What stands between the names of several files that are given together."""
_SOFTWARE = re.compile(
    r"(?:[A-Z].*|vue|node|next|nuxt|react|d3|three|chart|express|p5|pixi|plotly|angular|ember|leaflet"
    r"|moment|backbone|svelte|alpine|discord|socket|bpmn|mermaid|reveal|tensorflow|brain|face-api)\.js"
)
"""Names of programs that look like the name of a file."""


def read_deliverables(
    given: Any, query: str, inputs: Collection[str], notes: RowNotes
) -> tuple[DeliverableSpec, ...]:
    """Return the deliverables that the item states, else those that its query asks for.

    A format without a file name stands for any file of that type.

    Args:
        given: The item's `deliverables`; None: it has none.
        query: What is asked.
        inputs: Names of the files that the item brings.
        notes: Where the rest is kept.

    Raises:
        RowRefused: if they are stated in another shape.
    """
    if given is None:
        specs = _named_files(query, inputs) or tuple(
            DeliverableSpec(name=f"{ANY}{kind}", type=kind) for kind in formats_asked_for(query)
        )
        if specs:
            notes.assumed["deliverables"] += 1
        return specs
    if not isinstance(given, list):
        raise refusal("deliverables", "must be a list of files", given)
    stated = {}
    for position, entry in enumerate(given):
        spec = _stated(f"deliverables.{position}", entry, notes)
        if spec is not None:
            stated[spec.name] = spec
    return tuple(stated.values())


def _stated(where: str, entry: Any, notes: RowNotes) -> DeliverableSpec | None:
    fields = entry if isinstance(entry, Mapping) else {"name": entry}
    name, stated = fields.get("name"), fields.get("type")
    whole = stated if name is None else name
    kind_named = format_named(whole) if isinstance(whole, str) else None
    if not isinstance(name, str) and kind_named is None:
        raise refusal(f"{where}.name", "must be the name of a file", entry)
    kind = kind_named or _type_of(str(name))
    if kind is None:
        notes.keep(where, entry)
        return None
    known = {"name", "description"} | ({"type"} if stated == kind or name is None else set())
    notes.keep_rest(fields, known, f"{where}.")
    description = fields.get("description") or ""
    name = f"{ANY}{kind.value}" if kind_named else str(name)
    return DeliverableSpec(name=name, type=kind, description=description)


def _named_files(query: str, inputs: Collection[str]) -> tuple[DeliverableSpec, ...]:
    found: dict[str, DeliverableSpec] = {}
    given_until = -1
    for start, end, name in sorted(_names(query)):
        spec = _named(name) if len(name) <= _MAX_NAME else None
        if spec is None:
            continue
        is_next = given_until >= 0 and _NEXT.fullmatch(query[given_until:start]) is not None
        is_input = name.rpartition("/")[2] in inputs
        if is_input or is_next or is_given(query[:start], query[end:]):
            given_until = end
        elif len(found) < _MAX_DELIVERABLES:
            found[spec.name] = spec
    return tuple(found.values())


def _names(query: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of what may be the name of a file: in quotes, or a word."""
    quoted = [
        (one.start(), one.end(), name)
        for one in _QUOTED.finditer(query)
        if _is_name(name := next(filter(None, one.groups())).strip())
    ]
    yield from quoted
    for token in _TOKEN.finditer(query):
        name = token.group().strip(_ASIDE).rstrip(".")
        is_quoted = any(start <= token.start() < end for start, end, _ in quoted)
        if not is_quoted and not _SOFTWARE.fullmatch(name):
            yield token.start(), token.end(), name


def _is_name(text: str) -> bool:
    return bool(_type_of(text) or _alias_of(text))


def _named(name: str) -> DeliverableSpec | None:
    """Return the deliverable of that name; a folder in it is the agent's own affair."""
    folder = name.rpartition("/")[0]
    if name.startswith((".", "http")) or "\\" in name or "." in folder or ":" in folder:
        return None
    kind, alias = _type_of(name), _alias_of(name)
    if alias is not None:
        return DeliverableSpec(name=f"{ANY}{alias}", type=alias)
    if kind is None:
        return None
    return DeliverableSpec(name=f"{ANY}{kind}" if folder else name.lstrip("/"), type=kind)


def _alias_of(name: str) -> DeliverableType | None:
    stem, _, suffix = name.lower().rpartition(".")
    return DeliverableType(_ALIASES[suffix]) if stem and suffix in _ALIASES else None


def _type_of(name: str) -> DeliverableType | None:
    stem, _, suffix = name.lower().rpartition(".")
    return DeliverableType(suffix) if stem and suffix in set(DeliverableType) else None
