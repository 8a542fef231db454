"""Trials, their outcomes, scores and diagnoses in the store.

Each outcome, score and diagnosis is a transaction of its own, so what is recorded survives a crash;
each is written once, so running a stage again does only what is missing.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import col, delete, select

from taskdata.schema.diagnosis import Diagnosis, FailureLevels
from taskdata.schema.run import (
    JudgeEffort,
    Trial,
    TrialOutcome,
    TrialResult,
)
from taskdata.schema.scores import NodeScore, TrialScore
from taskdata.schema.transcript import Transcript
from taskdata.schema.views import Heard, PagePictures, RenderedDeliverable
from taskdata.store.attempts import FINISHED, OUTCOMES, TRIALS, AttemptStore, outcome_of
from taskdata.store.calls import CallStore
from taskdata.tables import (
    DeliverableRow,
    DiagnosisRow,
    LeafScoreRow,
    OutcomeRow,
    PagePicturesRow,
    RenderedRow,
    ScoreRow,
    ScoringErrorRow,
    TrialRow,
)

_AT_ONCE = 500
_COLUMNS = set(LeafScoreRow.model_fields) - {"trial_id"}
"""What of a leaf's score has a column of its own; the tree has all of it."""
_DIAGNOSES: sa.Table = DiagnosisRow.__table__  # type: ignore[attr-defined]
_DELIVERABLES: sa.Table = DeliverableRow.__table__  # type: ignore[attr-defined]
_ERRORS: sa.Table = ScoringErrorRow.__table__  # type: ignore[attr-defined]
_SCORES: sa.Table = ScoreRow.__table__  # type: ignore[attr-defined]
_SCORE = (
    _SCORES.c.trial_id,
    _SCORES.c.scorer_version,
    sa.cast(_SCORES.c.tree, sa.Text).label("tree"),
)
"""The tree as text, which becomes a value in one step."""
_RENDERED: sa.Table = RenderedRow.__table__  # type: ignore[attr-defined]
_HAS_DIAGNOSIS = sa.select(_DIAGNOSES.c.trial_id).where(
    _DIAGNOSES.c.trial_id == sa.bindparam("trial")
)
_ADD_DIAGNOSIS = sa.insert(_DIAGNOSES)
_VIEWS = (
    sa.select(_RENDERED.c.view_sha256)
    .where(_RENDERED.c.trial_id == sa.bindparam("trial"))
    .order_by(_RENDERED.c.name)
)


class TrialStore(AttemptStore, CallStore):
    """Stores and finds trials, their scores and their diagnoses."""

    def plan_trials(self, trials: Sequence[Trial]) -> int:
        """Store the new ones of these trials and return how many they were."""
        with self._writing() as session:
            known: set[str] = set()
            for start in range(0, len(trials), _AT_ONCE):
                ids = [t.id for t in trials[start : start + _AT_ONCE]]
                known.update(session.exec(select(TrialRow.id).where(col(TrialRow.id).in_(ids))))
            new = [t.model_dump() for t in trials if t.id not in known]
            if new:
                session.connection().execute(sa.insert(TRIALS), new)
        return len(new)

    def trials(self, run_id: str, round_: int | None = None) -> list[Trial]:
        """Return the run's trials, of one refinement round or of all, in a stable order."""
        return self._trials(run_id, round_)

    def _trials(
        self, run_id: str, round_: int | None, *wanted: sa.ColumnElement[bool]
    ) -> list[Trial]:
        query = TRIALS.select().where(TRIALS.c.run_id == run_id, *wanted)
        if round_ is not None:
            query = query.where(TRIALS.c.round == round_)
        query = query.order_by(
            TRIALS.c.round, TRIALS.c.agent, TRIALS.c.task_id, TRIALS.c.repetition
        )
        with self._reading() as session:
            rows = session.connection().execute(query).mappings()
            return [Trial.model_validate(dict(row)) for row in rows]

    def trials_due_for_execution(self, run_id: str, round_: int) -> list[Trial]:
        """Return the trials without a finished outcome."""
        finished = sa.exists().where(
            OUTCOMES.c.trial_id == TRIALS.c.id, OUTCOMES.c.status == FINISHED
        )
        return self._trials(run_id, round_, ~finished)

    def trials_due_for_scoring(self, run_id: str, round_: int) -> list[Trial]:
        """Return the finished trials without a score."""
        done = self._finished_ids(run_id)
        scored = self._scored_ids(run_id)
        return [t for t in self.trials(run_id, round_) if t.id in done and t.id not in scored]

    def transcript(self, trial_id: str) -> Transcript | None:
        """Return the transcript of the trial's current outcome; None if it has none."""
        outcome = self.outcome(trial_id)
        return None if outcome is None else self.transcript_of(outcome)

    def transcript_of(self, outcome: TrialOutcome) -> Transcript | None:
        """Return the transcript of an outcome; None if it has none."""
        if outcome.transcript_sha256 is None:
            return None
        return Transcript.model_validate_json(self.artifacts.read_bytes(outcome.transcript_sha256))

    def record_score(self, score: TrialScore, rendered: Sequence[RenderedDeliverable]) -> bool:
        """Store a trial's scores and views; return False, changing nothing, if it has a score."""
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
                    root_score=score.root.lower,
                    coverage=score.root.coverage,
                    tree=score.root.model_dump(mode="json"),
                    scorer_version=score.scorer_version,
                    scored_at=datetime.now(UTC),
                )
            )
            session.add_all(
                LeafScoreRow(
                    trial_id=score.trial_id, **leaf.model_dump(mode="json", include=_COLUMNS)
                )
                for leaf in score.leaves
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
        """Return the trial's score; None if it has none yet."""
        with self._reading() as session:
            row = session.get(ScoreRow, trial_id)
            return None if row is None else _score(row)

    def rendered(self, trial_id: str) -> tuple[RenderedDeliverable, ...]:
        """Return the views of the trial's deliverables, by name."""
        with self._plainly_reading() as connection:
            views = list(connection.execute(_VIEWS, {"trial": trial_id}).scalars())
        return tuple(
            RenderedDeliverable.model_validate_json(self.artifacts.read_bytes(sha256))
            for sha256 in views
        )

    def page_pictures(self, sha256: str, ending: str, drawer: str) -> PagePictures | None:
        """Return the pictures that `drawer` made of a file of this content and ending, or None."""
        with self._reading() as session:
            row = session.get(PagePicturesRow, (sha256, ending, drawer))
        if row is None:
            return None
        return PagePictures(
            pictures=tuple(row.pictures), page_count=row.page_count, reason=row.reason
        )

    def keep_page_pictures(
        self, sha256: str, ending: str, drawer: str, pages: PagePictures
    ) -> None:
        """Store the pictures that `drawer` made of a file, for every trial that delivers it."""
        row = PagePicturesRow(
            sha256=sha256, ending=ending, drawer=drawer, **pages.model_dump(mode="json")
        )
        with self._writing() as session:
            session.merge(row)

    def heard(self, sha256: str, ending: str, listener: str) -> Heard | None:
        """Return what `listener` heard in a file of this content and ending, or None.

        Transcript and clip stand in the table of pictures, so that they are kept as long as these.
        """
        kept = self.page_pictures(sha256, ending, listener)
        if kept is None:
            return None
        if not kept.pictures:
            return Heard(reason=kept.reason)
        transcript, *clips = kept.pictures
        return Heard(
            text=self.artifacts.read_bytes(transcript).decode(),
            reason=kept.reason,
            clip_sha256=clips[0] if clips else None,
        )

    def keep_heard(self, sha256: str, ending: str, listener: str, heard: Heard) -> None:
        """Store what `listener` heard in a file, for every trial that delivers it."""
        transcript = self.artifacts.put_bytes(heard.text.encode())
        clips = [] if heard.clip_sha256 is None else [heard.clip_sha256]
        kept = PagePictures(pictures=(transcript, *clips), reason=heard.reason)
        self.keep_page_pictures(sha256, ending, listener, kept)

    def record_diagnosis(self, diagnosis: Diagnosis) -> bool:
        """Store a trial's labels; return False, changing nothing, if it has some."""
        fields = {
            "trial_id": diagnosis.trial_id,
            "stage": diagnosis.stage,
            "type": diagnosis.type,
            "leaf_level": diagnosis.levels.leaf,
            "composition_level": diagnosis.levels.composition,
            "deliverable_level": diagnosis.levels.deliverable,
            "evidence": list(diagnosis.evidence),
            "labeller": diagnosis.labeller,
            "diagnosed_at": datetime.now(UTC),
        }
        with self._plainly_writing() as connection:
            if connection.execute(_HAS_DIAGNOSIS, {"trial": diagnosis.trial_id}).first():
                return False
            connection.execute(_ADD_DIAGNOSIS, fields)
        return True

    def results(self, run_id: str, round_: int | None = None) -> list[TrialResult]:
        """Return everything known about each trial of the run, in a stable order.

        Args:
            run_id: The run.
            round_: The refinement round; None: all of them.
        """
        trials, judged = self.trials(run_id, round_), self.judge_efforts(run_id)
        # Without the ORM, whose objects take longer to make than what they are made into.
        with self._plainly_reading() as connection:
            outcomes = _outcomes(connection, run_id)
            scores = {
                r.trial_id: TrialScore(
                    trial_id=r.trial_id,
                    root=NodeScore.model_validate_json(r.tree),
                    scorer_version=r.scorer_version,
                )
                for r in _of_run(connection, run_id, *_SCORE)
            }
            errors = {r.trial_id: r.message for r in _of_run(connection, run_id, *_ERRORS.c)}
            labels = {r.trial_id: _diagnosis(r) for r in _of_run(connection, run_id, *_DIAGNOSES.c)}
        return [
            TrialResult(
                trial=trial,
                outcome=outcomes.get(trial.id),
                score=scores.get(trial.id),
                scoring_error=errors.get(trial.id),
                diagnosis=labels.get(trial.id),
                judging=judged.get(trial.id, JudgeEffort()),
            )
            for trial in trials
        ]

    def _finished_ids(self, run_id: str) -> set[str]:
        query = (
            select(OutcomeRow.trial_id)
            .join(TrialRow, col(TrialRow.id) == col(OutcomeRow.trial_id))
            .where(TrialRow.run_id == run_id, OutcomeRow.status == FINISHED)
        )
        with self._reading() as session:
            return set(session.exec(query))

    def _scored_ids(self, run_id: str) -> set[str]:
        query = (
            select(ScoreRow.trial_id)
            .join(TrialRow, col(TrialRow.id) == col(ScoreRow.trial_id))
            .where(TrialRow.run_id == run_id)
        )
        with self._reading() as session:
            return set(session.exec(query))


def _outcomes(connection: sa.Connection, run_id: str) -> dict[str, TrialOutcome]:
    rows = sorted(
        _of_run(connection, run_id, *OUTCOMES.c), key=lambda r: (r.status == FINISHED, r.attempt)
    )
    counting = {row.trial_id: row for row in rows}
    files = defaultdict(list)
    query = (
        sa.select(_DELIVERABLES)
        .join(OUTCOMES, OUTCOMES.c.id == _DELIVERABLES.c.outcome_id)
        .join(TRIALS, TRIALS.c.id == OUTCOMES.c.trial_id)
        .where(TRIALS.c.run_id == run_id)
        .order_by(_DELIVERABLES.c.name)
    )
    for file in connection.execute(query):
        files[file.outcome_id].append(file)
    return {
        trial_id: outcome_of(row._asdict(), files[row.id]) for trial_id, row in counting.items()
    }


def _of_run(
    connection: sa.Connection, run_id: str, *columns: sa.ColumnElement[Any]
) -> Sequence[sa.Row[Any]]:
    """Return those columns, of one table with a trial in each row, of all trials of the run."""
    query = sa.select(*columns).join(TRIALS, TRIALS.c.id == columns[0].table.c.trial_id)
    return connection.execute(query.where(TRIALS.c.run_id == run_id)).all()


def _score(row: ScoreRow) -> TrialScore:
    return TrialScore(
        trial_id=row.trial_id,
        root=NodeScore.model_validate(row.tree),
        scorer_version=row.scorer_version,
    )


def _diagnosis(row: sa.Row[Any]) -> Diagnosis:
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
