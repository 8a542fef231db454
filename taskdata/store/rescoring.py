"""The trials of a rescoring: those of its source under ids of their own, over the same artifacts.

The rows are copied, so that neither run needs the other: each keeps its scores, and a prune of one
leaves the other its transcripts and deliverables. Model calls are not copied: the source has paid
for them.
"""

from typing import NamedTuple

import sqlalchemy as sa

from taskdata.errors import Misuse
from taskdata.schema.run import OutcomeStatus, RunStatus, Trial
from taskdata.store.attempts import OUTCOMES, TRIALS
from taskdata.store.connection import StoreConnection
from taskdata.tables import DeliverableRow, RunRow

_RUNS: sa.Table = RunRow.__table__  # type: ignore[attr-defined]
_FILES: sa.Table = DeliverableRow.__table__  # type: ignore[attr-defined]
_SOURCE, _COPY = TRIALS.alias("source_trial"), TRIALS.alias("copied_trial")
_COPIED = OUTCOMES.alias("copied_outcome")
_QUESTION = ("agent", "task_id", "repetition", "round", "arm")
"""What identifies a trial within its run."""
_SAME_QUESTION = sa.and_(
    *(_SOURCE.c[name] == _COPY.c[name] for name in _QUESTION),
    _SOURCE.c.run_id == sa.bindparam("source"),
    _COPY.c.run_id == sa.bindparam("copy"),
)
_SAME_ATTEMPT = sa.and_(_COPIED.c.trial_id == _COPY.c.id, _COPIED.c.attempt == OUTCOMES.c.attempt)
_OF_OUTCOME = [c.name for c in OUTCOMES.columns if c.name not in ("id", "trial_id")]
_COPY_OUTCOMES = sa.insert(OUTCOMES).from_select(
    ["trial_id", *_OF_OUTCOME],
    sa.select(_COPY.c.id, *(OUTCOMES.c[name] for name in _OF_OUTCOME))
    .select_from(
        OUTCOMES.join(_SOURCE, _SOURCE.c.id == OUTCOMES.c.trial_id).join(_COPY, _SAME_QUESTION)
    )
    .where(~sa.exists().where(_SAME_ATTEMPT)),
)
_FILE_OF_COPY = _FILES.alias("copied_file")
_COPY_FILES = sa.insert(_FILES).from_select(
    ["outcome_id", "name", "sha256", "size_bytes"],
    sa.select(_COPIED.c.id, _FILES.c.name, _FILES.c.sha256, _FILES.c.size_bytes)
    .select_from(
        _FILES.join(OUTCOMES, OUTCOMES.c.id == _FILES.c.outcome_id)
        .join(_SOURCE, _SOURCE.c.id == OUTCOMES.c.trial_id)
        .join(_COPY, _SAME_QUESTION)
        .join(_COPIED, _SAME_ATTEMPT)
    )
    .where(
        ~sa.exists().where(
            _FILE_OF_COPY.c.outcome_id == _COPIED.c.id, _FILE_OF_COPY.c.name == _FILES.c.name
        )
    ),
)


class CopiedTrials(NamedTuple):
    """What a rescoring has of its source."""

    finished: int
    """Trials with a finished attempt, which are scored again."""
    lost: int
    """Trials whose attempts all failed for a reason outside the agent."""
    not_tried: int
    """Trials of the source without any attempt, which are left out."""


class RescoringStore(StoreConnection):
    """Copies the trials of a run, with their outcomes and deliverables, into its rescoring."""

    def copy_trials(self, source: str, copy: str) -> CopiedTrials:
        """Copy what is not copied yet, in one transaction.

        Args:
            source: Id of the run whose agents worked.
            copy: Id of the rescoring.

        Raises:
            Misuse: if the source is not in the store, or is being removed.
        """
        values = {"source": source, "copy": copy}
        with self._plainly_writing() as connection:
            _require_there(connection, source)
            _copy_trials(connection, source, copy)
            connection.execute(_COPY_OUTCOMES, values)
            connection.execute(_COPY_FILES, values)
            return _counts(connection, source, copy)

    def source_of(self, trial: Trial, source: str) -> str | None:
        """Return the id of the trial in run `source` that `trial` is a copy of, or None."""
        query = sa.select(TRIALS.c.id).where(
            TRIALS.c.run_id == source,
            *(TRIALS.c[name] == getattr(trial, name) for name in _QUESTION),
        )
        with self._plainly_reading() as connection:
            return connection.execute(query).scalar_one_or_none()


def _require_there(connection: sa.Connection, run_id: str) -> None:
    query = sa.select(_RUNS.c.status).where(_RUNS.c.id == run_id)
    status = connection.execute(query).scalar_one_or_none()
    if status is None or status == RunStatus.REMOVING.value:
        raise Misuse(f"run {run_id!r}, which is to be scored again, is no longer in the store")


def _copy_trials(connection: sa.Connection, source: str, copy: str) -> None:
    """Copy the trials with an attempt, the earlier rounds first, which later ones refer to."""
    tried = sa.exists().where(OUTCOMES.c.trial_id == TRIALS.c.id)
    query = TRIALS.select().where(TRIALS.c.run_id == source, tried).order_by(TRIALS.c.round)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    of_copy = sa.select(TRIALS.c.id, *(TRIALS.c[name] for name in _QUESTION))
    known = {
        tuple(question): trial_id
        for trial_id, *question in connection.execute(of_copy.where(TRIALS.c.run_id == copy))
    }
    questions = {row["id"]: tuple(row[name] for name in _QUESTION) for row in rows}
    ids = {
        trial_id: known.get(question) or Trial.make_id(copy, *question)
        for trial_id, question in questions.items()
    }
    new = [
        row
        | {
            "id": ids[row["id"]],
            "run_id": copy,
            "parent_trial_id": ids.get(row["parent_trial_id"]),
        }
        for row in rows
        if questions[row["id"]] not in known
    ]
    if new:
        connection.execute(sa.insert(TRIALS), new)


def _counts(connection: sa.Connection, source: str, copy: str) -> CopiedTrials:
    def trials(run_id: str, *wanted: sa.ColumnElement[bool]) -> int:
        query = sa.select(sa.func.count()).select_from(TRIALS).where(TRIALS.c.run_id == run_id)
        return int(connection.execute(query.where(*wanted)).scalar_one())

    finished = sa.exists().where(
        OUTCOMES.c.trial_id == TRIALS.c.id, OUTCOMES.c.status == OutcomeStatus.FINISHED.value
    )
    copied, done = trials(copy), trials(copy, finished)
    return CopiedTrials(
        finished=done, lost=copied - done, not_tried=max(0, trials(source) - copied)
    )
