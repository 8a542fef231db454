"""The files that a GTA-Workflow item asks for: stated, named in its query, or only by format."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from taskdata.formats.rows import RowNotes, refusal
from taskdata.schema.deliverable import ANY
from taskdata.schema.task import DeliverableSpec, DeliverableType

_ASIDE = "`\"'()[]{}<>,;:!?*“”‘’«»"
_MAX_DELIVERABLES = 20

_FORMATS = {
    "xlsx": r"excel|xlsx|spreadsheets?|workbooks?",
    "docx": r"word (?:documents?|files?|reports?|format)|docx|(?:ms|microsoft) word",
    "pptx": r"power ?points?|pptx?|slide ?(?:decks?|shows?)|slides|presentations?",
    "pdf": r"pdfs?",
    "csv": r"csv",
    "html": r"html|web ?(?:page|site)s?|landing pages?",
    "md": r"markdown",
    "json": r"json",
    "png": r"png",
    "jpg": r"jpe?g",
    "svg": r"svg",
    "wav": r"wav",
    "mp3": r"mp3",
    "mp4": r"mp4|videos?(?: clips?)?",
    "txt": r"txt|(?:plain )?text files?",
    "zip": r"zip(?: archives?)?",
    "py": r"python (?:scripts?|files?|programs?)",
}
_WORDS = re.compile(
    "|".join(rf"(?P<{kind}>(?<!\w)\.?(?:{words})(?!\w))" for kind, words in _FORMATS.items()),
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MAKING = re.compile(
    r"\b(?:create|creat|mak|generat|produc|writ|prepar|sav|export|output|deliver|design|build|draw|"
    r"draft|compos|provid|giv|turn|convert|format|compil|submit|return|present|summari[sz]|put|"
    r"want|need|develop|deliverable|as an?|into an?|in)(?:e|es|ing|t|s)?\b",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"\b(?:attached|this|these|those|given|provided|uploaded|input|existing|enclosed|"
    r"(?:from|read|analy[sz]e|see|open) an?|(?:from|of|in|on|read|analy[sz]e|see|open) "
    r"(?:the|my|our))\s+(?:[\w-]+\s+){0,2}$",
    re.IGNORECASE,
)


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
        specs = _named_files(query, inputs) or formats_asked_for(query)
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
    format_named = _format(stated) if name is None else _format(name)
    if not isinstance(name, str) and format_named is None:
        raise refusal(f"{where}.name", "must be the name of a file", entry)
    kind = format_named or _type_of(str(name))
    if kind is None:
        notes.keep(where, entry)
        return None
    known = {"name", "description"} | ({"type"} if stated == kind or name is None else set())
    notes.keep_rest(fields, known, f"{where}.")
    description = fields.get("description") or ""
    name = f"{ANY}{kind.value}" if format_named else str(name)
    return DeliverableSpec(name=name, type=kind, description=description)


def _format(text: Any) -> DeliverableType | None:
    """Return the type that a text names as a whole: `PowerPoint`, `.pptx`."""
    found = _WORDS.fullmatch(text.strip()) if isinstance(text, str) else None
    return _known(found.lastgroup) if found else None


def formats_asked_for(query: str) -> tuple[DeliverableSpec, ...]:
    """Return a deliverable for each format that a query asks for, and that is not given to it."""
    kinds: dict[DeliverableType, None] = {}
    for sentence in _SENTENCE.split(query):
        for found in _WORDS.finditer(sentence):
            before, after = sentence[: found.start()], sentence[found.end() :]
            is_given = _GIVEN.search(before) and not after.lower().startswith(" format")
            kind = _known(found.lastgroup)
            if kind is not None and not is_given and _MAKING.search(before):
                kinds[kind] = None
    return tuple(DeliverableSpec(name=f"{ANY}{k.value}", type=k) for k in kinds)


def _known(kind: str | None) -> DeliverableType | None:
    return DeliverableType(kind) if kind in set(DeliverableType) else None


def _named_files(query: str, inputs: Collection[str]) -> tuple[DeliverableSpec, ...]:
    names: dict[str, DeliverableType] = {}
    for word in query.split():
        name = word.strip(_ASIDE).rstrip(".")
        kind = _type_of(name)
        plain = "/" not in name and "\\" not in name and not name.startswith(".")
        if kind and plain and len(name) <= 100 and name not in inputs:
            names[name] = kind
        if len(names) == _MAX_DELIVERABLES:
            break
    return tuple(DeliverableSpec(name=n, type=kind) for n, kind in names.items())


def _type_of(name: str) -> DeliverableType | None:
    stem, _, suffix = name.lower().rpartition(".")
    return DeliverableType(suffix) if stem and suffix in set(DeliverableType) else None
