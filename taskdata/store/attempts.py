"""Attempts at trials in the store: which attempt is due, and the outcome of each.

Every trial reads its attempt and records its outcome, so these statements are built once and run
without the ORM, whose objects cost several times what the database does.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlmodel import func

from taskdata.errors import Misuse
from taskdata.schema.run import Deliverable, OutcomeStatus, Trial, TrialOutcome
from taskdata.schema.transcript import Usage
from taskdata.store.connection import StoreConnection
from taskdata.tables import DeliverableRow, ModelCallRow, OutcomeRow, TrialRow

FINISHED = OutcomeStatus.FINISHED.value

TRIALS: sa.Table = TrialRow.__table__  # type: ignore[attr-defined]
OUTCOMES: sa.Table = OutcomeRow.__table__  # type: ignore[attr-defined]
DELIVERABLES: sa.Table = DeliverableRow.__table__  # type: ignore[attr-defined]
_CALLS: sa.Table = ModelCallRow.__table__  # type: ignore[attr-defined]

_TRIAL = TRIALS.select().where(TRIALS.c.id == sa.bindparam("trial"))
_ATTEMPT = (
    sa.select(
        *TRIALS.columns,
        func.max(OUTCOMES.c.attempt).label("attempts"),
        func.max(sa.case((OUTCOMES.c.status == FINISHED, 1), else_=0)).label("finished"),
        sa.exists(_CALLS.c.id).where(_CALLS.c.trial_id == TRIALS.c.id).label("was_begun"),
    )
    .select_from(TRIALS.outerjoin(OUTCOMES))
    .where(TRIALS.c.id == sa.bindparam("trial"))
    .group_by(TRIALS.c.id)
)
_HAS_FINISHED = sa.select(OUTCOMES.c.id).where(
    OUTCOMES.c.trial_id == sa.bindparam("trial"), OUTCOMES.c.status == FINISHED
)
_CURRENT = (
    sa.select(*OUTCOMES.columns)
    .where(OUTCOMES.c.trial_id == sa.bindparam("trial"))
    .order_by(sa.case((OUTCOMES.c.status == FINISHED, 0), else_=1), OUTCOMES.c.attempt.desc())
    .limit(1)
)
FILES = sa.select(*DELIVERABLES.columns).order_by(DELIVERABLES.c.name)
_FILES_OF_OUTCOME = FILES.where(DELIVERABLES.c.outcome_id == sa.bindparam("outcome"))
_ADD_OUTCOME = sa.insert(OUTCOMES).returning(OUTCOMES.c.id)
_ADD_DELIVERABLES = sa.insert(DELIVERABLES)


class AttemptDue(NamedTuple):
    """The next attempt at a trial."""

    trial: Trial
    number: int
    """From 1."""
    was_begun: bool
    """Whether this or an earlier attempt has paid for model calls."""


class AttemptStore(StoreConnection):
    """Stores and finds attempts at trials."""

    def trial(self, trial_id: str) -> Trial:
        """Return the trial of that id.

        Raises:
            Misuse: if there is none.
        """
        with self._plainly_reading() as connection:
            return found_trial(connection, trial_id)

    def attempt_due(self, trial_id: str) -> AttemptDue | None:
        """Return the next attempt at the trial; None if the trial has finished.

        Raises:
            Misuse: if there is no such trial.
        """
        with self._plainly_reading() as connection:
            row = connection.execute(_ATTEMPT, {"trial": trial_id}).mappings().first()
        if row is None:
            raise _unknown(trial_id)
        fields = dict(row)
        attempts, finished = fields.pop("attempts"), fields.pop("finished")
        was_begun = bool(fields.pop("was_begun"))
        if finished:
            return None
        return AttemptDue(Trial.model_validate(fields), (attempts or 0) + 1, was_begun)

    def failures(self, run_id: str, round_: int) -> dict[str, str]:
        """Return the latest cause by trial of the round's trials with a failed attempt."""
        query = (
            sa.select(OUTCOMES.c.trial_id, OUTCOMES.c.error)
            .join(TRIALS, TRIALS.c.id == OUTCOMES.c.trial_id)
            .where(TRIALS.c.run_id == run_id, TRIALS.c.round == round_)
            .where(OUTCOMES.c.status != FINISHED)
            .order_by(OUTCOMES.c.attempt)
        )
        with self._reading() as session:
            rows = session.connection().execute(query)
            return {trial_id: error or "" for trial_id, error in rows}

    def record_outcome(self, outcome: TrialOutcome) -> bool:
        """Store an outcome; return False, changing nothing, if the trial has finished before."""
        apart = {"deliverables", "usage", "limits", "tool_uses", "tool_pictures"}
        fields = outcome.model_dump(exclude=apart)
        fields["limits"] = outcome.limits.model_dump(mode="json") if outcome.limits else None
        fields["rejected_files"] = list(outcome.rejected_files)
        uses = outcome.tool_uses
        fields["tool_uses"] = None if uses is None else [u.model_dump(mode="json") for u in uses]
        pictures = outcome.tool_pictures
        fields["tool_pictures"] = [p.model_dump(mode="json") for p in pictures] or None
        fields |= _counts(outcome.usage)
        try:
            with self._plainly_writing() as connection:
                return _add_outcome(connection, fields, outcome.deliverables)
        except IntegrityError:
            # Another worker finished the same trial after we read it and before we wrote.
            if self.outcome(outcome.trial_id) is None:
                raise
            return False

    def outcome(self, trial_id: str) -> TrialOutcome | None:
        """Return the finished outcome, else the latest infrastructure error, else None."""
        with self._plainly_reading() as connection:
            return current_outcome(connection, trial_id)


def _unknown(trial_id: str) -> Misuse:
    return Misuse(f"trial {trial_id!r} is not in the store; `nightshift show` lists them")


def _add_outcome(
    connection: sa.Connection, fields: dict[str, Any], deliverables: Sequence[Deliverable]
) -> bool:
    if connection.execute(_HAS_FINISHED, {"trial": fields["trial_id"]}).first() is not None:
        return False
    added = connection.execute(_ADD_OUTCOME, fields).scalar_one()
    if deliverables:
        files = [{"outcome_id": added, **file.model_dump()} for file in deliverables]
        connection.execute(_ADD_DELIVERABLES, files)
    return True


def found_trial(connection: sa.Connection, trial_id: str) -> Trial:
    """Return the trial of that id.

    Raises:
        Misuse: if there is none.
    """
    row = connection.execute(_TRIAL, {"trial": trial_id}).mappings().first()
    if row is None:
        raise _unknown(trial_id)
    return Trial.model_validate(dict(row))


def current_outcome(connection: sa.Connection, trial_id: str) -> TrialOutcome | None:
    """Return the finished outcome of a trial, else its latest infrastructure error, else None."""
    row = connection.execute(_CURRENT, {"trial": trial_id}).mappings().first()
    if row is None:
        return None
    files = connection.execute(_FILES_OF_OUTCOME, {"outcome": row["id"]}).mappings()
    return outcome_of(row, [deliverable_of(file) for file in files])


def _counts(usage: Usage | None) -> dict[str, Any]:
    return {name: None if usage is None else getattr(usage, name) for name in Usage.model_fields}


def deliverable_of(row: sa.RowMapping) -> Deliverable:
    """Return the deliverable of a row."""
    return Deliverable(name=row["name"], sha256=row["sha256"], size_bytes=row["size_bytes"])


def outcome_of(row: sa.RowMapping, deliverables: Sequence[Deliverable]) -> TrialOutcome:
    """Return the outcome of a row and of its deliverables."""
    fields: dict[Any, Any] = dict(row)
    del fields["id"]
    counts = {name: fields.pop(name) for name in Usage.model_fields}
    fields["usage"] = None if counts["input_tokens"] is None else Usage(**counts)
    fields["tool_pictures"] = fields["tool_pictures"] or ()
    return TrialOutcome.model_validate(fields | {"deliverables": tuple(deliverables)})
