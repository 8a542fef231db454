"""The first screen: who is better, is it real, what did it cost, did the evaluation work."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from dashboards.pages import formats
from dashboards.pages.pairs import pairs
from taskdata.schema.deadlines import NIGHT_DEADLINE
from taskdata.schema.estimate import Estimate
from taskdata.schema.night import Morning, ScoreChange
from taskdata.schema.ranking import MUST_SCORE, controls, ranked
from taskdata.schema.run import RunStatus, TrialResult
from taskdata.schema.summary import AgentSummary, RunSummary

_IDLE = "nop"
"""Whom an agent must beat that has no competitor."""
_OTHERS = 2
_ALARMS = ("confirmed", "suspected")
_SLACK = 1e-9


class AnswerCard(NamedTuple):
    """One question of the first screen; `tone` is `plain`, `good` or `bad`."""

    question: str
    headline: str
    details: tuple[str, ...]
    tone: str = "plain"


def answers(
    summary: RunSummary, results: Sequence[TrialResult], morning: Morning | None = None
) -> list[AnswerCard]:
    """Return the answers, in the order they are read.

    Args:
        summary: The run's numbers.
        results: Its trials.
        morning: What the run means against the nights before; None: nobody has compared it.
    """
    competing = [agent for agent in ranked(summary.agents) if agent.root_score.mean is not None]
    worked = _did_the_evaluation_work(summary, results)
    cards = [
        _who_is_better(competing, summary.agents),
        _is_it_real(competing, summary, results),
        _what_did_it_cost(summary, results),
    ]
    if morning is None or not morning.baseline:
        return [*cards, worked]
    worse = _did_anything_get_worse(morning)
    if worse.tone == "bad" and worked.tone == "good":
        # Green beside a regression would be taken for "nothing went wrong".
        worked = worked._replace(tone="plain")
    return [worse, *cards, worked]


def _did_anything_get_worse(morning: Morning) -> AnswerCard:
    question = "Did anything get worse?"
    fallen = [c for c in morning.changes if c.after < c.before]
    alarms = [c for c in fallen if c.verdict in _ALARMS]
    if not alarms:
        lasting = [c for c in fallen if c.verdict == "lasting"]
        nights = formats.plural(len(morning.baseline), "comparable night")
        shown = f"against {nights}, an alarm in {morning.false_alarm_rate:.0%} of quiet nights"
        if lasting:
            return AnswerCard(question, "Not since the night before", _told(lasting))
        return AnswerCard(question, "Nothing beyond chance", (shown,))
    kinds = [(kind, sum(c.verdict == kind for c in alarms)) for kind in _ALARMS]
    headline = ", ".join(formats.plural(n, f"{kind} regression") for kind, n in kinds if n)
    return AnswerCard(question, f"Yes: {headline}", _told(alarms), "bad")


def _told(changes: Sequence[ScoreChange]) -> tuple[str, ...]:
    return tuple(
        f"{c.agent}, {'all tasks' if c.scope == 'all' else formats.words(c.scope)}: "
        f"{formats.score(c.before)} then {formats.score(c.after)}"
        + (f" ({formats.gain_interval(c.difference.ci95)})" if c.difference.ci95 else "")
        for c in changes[: _OTHERS + 1]
    )


def _scored(estimate: Estimate) -> str:
    interval = formats.score_interval(estimate.ci95)
    return formats.score(estimate.mean) + (f" ({interval})" if interval else "")


def _who_is_better(competing: Sequence[AgentSummary], agents: Sequence[AgentSummary]) -> AnswerCard:
    question = "Who is better?" if len(competing) != 1 else "How good is the agent?"
    beside = [
        f"{a.agent}, a control: {_scored(a.root_score)}"
        for a in controls(agents)
        if a.root_score.mean is not None
    ]
    if not competing:
        return AnswerCard(question, "No competing agent has a score", tuple(beside))
    best, others = competing[0], competing[1 : 1 + _OTHERS]
    first = f"{_scored(best.root_score)} of 10, root SR {formats.share(best.root_sr)}"
    rest = [f"{a.agent}: {_scored(a.root_score)}" for a in others]
    rest = rest or ["the only agent that competes", *beside]
    return AnswerCard(question, best.agent, (first, *rest))


def _is_it_real(
    competing: Sequence[AgentSummary], summary: RunSummary, results: Sequence[TrialResult]
) -> AnswerCard:
    question = "Is the difference real?"
    rivals = {agent.agent for agent in competing[:2]} if len(competing) > 1 else {_IDLE}
    rivals |= {agent.agent for agent in competing[:1]}
    found = [pair for pair in pairs(summary.comparisons, ()) if {pair.ahead, pair.behind} == rivals]
    if not found:
        return AnswerCard(question, "Nothing to compare", ("It takes two agents with scores.",))
    pair = found[0]
    details = [f"{pair.ahead} against {pair.behind}", _by_task(pair.ahead, pair.behind, results)]
    if pair.lead < _SLACK:
        return AnswerCard(question, "There is none", tuple(details))
    if pair.ci95 is None:
        return AnswerCard(question, "Not known", (*details, "It takes two tasks for an interval."))
    lead = f"{formats.gain(pair.lead)} ({formats.gain_interval(pair.ci95)})"
    details.append(f"{lead}, p-value {formats.probability(pair.p_value)}")
    if pair.could_be is not None:
        details.append(f"{formats.gain_interval(pair.could_be)} with the verdicts that are missing")
    if pair.is_clear:
        return AnswerCard(question, "Yes", tuple(details), "good")
    return AnswerCard(question, "Not shown by this run", tuple(details))


def _by_task(first: str, second: str, results: Sequence[TrialResult]) -> str:
    """Return on how many of the common tasks the first is ahead, level and behind."""
    means = {agent: _task_means(agent, results) for agent in (first, second)}
    common = means[first].keys() & means[second].keys()
    gaps = [means[first][task] - means[second][task] for task in common]
    ahead, behind = sum(g > _SLACK for g in gaps), sum(g < -_SLACK for g in gaps)
    return (
        f"ahead on {ahead} of {formats.plural(len(gaps), 'task')}, behind on {behind}, "
        f"level on {len(gaps) - ahead - behind}"
    )


def _task_means(agent: str, results: Sequence[TrialResult]) -> Mapping[str, float]:
    scores: dict[str, list[float]] = defaultdict(list)
    for result in results:
        counts = result.trial.agent == agent and result.trial.round == 0
        if counts and result.root_score is not None:
            scores[result.trial.task_id].append(result.root_score)
    return {task: fmean(values) for task, values in scores.items()}


def _what_did_it_cost(summary: RunSummary, results: Sequence[TrialResult]) -> AnswerCard:
    outcomes = [r.outcome for r in results if r.outcome is not None]
    unknown = sum(o.cost_usd is None for o in outcomes)
    known = sum(o.cost_usd or 0.0 for o in outcomes)
    headline = formats.money(known)
    if summary.run.rescores:
        paid = formats.money(summary.judging.cost_usd).capitalize()
        return AnswerCard("What did it cost?", paid, _rescoring(summary))
    if unknown:
        headline = "Unknown" if not known else f"{headline} and more"
    run = summary.run
    took = None if run.finished_at is None else (run.finished_at - run.created_at).total_seconds()
    details = [
        f"{formats.count(sum(o.usage.total for o in outcomes if o.usage))} tokens in "
        f"{formats.plural(len(outcomes), 'trial')}, all rounds",
        f"{formats.duration(sum(o.wall_seconds or 0.0 for o in outcomes))} of trials"
        + ("" if took is None else f", {formats.duration(took)} from start to end"),
    ]
    if run.judge is not None:
        judging, calls = summary.judging, formats.plural(summary.judging.calls, "call")
        details.append(f"the judge beside it: {formats.money(judging.cost_usd)} for {calls}")
    if run.user is not None:
        calls = formats.plural(summary.talking.calls, "call")
        paid = formats.money(summary.talking.cost_usd)
        details.append(f"the simulated user beside it: {paid} for {calls}")
    if run.labeller is not None:
        calls = formats.plural(summary.labelling.calls, "call")
        paid = formats.money(summary.labelling.cost_usd)
        details.append(f"the labeller beside it: {paid} for {calls}")
    if summary.critique.calls:
        calls = formats.plural(summary.critique.calls, "call")
        paid = formats.money(summary.critique.cost_usd)
        details.append(f"feedback that models wrote, beside it: {paid} for {calls}")
    unmeasured = sum(o.usage is None or o.wall_seconds is None for o in outcomes)
    if unmeasured:
        details.append(f"tokens or time unknown for {formats.plural(unmeasured, 'trial')}")
    if unknown:
        details.append(f"price unknown for {formats.plural(unknown, 'trial')}")
    return AnswerCard(
        "What did it cost?", headline if outcomes else "Nothing has run", tuple(details)
    )


def _rescoring(summary: RunSummary) -> tuple[str, ...]:
    calls = formats.plural(summary.judging.calls, "call")
    return f"{calls} of judges", f"the agents were paid in run {summary.run.rescores}"


def _did_the_evaluation_work(summary: RunSummary, results: Sequence[TrialResult]) -> AnswerCard:
    """Answer for the infrastructure alone, and name the agents' own failures beside it."""
    question = "Did the evaluation itself work?"
    beside = _own_failures(summary.agents, summary.run.threshold)
    troubles = [] if summary.run.error is None else [f"run: {summary.run.error}"]
    left_out = sum(r.is_left_out for r in results)
    if left_out:
        troubles.append(f"{formats.plural(left_out, 'trial')} left out by {NIGHT_DEADLINE}")
    lost = sum(r.is_infrastructure_error for r in results) - left_out
    if lost:
        troubles.append(f"{formats.plural(lost, 'trial')} lost to infrastructure errors")
    due = sum(r.score is None and not r.is_infrastructure_error for r in results)
    if due and summary.run.status != RunStatus.RUNNING:
        troubles.append(f"{formats.plural(due, 'trial')} not finished and scored")
    troubles += [f"gate {gate.gate} does not hold" for gate in summary.gates if not gate.success]
    troubles += [t for agent in summary.agents if (t := _control_trouble(agent, results))]
    if troubles:
        return AnswerCard(question, "No, see below", (*troubles, *beside), "bad")
    if due:
        to_come = f"{formats.plural(due, 'trial')} still to come"
        return AnswerCard(question, "So far, yes", (to_come, *beside))
    if not results:
        return AnswerCard(question, "Nothing has run", ())
    held = f"{formats.plural(len(summary.gates), 'gate')} held" if summary.gates else "no gate yet"
    finished = f"every one of {formats.plural(len(results), 'trial')} finished and scored, {held}"
    return AnswerCard(question, "Yes", (finished, *beside), "good")


def _own_failures(agents: Sequence[AgentSummary], threshold: float) -> tuple[str, ...]:
    """Return how often the competing agents fell short: no fault of the evaluation."""
    scored = [(a.scored - a.undecided, a.root_sr) for a in ranked(agents) if a.root_sr is not None]
    if not scored:
        return ()
    tried = sum(trials for trials, _ in scored)
    short = tried - sum(round(trials * share) for trials, share in scored)
    return (
        f"the agents' own failures do not count here: {short:,} of "
        f"{formats.plural(tried, 'first attempt')} did not get above {threshold:g}",
    )


def _control_trouble(agent: AgentSummary, results: Sequence[TrialResult]) -> str | None:
    if agent.agent not in MUST_SCORE or agent.root_score.mean is None:
        return None
    low, high = MUST_SCORE[agent.agent]
    # A verdict that is missing, or less than full, is the judge's and proves no task broken.
    own = (r for r in results if r.trial.agent == agent.agent and r.trial.round == 0)
    best = (r.score.root.best_judged for r in own if r.score is not None)
    upper = agent.missing.root_score_upper or agent.root_score.mean
    most = max(upper, fmean([one for one in best if one is not None] or [upper]))
    if low - _SLACK <= most and agent.root_score.mean <= high + _SLACK:
        return None
    must = f"{low:g}" if low == high else f"at most {high:g}"
    return f"control {agent.agent} has {formats.score(agent.root_score.mean)}, must be {must}"
