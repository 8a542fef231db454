"""Everything known about the trials of a run, joined: read a few hundred at a time."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import sqlalchemy as sa

from taskdata.schema.diagnosis import Diagnosis, FailureLevels
from taskdata.schema.effort import CallEffort
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.run import Deliverable, Trial, TrialOutcome, TrialResult
from taskdata.store.attempts import (
    DELIVERABLES,
    FILES,
    FINISHED,
    OUTCOMES,
    TRIALS,
    deliverable_of,
    outcome_of,
)
from taskdata.store.trials import DIAGNOSES, SCORE, SCORES, SCORING_ERRORS, TrialStore, score_of

_AT_ONCE = 500
_NOTHING = CallEffort()
_IDS: sa.BindParameter[str] = sa.bindparam("trials", expanding=True)
_TRIALS = TRIALS.select().where(TRIALS.c.id.in_(_IDS))
_OUTCOMES = OUTCOMES.select().where(OUTCOMES.c.trial_id.in_(_IDS)).order_by(OUTCOMES.c.attempt)
_FILES = FILES.join_from(DELIVERABLES, OUTCOMES).where(OUTCOMES.c.trial_id.in_(_IDS))
_SCORES = SCORE.where(SCORES.c.trial_id.in_(_IDS))
_ERRORS = SCORING_ERRORS.select().where(SCORING_ERRORS.c.trial_id.in_(_IDS))
_DIAGNOSES = DIAGNOSES.select().where(DIAGNOSES.c.trial_id.in_(_IDS))


class ResultStore(TrialStore):
    """Finds everything known about the trials of a run."""

    def results(self, run_id: str, round_: int | None = None) -> list[TrialResult]:
        """Return everything known about each trial of the run, in a stable order.

        Who keeps those of a large run calls this within `collected_after`.

        Args:
            run_id: The run.
            round_: The refinement round; None: all of them.
        """
        return list(self.each_result(run_id, round_))

    def each_result(self, run_id: str, round_: int | None = None) -> Iterator[TrialResult]:
        """Yield what `results` returns, of which only a few hundred are in memory at a time."""
        ids, beside = self._trial_ids(run_id, round_), self.efforts_beside(run_id)
        for start in range(0, len(ids), _AT_ONCE):
            yield from self._joined(ids[start : start + _AT_ONCE], beside)

    def diagnosis(self, trial_id: str) -> Diagnosis | None:
        """Return the labels of a trial, None if it has none."""
        with self._plainly_reading() as connection:
            row = connection.execute(_DIAGNOSES, {"trials": [trial_id]}).mappings().first()
        return None if row is None else _diagnosis(row)

    def _trial_ids(self, run_id: str, round_: int | None) -> list[str]:
        query = sa.select(TRIALS.c.id).where(TRIALS.c.run_id == run_id)
        if round_ is not None:
            query = query.where(TRIALS.c.round == round_)
        query = query.order_by(
            TRIALS.c.round, TRIALS.c.agent, TRIALS.c.task_id, TRIALS.c.repetition, TRIALS.c.arm
        )
        with self._plainly_reading() as connection:
            return list(connection.execute(query).scalars())

    def _joined(
        self,
        ids: Sequence[str],
        beside: Mapping[CallPurpose, Mapping[str, CallEffort]],
    ) -> Iterator[TrialResult]:
        with self._plainly_reading() as connection:
            trials, outcomes, files, scores, errors, labels = (
                connection.execute(query, {"trials": ids}).mappings().all()
                for query in (_TRIALS, _OUTCOMES, _FILES, _SCORES, _ERRORS, _DIAGNOSES)
            )
        by_id = {row["id"]: Trial.model_validate(dict(row)) for row in trials}
        current = _current(outcomes, files)
        scored = {row["trial_id"]: score_of(row) for row in scores}
        faults = {row["trial_id"]: row["message"] for row in errors}
        labelled = {row["trial_id"]: _diagnosis(row) for row in labels}
        # A prune may have removed some since their ids were read.
        for one in filter(by_id.__contains__, ids):
            yield TrialResult(
                trial=by_id[one],
                outcome=current.get(one),
                score=scored.get(one),
                scoring_error=faults.get(one),
                diagnosis=labelled.get(one),
                judging=beside[CallPurpose.JUDGE].get(one, _NOTHING),
                talking=beside[CallPurpose.SIMULATED_USER].get(one, _NOTHING),
                critique=beside[CallPurpose.CRITIC].get(one, _NOTHING),
                labelling=beside[CallPurpose.LABELLER].get(one, _NOTHING),
            )


def _current(
    rows: Sequence[sa.RowMapping], files: Sequence[sa.RowMapping]
) -> dict[str, TrialOutcome]:
    """Return by trial the finished outcome, else the latest infrastructure error."""
    ordered = sorted(rows, key=lambda row: (row["status"] == FINISHED, row["attempt"]))
    delivered: dict[int, list[Deliverable]] = defaultdict(list)
    for file in files:
        delivered[file["outcome_id"]].append(deliverable_of(file))
    counting = {row["trial_id"]: row for row in ordered}
    return {trial: outcome_of(row, delivered[row["id"]]) for trial, row in counting.items()}


def _diagnosis(row: sa.RowMapping) -> Diagnosis:
    return Diagnosis.model_validate(
        {
            "trial_id": row["trial_id"],
            "stage": row["stage"],
            "type": row["type"],
            "levels": FailureLevels(
                leaf=row["leaf_level"],
                composition=row["composition_level"],
                deliverable=row["deliverable_level"],
            ),
            "evidence": tuple(row["evidence"]),
            "labels": tuple(row["labels"] or ()),
            "labeller": row["labeller"],
            "by_model": row["by_model"],
        }
    )
