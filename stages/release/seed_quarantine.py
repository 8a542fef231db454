"""What a person does about a seed that its gate stopped, or a row that was no seed.

Seeds never change: an edited one is a new seed, which the next refresh takes up.
"""

from typing import Any

from pydantic import ValidationError

from stages.intake.file_findings import pass_on
from stages.intake.protection import protected
from stages.intake.readers.raw import Fault
from stages.intake.work import known_texts
from stages.release.quarantine import decision, record_override
from taskdata.banks.loader import describe
from taskdata.errors import BadTaskData, Misuse
from taskdata.places import UNSTORABLE, first_place, is_unstorable
from taskdata.schema.base import Value
from taskdata.schema.construct import Candidate, CandidateStatus, Construction
from taskdata.schema.quarantine import SEED_GATE, QuarantineDecision
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.schema.seed import EXCERPT_CHARACTERS, Ended, QuarantineEntry, SeedQuery, StoredSeed
from taskdata.store import Store

INTAKE = "seeds"
"""The stage of rows that were refused when they came."""
_ROW = "row-"
_EDITABLE = ("text", "source", "url", "collected_on", "license")


class StoppedSeed(Value):
    """A seed in quarantine, or a refused row, with what stops it."""

    name: str
    """The seed's id, or `row-` and the number of the entry."""
    seed: StoredSeed | None
    """None: the row is no seed."""
    entries: tuple[QuarantineEntry, ...]
    decisions: tuple[QuarantineDecision, ...]

    @property
    def editable(self) -> dict[str, Any]:
        """The fields that a person may change, as they are.

        Raises:
            Misuse: if only the beginning of the refused row is known.
        """
        if self.seed is not None:
            return self.seed.query.model_dump(mode="json", include=set(_EDITABLE))
        (entry,) = self.entries
        if len(entry.excerpt) >= EXCERPT_CHARACTERS:
            raise Misuse(f"{self.name}: only its beginning is kept; give the seed: --file FILE")
        return {"text": entry.excerpt, "source": "", "license": None}


def name_of(entry: QuarantineEntry) -> str:
    """Return the name by which commands take what an entry is about."""
    return entry.item or f"{_ROW}{entry.number}"


def seed_entries(store: Store, *, lasting: bool = True) -> list[QuarantineEntry]:
    """Return the seeds that their gate stopped and the rows that were refused, oldest first."""
    found = store.quarantine_entries(lasting=lasting)
    return [entry for entry in found if entry.stage in (INTAKE, SEED_GATE)]


def all_entries(store: Store, name: str) -> tuple[QuarantineEntry, ...]:
    """Return everything that stopped a seed or a refused row, ended or not.

    Raises:
        Misuse: if there is neither.
    """
    entries = seed_entries(store, lasting=False)
    found = tuple(entry for entry in entries if name_of(entry) == name)
    if not found:
        store.seed(name)
    return found


def stopped_seed(store: Store, name: str) -> StoppedSeed:
    """Return the seed in quarantine of that id, or the refused row of that name.

    Raises:
        Misuse: if there is none, or it is not in quarantine.
    """
    entries = tuple(entry for entry in seed_entries(store) if name_of(entry) == name)
    if not entries:
        if not name.startswith(_ROW):
            store.seed(name)
        raise Misuse(f"{name!r} is not in quarantine; `nightshift seeds list --quarantined`")
    seed = None if entries[0].item is None else store.seed(entries[0].item)
    decisions = tuple(store.quarantine_decisions([name]))
    return StoppedSeed(name=name, seed=seed, entries=entries, decisions=decisions)


def override_seed(store: Store, name: str, rule: str, reason: str, by: str) -> tuple[str, ...]:
    """Let a seed break a rule of its gate; return the rules that are left to override.

    Raises:
        Misuse: see `stopped_seed`; or the rule does not stop it, or there is no reason or name.
    """
    found = stopped_seed(store, name)
    _require_seed(found)
    record_override(store, name, found.entries, rule, reason, by)
    left = store.quarantine_entries(item=name, lasting=True)
    rules = dict.fromkeys(str(entry.rule) for entry in left if entry.stage == SEED_GATE)
    if not rules:
        _reopen_candidates(store, name)
    return tuple(rules)


def reopen_seed(store: Store, name: str, by: str) -> list[Candidate]:
    """Have the gate judge a seed again; return its candidates, over which the caller holds it."""
    _require_seed(stopped_seed(store, name))
    store.record_quarantine_decision(decision(name, "regate", "", by), "mended")
    return _reopen_candidates(store, name)


def drop_seed(store: Store, name: str, reason: str, by: str) -> None:
    """End a seed in quarantine, or a refused row, for good.

    Raises:
        Misuse: see `stopped_seed`, or there is no reason or name.
    """
    found = stopped_seed(store, name)
    _end(store, found, decision(name, "drop", reason, by), reason)


def edit_seed(
    store: Store,
    name: str,
    fields: dict[str, Any],
    reason: str,
    by: str,
    safety: SafetyRules = NOTHING_ALLOWED,
) -> str:
    """Store a changed seed in the place of one in quarantine; return its id.

    Args:
        store: The store of seeds.
        name: The seed's id, or the name of the refused row.
        fields: What changes of text, source, url, collected_on and license.
        reason: Why.
        by: Who changed it.
        safety: What becomes of personal data in the new text.

    Raises:
        Misuse: see `stopped_seed`, or nothing was changed.
        BadTaskData: if a field is no field of a seed, does not fit, or holds personal data.
    """
    found = stopped_seed(store, name)
    unknown = fields.keys() - set(_EDITABLE)
    if unknown:
        raise BadTaskData(
            f"seed {name}: field {min(unknown)!r} cannot be edited; there are "
            f"{', '.join(_EDITABLE)}"
        )
    before = {} if found.seed is None else found.seed.query.model_dump(mode="json")
    try:
        query = SeedQuery.model_validate(before | fields)
    except ValidationError as exc:
        raise BadTaskData(f"seed {name}: {describe(exc)}") from exc
    place = first_place(query.model_dump(), is_unstorable)
    if place is not None:
        raise BadTaskData(f"seed {name}: field {place.where} {UNSTORABLE}")
    query = _protected(name, query, safety)
    if query.seed_id == name:
        raise Misuse("nothing was changed")
    decided = decision(name, "edit", reason, by, replaced_by=query.seed_id)
    links = [
        link
        for link in known_texts(store).links([(query.seed_id, query.text)])
        if link.other_id != name
    ]
    entry = found.entries[0]
    rows = None if entry.row is None else [entry.row]
    store.add_seeds([query], links, [], entry.origin, rows)
    pass_on(store, name, query)
    _end(store, found, decided, f"edited by {decided.by}: now seed {query.seed_id}")
    return query.seed_id


def _protected(name: str, query: SeedQuery, safety: SafetyRules) -> SeedQuery:
    kept = protected(query, safety)
    if isinstance(kept, Fault):
        raise BadTaskData(f"seed {name}: {kept.field} {kept.reason}; say it without")
    return kept


def _end(store: Store, found: StoppedSeed, decided: QuarantineDecision, why: str) -> None:
    ended: Ended = "dropped" if decided.kind == "drop" else "mended"
    number = found.entries[0].number if found.seed is None else None
    store.record_quarantine_decision(decided, ended, number)
    for candidate in _candidates(store, found.name):
        store.set_candidate(candidate.id, status=CandidateStatus.REJECTED, reason=why)


def _require_seed(found: StoppedSeed) -> None:
    if found.seed is None:
        raise Misuse(f"{found.name} is no seed: {found.entries[0].reason}; edit it, or drop it")


def _reopen_candidates(store: Store, seed_id: str) -> list[Candidate]:
    found = _candidates(store, seed_id)
    for candidate in found:
        store.set_candidate(candidate.id, status=CandidateStatus.OPEN)
    return found


def _candidates(store: Store, seed_id: str) -> list[Candidate]:
    """Return the candidates that are in quarantine because of their seed."""
    return [
        candidate
        for candidate in store.candidates(
            stage=Construction.GENERATE, status=CandidateStatus.QUARANTINED
        )
        if candidate.seed_id == seed_id
        and not store.quarantine_entries(item=candidate.id, lasting=True)
    ]
