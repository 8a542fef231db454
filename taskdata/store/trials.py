"""Trials, their outcomes, scores and diagnoses in the store.

Each outcome, score and diagnosis is its own transaction, so whatever is known survives a crash;
each is written once, so running a stage again does only what is missing.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel, col, delete, func, select

from taskdata.errors import Misuse
from taskdata.schema.diagnosis import Diagnosis, FailureLevels
from taskdata.schema.run import (
    Deliverable,
    OutcomeStatus,
    Trial,
    TrialOutcome,
    TrialResult,
)
from taskdata.schema.scores import NodeScore, TrialScore
from taskdata.schema.transcript import Transcript, Usage
from taskdata.schema.views import RenderedDeliverable
from taskdata.store.connection import StoreConnection
from taskdata.tables import (
    DeliverableRow,
    DiagnosisRow,
    LeafScoreRow,
    OutcomeRow,
    RenderedRow,
    ScoreRow,
    ScoringErrorRow,
    TrialRow,
)

_FINISHED = OutcomeStatus.FINISHED.value
_AT_ONCE = 500

_TRIALS: sa.Table = TrialRow.__table__  # type: ignore[attr-defined]
_OUTCOMES: sa.Table = OutcomeRow.__table__  # type: ignore[attr-defined]
_DELIVERABLES: sa.Table = DeliverableRow.__table__  # type: ignore[attr-defined]

# Every trial asks the one and is recorded by the others: put together once, and without the ORM,
# whose objects cost several times what the database does.
_ATTEMPT = (
    sa.select(
        *_TRIALS.columns,
        func.max(_OUTCOMES.c.attempt).label("attempts"),
        func.max(sa.case((_OUTCOMES.c.status == _FINISHED, 1), else_=0)).label("finished"),
    )
    .select_from(_TRIALS.outerjoin(_OUTCOMES))
    .where(_TRIALS.c.id == sa.bindparam("trial"))
    .group_by(_TRIALS.c.id)
)
_HAS_FINISHED = sa.select(_OUTCOMES.c.id).where(
    _OUTCOMES.c.trial_id == sa.bindparam("trial"), _OUTCOMES.c.status == _FINISHED
)
_ADD_OUTCOME = sa.insert(_OUTCOMES)
_ADD_DELIVERABLES = sa.insert(_DELIVERABLES)


class TrialStore(StoreConnection):
    """What the store knows of trials."""

    def plan_trials(self, trials: Sequence[Trial]) -> int:
        """Store the trials that are not there yet and return how many were new."""
        with self._writing() as session:
            known: set[str] = set()
            for start in range(0, len(trials), _AT_ONCE):
                ids = [t.id for t in trials[start : start + _AT_ONCE]]
                known.update(session.exec(select(TrialRow.id).where(col(TrialRow.id).in_(ids))))
            new = [t.model_dump() for t in trials if t.id not in known]
            if new:
                session.connection().execute(sa.insert(_TRIALS), new)
        return len(new)

    def trials(self, run_id: str, round_: int | None = None) -> list[Trial]:
        """Return the run's trials, of one refinement round or of all, in a stable order."""
        return self._trials(run_id, round_)

    def _trials(
        self, run_id: str, round_: int | None, *wanted: sa.ColumnElement[bool]
    ) -> list[Trial]:
        query = _TRIALS.select().where(_TRIALS.c.run_id == run_id, *wanted)
        if round_ is not None:
            query = query.where(_TRIALS.c.round == round_)
        query = query.order_by(
            _TRIALS.c.round, _TRIALS.c.agent, _TRIALS.c.task_id, _TRIALS.c.repetition
        )
        with self._reading() as session:
            rows = session.connection().execute(query).mappings()
            return [Trial.model_validate(dict(row)) for row in rows]

    def trial(self, trial_id: str) -> Trial:
        """Return the trial of that id.

        Raises:
            Misuse: if there is none.
        """
        with self._reading() as session:
            row = session.get(TrialRow, trial_id)
        if row is None:
            raise _unknown(trial_id)
        return Trial.model_validate(row.model_dump())

    def trials_due_for_execution(self, run_id: str, round_: int) -> list[Trial]:
        """Return the trials without a finished outcome."""
        finished = sa.exists().where(
            _OUTCOMES.c.trial_id == _TRIALS.c.id, _OUTCOMES.c.status == _FINISHED
        )
        return self._trials(run_id, round_, ~finished)

    def trials_due_for_scoring(self, run_id: str, round_: int) -> list[Trial]:
        """Return the finished trials without a score."""
        done = self._finished_ids(run_id)
        scored = self._ids(ScoreRow, run_id)
        return [t for t in self.trials(run_id, round_) if t.id in done and t.id not in scored]

    def trials_due_for_diagnosis(self, run_id: str, round_: int) -> list[Trial]:
        """Return the scored trials without a diagnosis."""
        scored = self._ids(ScoreRow, run_id)
        known = self._ids(DiagnosisRow, run_id)
        return [t for t in self.trials(run_id, round_) if t.id in scored and t.id not in known]

    def attempt_due(self, trial_id: str) -> tuple[Trial, int] | None:
        """Return the trial and the number of the attempt that would come now, from 1.

        None if it has finished.

        Raises:
            Misuse: if there is no such trial.
        """
        with self._reading() as session:
            row = session.connection().execute(_ATTEMPT, {"trial": trial_id}).mappings().first()
        if row is None:
            raise _unknown(trial_id)
        fields = dict(row)
        attempts, finished = fields.pop("attempts"), fields.pop("finished")
        return None if finished else (Trial.model_validate(fields), (attempts or 0) + 1)

    def failures(self, run_id: str, round_: int) -> dict[str, str]:
        """Return the latest cause of each trial of the round in which an attempt has failed."""
        query = (
            sa.select(_OUTCOMES.c.trial_id, _OUTCOMES.c.error)
            .join(_TRIALS, _TRIALS.c.id == _OUTCOMES.c.trial_id)
            .where(_TRIALS.c.run_id == run_id, _TRIALS.c.round == round_)
            .where(_OUTCOMES.c.status != _FINISHED)
            .order_by(_OUTCOMES.c.attempt)
        )
        with self._reading() as session:
            rows = session.connection().execute(query)
            return {trial_id: error or "" for trial_id, error in rows}

    def record_outcome(self, outcome: TrialOutcome) -> bool:
        """Store what happened; False, changing nothing, if the trial has finished before."""
        fields = outcome.model_dump(exclude={"deliverables", "usage", "limits"})
        fields["limits"] = outcome.limits.model_dump(mode="json") if outcome.limits else None
        fields["rejected_files"] = list(outcome.rejected_files)
        fields |= _counts(outcome.usage)
        try:
            with self._writing() as session:
                return _add_outcome(session.connection(), fields, outcome.deliverables)
        except IntegrityError:
            # Another worker finished the same trial between our look and our write.
            if self.outcome(outcome.trial_id) is None:
                raise
            return False

    def outcome(self, trial_id: str) -> TrialOutcome | None:
        """Return the finished outcome, else the latest infrastructure error, else None."""
        with self._reading() as session:
            row = self._finished(session, trial_id)
            if row is None:
                row = session.exec(
                    select(OutcomeRow)
                    .where(OutcomeRow.trial_id == trial_id)
                    .order_by(col(OutcomeRow.attempt).desc())
                    .limit(1)
                ).first()
            if row is None:
                return None
            query = select(DeliverableRow).where(DeliverableRow.outcome_id == row.id)
            return _outcome(row, list(session.exec(query.order_by(DeliverableRow.name))))

    def transcript(self, trial_id: str) -> Transcript | None:
        """Return the transcript of the outcome that counts, if it kept one."""
        outcome = self.outcome(trial_id)
        if outcome is None or outcome.transcript_sha256 is None:
            return None
        return Transcript.model_validate_json(self.artifacts.read_bytes(outcome.transcript_sha256))

    def record_score(self, score: TrialScore, rendered: Sequence[RenderedDeliverable]) -> bool:
        """Store a trial's scores and views; False, changing nothing, if it was scored before."""
        views = [
            RenderedRow(
                trial_id=score.trial_id,
                name=item.name,
                sha256=item.sha256,
                view_sha256=self.artifacts.put_bytes(item.model_dump_json().encode()),
                preview_png_sha256=item.preview_png_sha256,
            )
            for item in rendered
        ]
        with self._writing() as session:
            if session.get(ScoreRow, score.trial_id) is not None:
                return False
            session.add(
                ScoreRow(
                    trial_id=score.trial_id,
                    root_score=score.root.score,
                    coverage=score.root.coverage,
                    tree=score.root.model_dump(mode="json"),
                    scorer_version=score.scorer_version,
                    scored_at=datetime.now(UTC),
                )
            )
            session.add_all(
                LeafScoreRow(trial_id=score.trial_id, **leaf.model_dump()) for leaf in score.leaves
            )
            session.add_all(views)
            session.exec(
                delete(ScoringErrorRow).where(col(ScoringErrorRow.trial_id) == score.trial_id)
            )
        return True

    def record_scoring_error(self, trial_id: str, message: str) -> None:
        """Store why a finished trial could not be scored; it stays due."""
        with self._writing() as session:
            session.merge(
                ScoringErrorRow(trial_id=trial_id, message=message, failed_at=datetime.now(UTC))
            )

    def score(self, trial_id: str) -> TrialScore | None:
        """Return what scoring concluded, if it has."""
        with self._reading() as session:
            row = session.get(ScoreRow, trial_id)
            return None if row is None else _score(row)

    def rendered(self, trial_id: str) -> tuple[RenderedDeliverable, ...]:
        """Return the views of the trial's deliverables, by name."""
        query = select(RenderedRow).where(RenderedRow.trial_id == trial_id).order_by("name")
        with self._reading() as session:
            rows = list(session.exec(query))
        return tuple(
            RenderedDeliverable.model_validate_json(self.artifacts.read_bytes(row.view_sha256))
            for row in rows
        )

    def record_diagnosis(self, diagnosis: Diagnosis) -> bool:
        """Store a trial's labels; False, changing nothing, if it has some."""
        with self._writing() as session:
            if session.get(DiagnosisRow, diagnosis.trial_id) is not None:
                return False
            session.add(
                DiagnosisRow(
                    trial_id=diagnosis.trial_id,
                    stage=diagnosis.stage,
                    type=diagnosis.type,
                    leaf_level=diagnosis.levels.leaf,
                    composition_level=diagnosis.levels.composition,
                    deliverable_level=diagnosis.levels.deliverable,
                    evidence=list(diagnosis.evidence),
                    labeller=diagnosis.labeller,
                    diagnosed_at=datetime.now(UTC),
                )
            )
        return True

    def results(self, run_id: str) -> list[TrialResult]:
        """Return everything known about each trial of the run, all rounds, in a stable order."""
        trials = self.trials(run_id)
        with self._reading() as session:
            outcomes = self._outcomes(session, run_id)
            scores = {r.trial_id: _score(r) for r in _of_run(session, ScoreRow, run_id)}
            errors = {r.trial_id: r.message for r in _of_run(session, ScoringErrorRow, run_id)}
            labels = {r.trial_id: _diagnosis(r) for r in _of_run(session, DiagnosisRow, run_id)}
        return [
            TrialResult(
                trial=trial,
                outcome=outcomes.get(trial.id),
                score=scores.get(trial.id),
                scoring_error=errors.get(trial.id),
                diagnosis=labels.get(trial.id),
            )
            for trial in trials
        ]

    def _outcomes(self, session: Session, run_id: str) -> dict[str, TrialOutcome]:
        rows = sorted(
            _of_run(session, OutcomeRow, run_id), key=lambda r: (r.status == _FINISHED, r.attempt)
        )
        counting = {row.trial_id: row for row in rows}
        files = defaultdict(list)
        query = (
            select(DeliverableRow)
            .join(OutcomeRow, col(OutcomeRow.id) == col(DeliverableRow.outcome_id))
            .join(TrialRow, col(TrialRow.id) == col(OutcomeRow.trial_id))
            .where(TrialRow.run_id == run_id)
            .order_by(DeliverableRow.name)
        )
        for file in session.exec(query):
            files[file.outcome_id].append(file)
        return {trial_id: _outcome(row, files[_id(row)]) for trial_id, row in counting.items()}

    def _finished_ids(self, run_id: str) -> set[str]:
        query = (
            select(OutcomeRow.trial_id)
            .join(TrialRow, col(TrialRow.id) == col(OutcomeRow.trial_id))
            .where(TrialRow.run_id == run_id, OutcomeRow.status == _FINISHED)
        )
        with self._reading() as session:
            return set(session.exec(query))

    def _ids(self, table: type[ScoreRow] | type[DiagnosisRow], run_id: str) -> set[str]:
        query = (
            select(table.trial_id)
            .join(TrialRow, col(TrialRow.id) == col(table.trial_id))
            .where(TrialRow.run_id == run_id)
        )
        with self._reading() as session:
            return set(session.exec(query))

    @staticmethod
    def _finished(session: Session, trial_id: str) -> OutcomeRow | None:
        return session.exec(
            select(OutcomeRow).where(
                OutcomeRow.trial_id == trial_id, OutcomeRow.status == _FINISHED
            )
        ).first()


def _unknown(trial_id: str) -> Misuse:
    return Misuse(f"trial {trial_id!r} is not in the store; `nightshift show` lists them")


def _add_outcome(
    connection: sa.Connection, fields: dict[str, Any], deliverables: Sequence[Deliverable]
) -> bool:
    if connection.execute(_HAS_FINISHED, {"trial": fields["trial_id"]}).first() is not None:
        return False
    added = connection.execute(_ADD_OUTCOME, fields).inserted_primary_key
    if deliverables and added is not None:
        files = [{"outcome_id": added[0], **file.model_dump()} for file in deliverables]
        connection.execute(_ADD_DELIVERABLES, files)
    return True


_Row = TypeVar("_Row", bound=SQLModel)


def _of_run(session: Session, table: type[_Row], run_id: str) -> list[_Row]:
    trial_id = col(table.trial_id)  # type: ignore[attr-defined]
    query = select(table).join(TrialRow, col(TrialRow.id) == trial_id)
    return list(session.exec(query.where(TrialRow.run_id == run_id)))


def _id(row: OutcomeRow) -> int:
    if row.id is None:
        raise ValueError(f"outcome of trial {row.trial_id} has not been written yet")
    return row.id


def _counts(usage: Usage | None) -> dict[str, Any]:
    return {name: None if usage is None else getattr(usage, name) for name in Usage.model_fields}


def _usage(row: OutcomeRow) -> Usage | None:
    counts = {name: getattr(row, name) for name in Usage.model_fields}
    return None if counts["input_tokens"] is None else Usage(**counts)


def _outcome(row: OutcomeRow, deliverables: Sequence[DeliverableRow]) -> TrialOutcome:
    fields = row.model_dump(exclude={"id", *Usage.model_fields})
    return TrialOutcome.model_validate(
        fields
        | {
            "usage": _usage(row),
            "deliverables": tuple(
                Deliverable(name=d.name, sha256=d.sha256, size_bytes=d.size_bytes)
                for d in deliverables
            ),
        }
    )


def _score(row: ScoreRow) -> TrialScore:
    return TrialScore(
        trial_id=row.trial_id,
        root=NodeScore.model_validate(row.tree),
        scorer_version=row.scorer_version,
    )


def _diagnosis(row: DiagnosisRow) -> Diagnosis:
    return Diagnosis.model_validate(
        {
            "trial_id": row.trial_id,
            "stage": row.stage,
            "type": row.type,
            "levels": FailureLevels(
                leaf=row.leaf_level,
                composition=row.composition_level,
                deliverable=row.deliverable_level,
            ),
            "evidence": tuple(row.evidence),
            "labeller": row.labeller,
        }
    )
