"""Failure labels of a run's trials, by its labeller and by people, in the shape of a study."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from flows.agreement.label_questions import has_failed
from stages.diagnose.infrastructure import infrastructure_label
from stages.diagnose.labels import LABELLER
from taskdata.errors import Misuse
from taskdata.schema.diagnosis import Diagnosis, FailureLevels, FailureStage, Taxonomy
from taskdata.schema.label_agreement import GivenLabels, LabelRating
from taskdata.schema.run import Run, TrialResult
from taskdata.store import Store


def labels_of_run(store: Store, run: Run) -> tuple[list[LabelRating], Run]:
    """Return the labels of failed first attempts, by labellers and by people, and whose they are.

    A rescoring asks about the same trials again: the labels are of the run that it rescores.
    """
    source = store.run(run.config.rescores) if run.config.rescores else run
    given = defaultdict(list)
    for one in store.label_annotations(source.id):
        given[one.trial_id].append(one)
    found: list[LabelRating] = []
    failed = [result for result in store.results(source.id, round_=0) if has_failed(result)]
    labellers = {
        name for one in failed if one.diagnosis is not None for name, _ in _opinions(one.diagnosis)
    }
    for result in failed:
        facts = _facts(result)
        found += [
            LabelRating(rater=rater, is_labeller=True, labels=labels, **facts)
            for rater, labels in _of_labellers(result, sorted(labellers) or [LABELLER])
        ]
        found += [
            LabelRating(
                rater=one.annotator, labels=one.labels, place=one.place, note=one.note, **facts
            )
            for one in given[result.trial.id]
        ]
    return found, source


def matched_labels(
    given: Sequence[LabelRating], run: Run, of_run: Sequence[LabelRating]
) -> list[LabelRating]:
    """Return the labels of a file as labels of the run's trials.

    Raises:
        Misuse: if the file does not say whose trials they are of, and there are several agents, or
            if no label is of a failed trial of the run.
    """
    agents = sorted({rating.agent for rating in of_run})
    if any(not rating.agent for rating in given):
        if len(agents) != 1:
            raise Misuse(
                f"run {run.id} has failed trials of {len(agents)} agents; the file needs a column "
                "`agent`"
            )
        given = [one if one.agent else one.model_copy(update={"agent": agents[0]}) for one in given]
    tiers = {rating.trial: rating.tier for rating in of_run}
    found = [
        one.model_copy(update={"tier": tiers[one.trial]}) for one in given if one.trial in tiers
    ]
    if not found:
        raise Misuse(f"no label of the file is of a failed trial of run {run.id}")
    return found


def _facts(result: TrialResult) -> dict[str, Any]:
    trial = result.trial
    return {
        "task": trial.task_id,
        "agent": trial.agent,
        "repetition": trial.repetition,
        "tier": trial.tier,
    }


def _of_labellers(
    result: TrialResult, labellers: Sequence[str]
) -> Iterator[tuple[str, GivenLabels]]:
    """Yield who labelled a trial and how; that a trial was lost is the same for all labellers."""
    lost = infrastructure_label(result)
    if lost is not None:
        yield from ((name, GivenLabels(infrastructure=lost.name)) for name in labellers)
    elif result.diagnosis is not None:
        yield from _opinions(result.diagnosis)


def _opinions(diagnosis: Diagnosis) -> Iterator[tuple[str, GivenLabels]]:
    """Yield the labels of a diagnosis, and those of its rules alone if a model added to them."""
    yield diagnosis.labeller, given_by(diagnosis)
    if diagnosis.by_model is None:
        return
    by_rules: dict[str, Any] = {"labels": tuple(one for one in diagnosis.labels if one.by is None)}
    if diagnosis.is_by_model("stage"):
        by_rules["stage"] = FailureStage.UNDETERMINED
    if diagnosis.is_by_model("type"):
        by_rules["type"] = None
    rules = diagnosis.labeller.partition("+")[0]
    yield rules, given_by(diagnosis.model_copy(update=by_rules))


def given_by(diagnosis: Diagnosis) -> GivenLabels:
    """Return the labels of a diagnosis."""
    named = {
        taxonomy.value: tuple(one.name for one in diagnosis.labels if one.taxonomy is taxonomy)
        for taxonomy in Taxonomy
        if taxonomy is not Taxonomy.INFRASTRUCTURE
    }
    return GivenLabels(
        stage=diagnosis.stage,
        type=diagnosis.type,
        level=tuple(name for name in FailureLevels.model_fields if getattr(diagnosis.levels, name)),
        **named,
    )
