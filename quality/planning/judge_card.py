"""The card of a judge of plans: how far its marks are those of people (APB, appendix D).

Intervals respect clustering by source task: cases from one task resemble each other.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from quality.planning.judge_votes import (
    KINDS,
    Measures,
    Side,
    Votes,
    measures,
    paired,
    votes_of,
)
from quality.statistics.bootstrap import (
    Chosen,
    bootstrapped,
    drawn_rows,
    rows_by_task,
    varying,
)
from quality.statistics.intervals import clustered_mean, clustered_share
from taskdata.errors import Misuse
from taskdata.schema.estimate import Estimate
from taskdata.schema.plan_agreement import (
    PeopleCloseness,
    PlanAgreement,
    PlanBias,
    PlanCloseness,
    PlanJudgeCard,
    PlanMode,
    PlanRating,
    SelfPreference,
    judge_of,
)

_MODELS = re.compile(r"(?:majority\((?P<several>.*)\)|(?P<one>.*?))(?:\[[^\[\]]*\])?@[^@]*")
_DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")


def plan_judges_of(ratings: Iterable[PlanRating]) -> list[str]:
    """Return the judges that marked plans, without their modes, by name."""
    return sorted({judge_of(rating.rater)[0] for rating in ratings if rating.is_judge})


def plan_judge_card(
    ratings: Sequence[PlanRating],
    judge: str,
    evidence: str,
    code_version: str,
    made_at: datetime,
) -> PlanJudgeCard:
    """Return the card of `judge`, from its marks in either mode and those of people.

    Raises:
        Misuse: if no plan was marked by a person and by the judge.
    """
    people = [one for one in ratings if not one.is_judge]
    found: dict[bool, Votes] = {}
    modes: dict[bool, PlanMode] = {}
    for blind in (False, True):
        own = [one for one in ratings if one.is_judge and judge_of(one.rater) == (judge, blind)]
        votes = votes_of(people, own)
        if len(votes):
            found[blind] = votes
            unmarked = len({one.trial for one in people} - set(votes.trials))
            modes[blind] = _mode(votes, own[0].rater, unmarked)
    if not found:
        raise Misuse(f"no plan was marked by a person and by {judge}")
    marked = {trial for votes in found.values() for trial in votes.trials}
    return PlanJudgeCard(
        judge=judge,
        made_at=made_at,
        code_version=code_version,
        evidence=evidence,
        cases=len({task for task, _, _ in marked}),
        plans=len(marked),
        annotators=tuple(sorted({one.rater for one in people if one.trial in marked})),
        with_reference=modes.get(False),
        blind=modes.get(True),
        difference=_difference(people, ratings, judge) if len(found) == 2 else {},
        between_people=_between(people, found),
    )


def _mode(votes: Votes, rater: str, unmarked: int) -> PlanMode:
    correct = votes.people.correct
    code = {trial for trial, by_code in zip(votes.trials, votes.by_code, strict=True) if by_code}
    return PlanMode(
        rater=rater,
        plans=len(set(votes.trials)),
        by_code=len(code),
        unmarked=unmarked,
        whole=_agreement(votes),
        asked=_agreement(votes.where(~votes.by_code)),
        standard=PlanCloseness(**_closeness(votes.where(correct & votes.same))),
        different=PlanCloseness(**_closeness(votes.where(correct & ~votes.same))),
        bias=_biases(votes, rater),
        self_preference=_self_preference(votes, rater),
    )


def _closeness(votes: Votes) -> dict[str, Estimate]:
    people, judge = votes.people, votes.judge
    apart = np.abs(people.grades - judge.grades)
    return {
        "agreement": _share(people.correct == judge.correct, votes.sources),
        "grade_mae": _mean(apart, votes.sources, 0),
    }


def _alike(votes: Votes) -> NDArray[np.float64]:
    """Return by pair the share of the six flags that both sides raise or leave."""
    alike = votes.people.errors == votes.judge.errors
    return np.asarray(alike.mean(axis=1)) if len(votes) else np.zeros(0)


def _agreement(votes: Votes) -> PlanAgreement:
    people, judge = votes.people.correct, votes.judge.correct
    failed = votes.where(~people)
    alike = failed.people.errors == failed.judge.errors
    return PlanAgreement(
        **_closeness(votes),
        precision=_share(people, votes.sources, judge),
        recall=_share(judge, votes.sources, people),
        f1=_drawn(votes, lambda rows: [_of(votes, rows).f1])[0],
        error_types=_mean(_alike(failed), failed.sources, 0),
        by_error={
            kind.value: _share(alike[:, place], failed.sources) for place, kind in enumerate(KINDS)
        },
    )


def _of(votes: Votes, rows: NDArray[np.intp]) -> Measures:
    return measures(votes.people.at(rows), votes.judge.at(rows))


def _difference(
    people: Sequence[PlanRating], ratings: Sequence[PlanRating], judge: str
) -> dict[str, Estimate]:
    """Return the measures of the blind mode minus those with the reference, on common plans."""
    by_mode = [
        {one.trial: one for one in reversed(ratings) if judge_of(one.rater) == (judge, blind)}
        for blind in (False, True)
    ]
    common = [one for one in people if all(one.trial in given for given in by_mode)]
    sighted, blind = (votes_of(common, list(given.values())) for given in by_mode)
    if not len(sighted):
        return {}

    def told(rows: NDArray[np.intp]) -> list[float]:
        both = zip(_of(blind, rows), _of(sighted, rows), strict=True)
        return [mine - theirs for mine, theirs in both]

    return dict(zip(Measures._fields, _drawn(sighted, told), strict=True))


def _biases(votes: Votes, rater: str) -> tuple[PlanBias, ...]:
    agents = np.array([agent for _, agent, _ in votes.trials])
    found = []
    for agent in sorted(set(agents.tolist())):
        own = votes.where(agents == agent)
        people, judge = _rates(own.people), _rates(own.judge)
        found.append(
            PlanBias(
                agent=agent,
                own=is_own(agent, rater),
                people_correct=_share(own.people.correct, own.sources),
                judge_correct=_share(own.judge.correct, own.sources),
                correct=_mean(judge[:, 0] - people[:, 0], own.sources, -1),
                people_grade=_mean(people[:, 1], own.sources, 0),
                judge_grade=_mean(judge[:, 1], own.sources, 0),
                grade=_mean(judge[:, 1] - people[:, 1], own.sources, -1),
            )
        )
    return tuple(found)


def _self_preference(votes: Votes, rater: str) -> SelfPreference | None:
    own = np.array([is_own(agent, rater) for _, agent, _ in votes.trials], dtype=bool)
    if own.all() or not own.any():
        return None
    error = _rates(votes.judge) - _rates(votes.people)

    def told(rows: NDArray[np.intp]) -> list[float]:
        mine = own[rows]
        if mine.all() or not mine.any():
            return [float("nan")] * 2
        return [float(x) for x in error[rows][mine].mean(axis=0) - error[rows][~mine].mean(axis=0)]

    correct, grade = _drawn(votes, told)
    return SelfPreference(correct=correct, grade=grade)


def is_own(agent: str, rater: str) -> bool:
    """Return whether agent and judge are one model, by name; dates at the end do not count.

    Args:
        agent: `harness:provider/model`; a bare name has no model.
        rater: `model@version`, with or without a provider, or `majority(model, model)@version`.
    """
    _, colon, model = agent.partition(":")
    named = _MODELS.fullmatch(rater)
    if not colon or named is None:
        return False
    judges = (named["several"] or named["one"] or "").split(", ")
    return any(_same_model(model, judge.partition("[")[0]) for judge in judges)


def _same_model(agents: str, judges: str) -> bool:
    """Return whether both names are of one model; providers are compared if both have one."""
    bare = agents.partition("/")[2] or agents
    return _DATED.sub("", judges) in (_DATED.sub("", agents), _DATED.sub("", bare))


def _between(people: Sequence[PlanRating], found: dict[bool, Votes]) -> PeopleCloseness | None:
    """Return how close pairs of people are who marked the same plan."""
    sources = {
        trial: source
        for votes in found.values()
        for trial, source in zip(votes.trials, votes.sources, strict=True)
    }
    by_trial: dict[tuple[str, str, int], list[PlanRating]] = {}
    for one in people:
        if one.trial in sources:
            known = one.model_copy(update={"source": sources[one.trial]})
            by_trial.setdefault(one.trial, []).append(known)
    pairs = [pair for given in by_trial.values() for pair in combinations(given, 2)]
    if not pairs:
        return None
    votes = paired(pairs)
    failed = votes.where(~(votes.people.correct & votes.judge.correct))
    error_types = _mean(_alike(failed), failed.sources, 0)
    return PeopleCloseness(**_closeness(votes), error_types=error_types)


def _rates(side: Side) -> NDArray[np.float64]:
    return np.column_stack([side.correct.astype(float), side.grades])


def _share(
    having: NDArray[np.bool_], sources: Sequence[str], among: NDArray[np.bool_] | None = None
) -> Estimate:
    """Return the share of rows for which the condition holds; `among`: of these rows alone."""
    rows = range(len(having)) if among is None else np.flatnonzero(among).tolist()
    return clustered_share([bool(having[i]) for i in rows], [sources[i] for i in rows])


def _mean(values: NDArray[np.float64], sources: Sequence[str], lowest: float) -> Estimate:
    return varying(clustered_mean(values.tolist(), sources, lowest=lowest, highest=1))


def _drawn(votes: Votes, told: Callable[[NDArray[np.intp]], list[float]]) -> list[Estimate]:
    """Return statistics of rows with intervals; one whose draws are all equal has none."""
    groups = rows_by_task(votes.sources)

    def statistics(chosen: Chosen) -> list[float]:
        return told(drawn_rows(groups, chosen))

    count = len(told(np.arange(len(votes))))
    found = bootstrapped(statistics, len(groups), [len(votes)] * count)
    return [varying(estimate) for estimate in found]
