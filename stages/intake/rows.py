"""Turns the fields of a row into a seed query, or reports what is wrong with the row.

Fields: `text`; `source`; `url`; `date` or `collected_on`; `license` or `licence`; `attachments`;
`discovery`, for requests that a model has proposed. A field of another name is ignored and
reported, unless it looks like a misspelling of one of these: then the row is refused, because the
field's value would be lost.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from pydantic import ValidationError

from stages.intake.readers.raw import Fault, RawRow, short_name
from stages.intake.wording import words
from taskdata.errors import BadTaskData
from taskdata.places import UNSTORABLE, first_place, is_unstorable
from taskdata.schema.seed import Discovery, SeedQuery

FIELDS = ("text", "source", "url", "collected_on", "license", "attachments", "discovery")
_OTHER_NAMES = {"date": "collected_on", "licence": "license"}
_KNOWN = (*FIELDS, *_OTHER_NAMES)
_MISSPELLING = 0.82
"""Least likeness (difflib, 0-1): `attachements` and `sorce` are, `context` and `update` are not."""
_NAMED = 20
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Defaults:
    """Source and licence of rows that name none."""

    source: str | None = None
    license: str | None = None


@dataclass(frozen=True)
class ReadRow:
    """A row with valid fields; its attachments have not been checked."""

    seed: SeedQuery
    attachments: tuple[str, ...]


@dataclass
class UnknownFields:
    """Names of ignored fields; a file can have any number, of which a few are reported."""

    names: set[str] = field(default_factory=set)

    def add(self, name: str) -> None:
        """Remember a name, up to a limit."""
        if len(self.names) <= _NAMED:
            self.names.add(name)

    def note(self) -> str | None:
        """Return the sentence that reports them; None if there are none."""
        if not self.names:
            return None
        told = ", ".join(map(repr, sorted(self.names)[:_NAMED]))
        more = " and more" if len(self.names) > _NAMED else ""
        return f"fields that are not known were left out: {told}{more}"


def misspelt(name: str) -> str | None:
    """Return the known field that `name` probably means; None if it is known or unlike any."""
    if name in _KNOWN:
        return None
    close = difflib.get_close_matches(name, _KNOWN, n=1, cutoff=_MISSPELLING)
    return close[0] if close else None


def check_header(names: Sequence[str], origin: str) -> None:
    """Raise unless the columns of a table can become seeds.

    Raises:
        BadTaskData: if there is no `text`, or a column is misspelt: every row would be refused.
    """
    for name in names:
        meant = misspelt(name.lower())
        if meant is not None:
            raise BadTaskData(f"{origin}: column {name!r} is not known; did you mean {meant!r}?")
    if "text" not in map(str.lower, names):
        told = ", ".join(map(repr, names[:_NAMED]))
        raise BadTaskData(
            f"{origin}: no column 'text' in the header {told}; columns are separated by commas"
        )


def read_row(raw: RawRow, defaults: Defaults, unknown: UnknownFields) -> ReadRow | Fault:
    """Return the seed that a row describes, or its faults."""
    if raw.fault is not None:
        return raw.fault
    faults: list[Fault] = []
    called, given = _named(raw.fields, unknown, faults)
    texts = {n: _text(called.get(n, n), given.get(n), faults) for n in FIELDS[:5]}
    attachments = _paths(given.get("attachments"), faults)
    source = texts["source"] or defaults.source
    if not texts["text"] and not any(f.field == "text" for f in faults):
        faults.append(Fault("text", "is missing"))
    elif texts["text"] and not words(texts["text"]):
        faults.append(Fault("text", "holds no word"))
    if not source and not any(f.field == "source" for f in faults):
        faults.append(Fault("source", "is missing, and no default is given (--source)"))
    discovery = _discovery(given.get("discovery"), faults)
    collected_on = _date(called.get("collected_on", ""), texts["collected_on"], faults)
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        return Fault(faults[0].field, faults[0].reason + more)
    seed = _seed(texts | {"source": source}, collected_on, defaults, discovery)
    return seed if isinstance(seed, Fault) else ReadRow(seed, attachments)


def _seed(
    texts: Mapping[str, str | None],
    collected_on: date | None,
    defaults: Defaults,
    discovery: Discovery | None,
) -> SeedQuery | Fault:
    try:
        return SeedQuery.model_validate(
            {
                "text": texts["text"],
                "source": texts["source"],
                "url": texts["url"] or None,
                "collected_on": collected_on,
                "license": texts["license"] or defaults.license,
                "discovery": discovery,
            }
        )
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        return Fault(str(first["loc"][0]), first["msg"].lower())


def _named(
    fields: Mapping[str, object], unknown: UnknownFields, faults: list[Fault]
) -> tuple[dict[str, str], dict[str, object]]:
    """Return the values of the row by the schema's field names."""
    called: dict[str, str] = {}
    found: dict[str, object] = {}
    for written, value in fields.items():
        name = short_name(written).strip().lower()
        meant = misspelt(name)
        if meant is not None:
            faults.append(Fault(name, f"is not known; did you mean {meant!r}?"))
        elif name not in _KNOWN:
            unknown.add(name)
        elif value is not None:
            meant = _OTHER_NAMES.get(name, name)
            if meant in found:
                faults.append(Fault(name, f"is given more than once, also as {called[meant]!r}"))
            called[meant], found[meant] = name, value
    return called, found


def _text(name: str, value: object, faults: list[Fault]) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        faults.append(Fault(name, f"expected text, got {_kind(value)}"))
        return None
    bad = _UNSTORABLE.search(value)
    if bad:
        faults.append(Fault(name, f"holds the character U+{ord(bad[0]):04X}"))
        return None
    return value.strip()


def _paths(value: object, faults: list[Fault]) -> tuple[str, ...]:
    """Return the paths of a list, or of one text, as a table cell has it."""
    if value is None:
        return ()
    paths = value.split(";") if isinstance(value, str) else value
    if not isinstance(paths, list):
        faults.append(Fault("attachments", f"expected a list of paths, got {_kind(value)}"))
        return ()
    found = [_text("attachments", path, faults) for path in paths]
    return tuple(path for path in found if path)


def _discovery(value: object, faults: list[Fault]) -> Discovery | None:
    if value is None:
        return None
    try:
        found = Discovery.model_validate(value)
        if place := first_place(found.model_dump(), is_unstorable):
            faults.append(Fault("discovery", f"{place.where}: {UNSTORABLE}"))
        return found
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        faults.append(Fault("discovery", f"{where}: {first['msg'].lower()}".removeprefix(": ")))
        return None


def _date(name: str, value: str | None, faults: list[Fault]) -> date | None:
    """Return the day of an ISO 8601 date or date and time, as it is written there.

    Slashes between year, month and day do as well as hyphens.
    """
    if not value:
        return None
    slashed = re.match(r"\d{4}/\d{1,2}/\d{1,2}(?=$|[T ])", value)
    if slashed:
        year, month, day = slashed[0].split("/")
        value = f"{year}-{month:0>2}-{day:0>2}{value[slashed.end() :]}"
    try:
        return datetime.fromisoformat(value).date()
    except ValueError:
        says = f"{short_name(value)!r} is no date; write 2026-03-31 or 2026-03-31T08:00:00Z"
        faults.append(Fault(name, says))
        return None


def _kind(value: object) -> str:
    kinds = {bool: "true or false", list: "a list", dict: "a mapping"}
    return kinds.get(type(value), "a number")
