"""Attachments that give orders to the model or ask for harm: the seed waits in quarantine.

An attachment is parsed once, when it comes. What is found is recorded beside the seed as what its
gate would say, and the gate judges by the record: a person may override it like any other rule.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from quality.safety.files import FileFinding, FileRule, name_told
from quality.safety.personal import masked
from taskdata.schema.quarantine import SEED_GATE, VALUE_CHARACTERS
from taskdata.schema.seed import EXCERPT_CHARACTERS, QuarantinedRow, SeedQuery
from taskdata.store import Store

_FIELD = "attachments"
_SAYS: Mapping[FileRule, str] = {
    "injection": "an attachment does not speak to the model that reads it",
    "harm": "an attachment asks for nothing that does harm",
}


def entries_of(
    seed: SeedQuery, findings: Iterable[FileFinding], origin: str, row: int
) -> Iterator[QuarantinedRow]:
    """Yield what goes into quarantine because of what was found in a seed's attachments."""
    for finding in findings:
        yield QuarantinedRow(
            stage=SEED_GATE,
            origin=origin,
            row=row,
            item=seed.seed_id,
            field=_FIELD,
            rule=finding.rule,
            value=masked(finding.told)[:VALUE_CHARACTERS],
            reason=_SAYS[finding.rule],
            excerpt=masked(seed.text)[:EXCERPT_CHARACTERS],
            at=datetime.now(UTC),
        )


def with_recorded(store: Store, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of the gate over seeds with what was found in the seed's attachments."""
    found = _recorded(store, str(row["seed_id"])) if row["attachments"] else []
    signs = [entry.value or "" for entry in found if entry.rule == "injection"]
    known = {part["harm_category"] for part in row["harm"]}
    harms = dict.fromkeys(name_told(e.value or "") for e in found if e.rule == "harm")
    return dict(row) | {
        "injection_marks": row["injection_marks"] + len(signs),
        "injection_signs": [*row["injection_signs"], *signs],
        "harm": [
            *row["harm"],
            *({"harm_category": name} for name in harms if name not in known),
        ],
    }


def pass_on(store: Store, seed_id: str, edited: SeedQuery) -> None:
    """Record what was found in the attachments of a seed for the one that it became."""
    rows = [
        QuarantinedRow.model_validate(
            entry.model_dump(include=set(QuarantinedRow.model_fields))
            | {"item": edited.seed_id, "excerpt": masked(edited.text)[:EXCERPT_CHARACTERS]}
        )
        for entry in _recorded(store, seed_id)
    ]
    store.quarantine(rows)


def _recorded(store: Store, seed_id: str) -> list[QuarantinedRow]:
    """Return what was recorded, each finding once, whether its entry has ended or not."""
    found = {
        (entry.rule, entry.value): entry
        for entry in store.quarantine_entries(item=seed_id)
        if entry.stage == SEED_GATE and entry.field == _FIELD
    }
    return list(found.values())
