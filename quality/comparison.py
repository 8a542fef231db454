"""Pairs of agents or runs, paired by task: what differs, and whether that is beyond chance.

Root score is the one outcome by which two sides are called different; success is told beside it.
Each has Holm's correction over all pairs that are compared at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from quality.statistics.intervals import clustered_mean, clustered_share
from quality.statistics.paired import compare_by_task, paired_differences
from quality.statistics.significance import detectable_difference, holm, mcnemar
from taskdata.schema.comparison import (
    ALPHA,
    ComparedSide,
    Flips,
    PairedSides,
    TestedDifference,
)
from taskdata.schema.run import Run, TrialResult
from taskdata.schema.success import TrialVerdict

T = TypeVar("T")

Scores = Mapping[str, Sequence[float]]
"""Of one side, by task id: one number for each repetition."""


@dataclass(frozen=True)
class Side:
    """One agent in one run, in the shape that the tests need."""

    facts: ComparedSide
    hashes: Mapping[str, str]
    """Content hash of each task by its id."""
    scores: Scores
    """The least that each trial is credited with."""
    upper: Scores
    """The most, were all missing verdicts full scores."""
    successes: Mapping[str, Sequence[bool]]
    """Of decided trials."""


def side_of(run: Run, agent: str, results: Iterable[TrialResult]) -> Side:
    """Return the first attempts of `agent` in `run`; `results` may hold those of others, too."""
    own = [r for r in results if r.trial.agent == agent and r.trial.round == 0]
    scored = [r for r in own if r.root_score is not None and not r.is_infrastructure_error]
    rule = run.config.success
    verdicts = [(r.trial.task_id, r.verdict(rule)) for r in scored]
    decided = [
        (task, verdict is TrialVerdict.SUCCEEDED)
        for task, verdict in verdicts
        if verdict is not None and verdict is not TrialVerdict.UNDECIDED
    ]
    versions = {r.score.scorer_version for r in scored if r.score is not None}
    covered = [r.score.root.coverage for r in own if r.score is not None]
    scores = [(r.trial.task_id, r.root_score or 0.0) for r in scored]
    errors = sum(r.is_infrastructure_error for r in own)
    return Side(
        facts=ComparedSide(
            run_id=run.id,
            agent=agent,
            trials=len(own),
            root_score=clustered_mean([s for _, s in scores], [t for t, _ in scores], 0, 10),
            root_sr=clustered_share([s for _, s in decided], [t for t, _ in decided]),
            error_rate=errors / len(own) if own else None,
            coverage=fmean(covered) if covered else None,
            judge=run.config.judge_name,
            scorer_version=", ".join(sorted(versions)) or None,
        ),
        hashes={r.trial.task_id: r.trial.task_hash for r in own},
        scores=_grouped(scores),
        upper=_grouped((r.trial.task_id, r.root_score_upper or 0.0) for r in scored),
        successes=_grouped(decided),
    )


def compare(pairs: Sequence[tuple[Side, Side]]) -> tuple[PairedSides, ...]:
    """Return the comparison of each pair, all of them corrected for their number."""
    found = [_pair(first, second, ALPHA / len(pairs)) for first, second in pairs]
    scores = holm([pair.root_score.p_value for pair in found])
    rates = holm([pair.root_sr.p_value for pair in found])
    flips = holm([pair.flips.p_value for pair in found])
    return tuple(
        pair.model_copy(
            update={
                "root_score": pair.root_score.model_copy(update={"p_holm": score}),
                "root_sr": pair.root_sr.model_copy(update={"p_holm": rate}),
                "flips": pair.flips.model_copy(update={"p_holm": flip}),
            }
        )
        for pair, score, rate, flip in zip(found, scores, rates, flips, strict=True)
    )


def _pair(first: Side, second: Side, alpha: float) -> PairedSides:
    changed = {
        task
        for task in first.hashes.keys() & second.hashes.keys()
        if first.hashes[task] != second.hashes[task]
    }
    ours, theirs = _without(first.scores, changed), _without(second.scores, changed)
    won, also_won = _without(first.successes, changed), _without(second.successes, changed)
    return PairedSides(
        first=first.facts,
        second=second.facts,
        root_score=_tested(ours, theirs, alpha, 10),
        root_score_range=_range(first, second, changed),
        root_sr=_tested(won, also_won, alpha, 1),
        flips=_flips(won, also_won),
        only_first=len(ours.keys() - theirs.keys()),
        only_second=len(theirs.keys() - ours.keys()),
        changed=len(changed),
        notes=tuple(_notes(first.facts, second.facts)),
    )


def _tested(first: Scores, second: Scores, alpha: float, scale: float) -> TestedDifference:
    found = compare_by_task(first, second)
    interval = found.difference.ci95
    cut = None if interval is None else (max(-scale, interval[0]), min(scale, interval[1]))
    return TestedDifference(
        tasks=found.tasks,
        difference=found.difference.model_copy(update={"ci95": cut}),
        p_value=found.p_value,
        detectable=detectable_difference(list(paired_differences(first, second).values()), alpha),
    )


def _flips(first: Mapping[str, Sequence[bool]], second: Mapping[str, Sequence[bool]]) -> Flips:
    pairs = {
        task: (before, after)
        for task in sorted(first.keys() & second.keys())
        if (before := _mostly(first[task])) is not None
        and (after := _mostly(second[task])) is not None
    }
    gained = sum(after and not before for before, after in pairs.values())
    lost = sum(before and not after for before, after in pairs.values())
    flipped = [before is not after for before, after in pairs.values()]
    return Flips(
        tasks=len(pairs),
        gained=gained,
        lost=lost,
        rate=clustered_share(flipped, list(pairs)),
        p_value=mcnemar(gained, lost),
    )


def _mostly(outcomes: Sequence[bool]) -> bool | None:
    """Return whether more than half of them are true; None where it is just half, or none."""
    twice = 2 * sum(outcomes)
    return None if twice == len(outcomes) else twice > len(outcomes)


def _range(first: Side, second: Side, changed: set[str]) -> tuple[float, float] | None:
    """Return how far missing verdicts leave the difference open; None where none is missing."""
    if first.upper == first.scores and second.upper == second.scores:
        return None
    least, most = (
        compare_by_task(_without(a, changed), _without(b, changed)).difference.mean
        for a, b in ((first.upper, second.scores), (first.scores, second.upper))
    )
    return None if least is None or most is None else (least, most)


def _notes(first: ComparedSide, second: ComparedSide) -> Iterable[str]:
    if not first.root_score.n or not second.root_score.n:
        return
    for what, one, other in (
        ("judge", first.judge, second.judge),
        ("scorer version", first.scorer_version, second.scorer_version),
    ):
        if one != other:
            yield (
                f"The {what} differs: {one or 'none'} scored the first, {other or 'none'} the "
                "second, so that a difference may be theirs and not the agents'."
            )


def _grouped(items: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for task, value in items:
        found.setdefault(task, []).append(value)
    return found


def _without(scores: Mapping[str, Sequence[T]], tasks: set[str]) -> dict[str, Sequence[T]]:
    return {task: values for task, values in scores.items() if task not in tasks}
