"""Trials, their outcomes, scores and diagnoses in the store.

Each outcome, score and diagnosis is a transaction of its own, so what is recorded survives a crash;
each is written once, so running a stage again does only what is missing.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlmodel import col, select

from taskdata.schema.diagnosis import Diagnosis, ModelLabelling
from taskdata.schema.run import OutcomeStatus, Trial, TrialOutcome
from taskdata.schema.scores import NodeScore, TrialScore
from taskdata.schema.transcript import Transcript
from taskdata.schema.views import Heard, PagePictures, PictureTexts, RenderedDeliverable
from taskdata.store.attempts import (
    FINISHED,
    OUTCOMES,
    TRIALS,
    AttemptStore,
    current_outcome,
    found_trial,
)
from taskdata.store.calls import CallStore
from taskdata.tables import (
    DiagnosisRow,
    LeafScoreRow,
    PagePicturesRow,
    RenderedRow,
    ScoreRow,
    ScoringErrorRow,
    TrialRow,
)

_AT_ONCE = 500
_COLUMNS = set(LeafScoreRow.model_fields) - {"trial_id"}
"""What of a leaf's score has a column of its own; the tree has all of it."""
SCORES: sa.Table = ScoreRow.__table__  # type: ignore[attr-defined]
_LEAVES: sa.Table = LeafScoreRow.__table__  # type: ignore[attr-defined]
SCORING_ERRORS: sa.Table = ScoringErrorRow.__table__  # type: ignore[attr-defined]
DIAGNOSES: sa.Table = DiagnosisRow.__table__  # type: ignore[attr-defined]
SCORE = sa.select(
    SCORES.c.trial_id,
    SCORES.c.scorer_version,
    sa.cast(SCORES.c.tree, sa.Text).label("tree"),
)
"""The tree as text, which becomes a value in one step."""
_RENDERED: sa.Table = RenderedRow.__table__  # type: ignore[attr-defined]
_SCORE = SCORE.where(SCORES.c.trial_id == sa.bindparam("trial"))
_HAS_SCORE = sa.select(SCORES.c.trial_id).where(SCORES.c.trial_id == sa.bindparam("trial"))
_ADD_SCORE, _ADD_LEAVES, _ADD_RENDERED = map(sa.insert, (SCORES, _LEAVES, _RENDERED))
_FORGET_SCORING_ERROR = sa.delete(SCORING_ERRORS).where(
    SCORING_ERRORS.c.trial_id == sa.bindparam("trial")
)
_IS_FINISHED = sa.exists().where(OUTCOMES.c.trial_id == TRIALS.c.id, OUTCOMES.c.status == FINISHED)
_IS_SCORED = sa.exists().where(SCORES.c.trial_id == TRIALS.c.id)
_DIAGNOSED_BY = sa.select(DIAGNOSES.c.labeller, DIAGNOSES.c.by_model).where(
    DIAGNOSES.c.trial_id == sa.bindparam("trial")
)
_FORGET_DIAGNOSIS = sa.delete(DIAGNOSES).where(DIAGNOSES.c.trial_id == sa.bindparam("trial"))
_ADD_DIAGNOSIS = sa.insert(DIAGNOSES)
_NOT_ASKED = (
    sa.update(DIAGNOSES)
    .where(DIAGNOSES.c.trial_id == sa.bindparam("trial"))
    .values(by_model=sa.bindparam("asked"))
)
_VIEWS = (
    sa.select(_RENDERED.c.view_sha256)
    .where(_RENDERED.c.trial_id == sa.bindparam("trial"))
    .order_by(_RENDERED.c.name)
)


class ScoringDue(NamedTuple):
    """A finished trial that has no score."""

    trial: Trial
    outcome: TrialOutcome


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

    def record_feedback(self, trial_id: str, feedback: str) -> str:
        """Store the feedback that a model wrote for a trial, once; return what is stored."""
        own = TRIALS.c.id == trial_id
        with self._plainly_writing() as connection:
            connection.execute(
                sa.update(TRIALS).where(own, TRIALS.c.feedback.is_(None)).values(feedback=feedback)
            )
            return str(connection.execute(sa.select(TRIALS.c.feedback).where(own)).scalar_one())

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
            TRIALS.c.round, TRIALS.c.agent, TRIALS.c.task_id, TRIALS.c.repetition, TRIALS.c.arm
        )
        with self._reading() as session:
            rows = session.connection().execute(query).mappings()
            return [Trial.model_validate(dict(row)) for row in rows]

    def trials_due_for_execution(self, run_id: str, round_: int) -> list[Trial]:
        """Return the trials without a finished outcome."""
        return self._trials(run_id, round_, ~_IS_FINISHED)

    def trials_due_for_scoring(self, run_id: str, round_: int) -> list[Trial]:
        """Return the finished trials without a score."""
        return self._trials(run_id, round_, _IS_FINISHED, ~_IS_SCORED)

    def scoring_errors(self, run_id: str, round_: int) -> dict[str, str]:
        """Return by trial of the round why it could not be scored; others are left out."""
        query = (
            sa.select(SCORING_ERRORS.c.trial_id, SCORING_ERRORS.c.message)
            .join(TRIALS, TRIALS.c.id == SCORING_ERRORS.c.trial_id)
            .where(TRIALS.c.run_id == run_id, TRIALS.c.round == round_)
        )
        with self._plainly_reading() as connection:
            return dict(connection.execute(query).tuples().all())

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
            {
                "trial_id": score.trial_id,
                "name": item.name,
                "sha256": item.sha256,
                "view_sha256": self.artifacts.put_bytes(item.model_dump_json().encode()),
                "preview_png_sha256": item.preview_png_sha256,
            }
            for item in rendered
        ]
        leaves = [
            {"trial_id": score.trial_id, "unscored": None}
            | leaf.model_dump(mode="json", include=_COLUMNS)
            for leaf in score.leaves
        ]
        fields = {
            "trial_id": score.trial_id,
            "root_score": score.root.lower,
            "coverage": score.root.coverage,
            "tree": score.root.model_dump(mode="json"),
            "scorer_version": score.scorer_version,
            "scored_at": datetime.now(UTC),
        }
        with self._plainly_writing() as connection:
            if connection.execute(_HAS_SCORE, {"trial": score.trial_id}).first():
                return False
            connection.execute(_ADD_SCORE, fields)
            for add, rows in ((_ADD_LEAVES, leaves), (_ADD_RENDERED, views)):
                if rows:
                    connection.execute(add, rows)
            connection.execute(_FORGET_SCORING_ERROR, {"trial": score.trial_id})
        return True

    def record_scoring_error(self, trial_id: str, message: str) -> None:
        """Store why a finished trial could not be scored; it stays due."""
        with self._writing() as session:
            session.merge(
                ScoringErrorRow(trial_id=trial_id, message=message, failed_at=datetime.now(UTC))
            )

    def score(self, trial_id: str) -> TrialScore | None:
        """Return the trial's score; None if it has none yet."""
        with self._plainly_reading() as connection:
            row = connection.execute(_SCORE, {"trial": trial_id}).mappings().first()
        return None if row is None else score_of(row)

    def scoring_due(self, trial_id: str) -> ScoringDue | None:
        """Return what to score of the trial; None if it has not finished, or has a score.

        Raises:
            Misuse: if there is no such trial.
        """
        with self._plainly_reading() as connection:
            if connection.execute(_HAS_SCORE, {"trial": trial_id}).first():
                return None
            outcome = current_outcome(connection, trial_id)
            if outcome is None or outcome.status is not OutcomeStatus.FINISHED:
                return None
            return ScoringDue(found_trial(connection, trial_id), outcome)

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

    def picture_texts(self, sha256: str, ending: str, reader: str) -> PictureTexts | None:
        """Return what `reader` read in the pictures of a file, or None.

        It stands in the table of pictures, so that it is kept as long as these.
        """
        kept = self.page_pictures(sha256, ending, reader)
        if kept is None:
            return None
        return PictureTexts.model_validate_json(self.artifacts.read_bytes(kept.pictures[0]))

    def keep_picture_texts(
        self, sha256: str, ending: str, reader: str, texts: PictureTexts
    ) -> None:
        """Store what `reader` read in the pictures of a file, for all trials that deliver it."""
        written = self.artifacts.put_bytes(texts.model_dump_json().encode())
        kept = PagePictures(pictures=(written,), reason=texts.reason)
        self.keep_page_pictures(sha256, ending, reader, kept)

    def record_diagnosis(self, diagnosis: Diagnosis) -> bool:
        """Store a trial's labels, and replace those of another labeller or with an error.

        Returns:
            False, and nothing changes, if the trial has labels of the same labeller.
        """
        asked = diagnosis.by_model
        fields = {
            "trial_id": diagnosis.trial_id,
            "stage": diagnosis.stage,
            "type": diagnosis.type,
            "leaf_level": diagnosis.levels.leaf,
            "composition_level": diagnosis.levels.composition,
            "deliverable_level": diagnosis.levels.deliverable,
            "evidence": list(diagnosis.evidence),
            "labels": [label.model_dump(mode="json") for label in diagnosis.labels] or None,
            "by_model": None if asked is None else asked.model_dump(mode="json"),
            "labeller": diagnosis.labeller,
            "diagnosed_at": datetime.now(UTC),
        }
        trial = {"trial": diagnosis.trial_id}
        with self._plainly_writing() as connection:
            known = connection.execute(_DIAGNOSED_BY, trial).one_or_none()
            was_asked = known is None or not (known.by_model or {}).get("error")
            if known is not None and known.labeller == diagnosis.labeller and was_asked:
                return False
            if known is not None:
                connection.execute(_FORGET_DIAGNOSIS, trial)
            connection.execute(_ADD_DIAGNOSIS, fields)
        return True

    def record_labelling_error(self, trial_id: str, model: str, cause: str) -> None:
        """Store why a model could not be asked about a trial that rules have labelled."""
        asked = ModelLabelling(model=model, error=cause)
        values = {"trial": trial_id, "asked": asked.model_dump(mode="json")}
        with self._plainly_writing() as connection:
            connection.execute(_NOT_ASKED, values)


def score_of(row: sa.RowMapping) -> TrialScore:
    """Return the score of a row of `SCORE`."""
    return TrialScore(
        trial_id=row["trial_id"],
        root=NodeScore.model_validate_json(row["tree"]),
        scorer_version=row["scorer_version"],
    )
