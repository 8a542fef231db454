"""This morning: what a night means against the last comparable one, verdicts first."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.pages import formats
from dashboards.pages.answers import AnswerCard
from dashboards.site.changes import changes_figure, effort_rows, is_regression, raised, sentence
from dashboards.site.control_agents import control_trouble
from dashboards.site.drawing import Drawing
from dashboards.site.history import History, NightRow
from taskdata.schema.night import ClusterChange, ErrorChange, Morning, ScoreChange

SHOWN = 20
"""Changes of one kind that are told one by one; the table has them all."""
_FAR = 1.0
"""Points of root score that are worth a second look where the comparison can tell nothing."""


def morning_context(history: History, morning: Morning) -> dict[str, Any]:
    """Return what the template of this morning needs.

    Raises:
        KeyError: if the morning is of no night of the history.
    """
    night = history.row(morning.run_id)
    if night is None:
        raise KeyError(morning.run_id)
    before = history.row(morning.baseline[0]) if morning.baseline else None
    told = raised(morning)
    return {
        "night": night,
        "before": before,
        "morning": morning,
        "cards": _cards(history, night, before, morning),
        "worse": [change for change in told if is_regression(change)],
        "better": [change for change in told if not is_regression(change)],
        "lasting": [change for change in morning.changes if change.verdict == "lasting"],
        "refuted": [change for change in morning.changes if change.verdict == "refuted"],
        "shown": SHOWN,
        "sentence": sentence,
        "clusters": _by_change(_clusters(night, morning)),
        "causes": _causes(night, morning),
        "effort": sorted(
            effort_rows(night, before, morning),
            key=lambda row: list(history.styles).index(row.agent),
        ),
        "styles": history.styles,
        "used_styles": {a: style for a, style in history.styles.items() if a in night.agents},
        "neighbours": _neighbours(history, night),
    }


def morning_drawings(history: History, morning: Morning) -> dict[str, Drawing]:
    """Return the figures of this morning; none where there is nothing to compare with."""
    drawing = changes_figure(morning, history.styles)
    return {} if drawing is None else {"changes": drawing}


def _cards(
    history: History, night: NightRow, before: NightRow | None, morning: Morning
) -> list[AnswerCard]:
    told = raised(morning)
    if morning.baseline:
        changes = [
            _worse(morning, [change for change in told if is_regression(change)]),
            _better(morning, [change for change in told if not is_regression(change)]),
        ]
    else:
        changes = [_nothing_before(morning), _ahead(history, night)]
    return [*changes, _failures(night, morning), _worked(night), _cost(night, before)]


def _nothing_before(morning: Morning) -> AnswerCard:
    lines = morning.notes[:1] or ("the next night of these settings is compared with this one",)
    return AnswerCard("What changed?", "Nothing to compare with yet", lines)


def _ahead(history: History, night: NightRow) -> AnswerCard:
    """Return who has the highest score, and leave it to the leaderboard how sure that is."""
    scored = {
        agent: own.score
        for agent, own in night.agents.items()
        if agent not in history.controls and own.score is not None
    }
    if not scored:
        return AnswerCard("Who is ahead?", "No competing agent has a score", ())
    best = sorted(scored, key=lambda agent: -scored[agent])
    lines = [f"{agent}: {formats.score(scored[agent])} of 10" for agent in best[:3]]
    lines.append("the leaderboard says how sure that is")
    return AnswerCard("Who is ahead?", best[0], tuple(lines))


def _worse(morning: Morning, changes: Sequence[ScoreChange]) -> AnswerCard:
    question = "What got worse?"
    if changes:
        lines = tuple(_brief(change) for change in changes[:3])
        return AnswerCard(question, _counted(changes, "regression"), lines, "bad")
    lasting = [c for c in morning.changes if c.verdict == "lasting" and is_regression(c)]
    if lasting:
        lines = tuple(_brief(change) for change in lasting[:3])
        return AnswerCard(question, "Nothing new, and not all is mended", lines, "bad")
    doubtful = [c for c in morning.changes if c.scope == "all" and _untold_fall(morning, c)]
    if doubtful:
        most = min(doubtful, key=lambda change: change.after - change.before)
        lines = (_brief(most), f"{formats.plural(most.tasks, 'task')} are too few to tell why")
        return AnswerCard(question, "Perhaps something: look at it", lines, "bad")
    return AnswerCard(question, "Nothing outside the noise", _largest(morning, -1))


def _untold_fall(morning: Morning, change: ScoreChange) -> bool:
    """Return whether an agent fell far while the comparison has no say in it."""
    mute = morning.noise_floor is None or change.p_value is None or change.difference.ci95 is None
    return mute and change.before - change.after >= _FAR


def _better(morning: Morning, changes: Sequence[ScoreChange]) -> AnswerCard:
    question = "What got better?"
    if changes:
        lines = tuple(_brief(change) for change in changes[:3])
        return AnswerCard(question, _counted(changes, "improvement"), lines, "good")
    return AnswerCard(question, "Nothing outside the noise", _largest(morning, 1))


def _largest(morning: Morning, sign: int) -> tuple[str, ...]:
    """Return the largest change that was seen in that direction, though it may be chance."""
    whole = [c for c in morning.changes if c.scope == "all" and sign * (c.after - c.before) > 0]
    floor = morning.noise_floor
    lines = (
        [f"differences below {formats.score(floor)} points are noise here"]
        if floor and floor >= 0.005
        else []
    )
    if whole:
        most = max(whole, key=lambda change: sign * (change.after - change.before))
        lines.insert(0, f"largest seen, and no more than chance brings: {_brief(most)}")
    return tuple(lines)


def _brief(change: ScoreChange) -> str:
    scope = "all tasks" if change.scope == "all" else formats.words(change.scope)
    return (
        f"{change.agent}, {scope}: {formats.score(change.before)} → {formats.score(change.after)}"
    )


def _counted(changes: Sequence[ScoreChange], noun: str) -> str:
    kinds = {kind: sum(c.verdict == kind for c in changes) for kind in ("confirmed", "suspected")}
    return ", ".join(formats.plural(n, f"{kind} {noun}") for kind, n in kinds.items() if n)


def _failures(night: NightRow, morning: Morning) -> AnswerCard:
    question = "Why do trials fail?"
    found = _by_change(_clusters(night, morning))
    new, lasting, gone = (found[change] for change in ("new", "lasting", "gone"))
    if not any((new, lasting, gone)):
        return AnswerCard(question, "No failed trial has a label", ())
    told = [_named(change) for change in (new or lasting)[:3]]
    if not morning.baseline:
        return AnswerCard(question, _causes_of(len(new) + len(lasting)), tuple(told))
    headline = formats.plural(len(new), "new cause") if new else "For no new cause"
    return AnswerCard(question, headline, (*told, f"{len(lasting)} lasting, {len(gone)} gone"))


def _clusters(night: NightRow, morning: Morning) -> Sequence[ClusterChange]:
    """Return the causes as the morning compares them, or those of the night alone."""
    return morning.clusters or [
        ClusterChange(cluster=cluster, change="new", first_seen=night.run_id, nights=1)
        for cluster in night.clusters
    ]


def _causes_of(count: int) -> str:
    return "One cause" if count == 1 else f"{count} causes"


def _named(change: ClusterChange) -> str:
    return f"{formats.plural(change.cluster.trials, 'trial')}: {change.cluster.title[:120]}"


def _worked(night: NightRow) -> AnswerCard:
    question = "Did the night itself work?"
    troubles = [] if night.status in ("completed", "running") else [f"the run {night.status}"]
    if night.errors:
        lost = formats.plural(night.errors, "trial")
        troubles.append(f"{lost} of {night.trials:,} lost to infrastructure errors")
    troubles += [f"gate {gate} does not hold" for gate, held in night.gates.items() if not held]
    troubles += [
        f"control {name} {trouble}"
        for name, own in night.agents.items()
        if (trouble := control_trouble(name, own))
    ]
    if troubles:
        return AnswerCard(question, "No", tuple(troubles), "bad")
    due = sum(agent.ended - agent.scored for agent in night.agents.values())
    if due:
        lines = (f"{formats.plural(due, 'trial')} of {night.trials:,} without a score",)
        return AnswerCard(question, "Not all of it", lines, "bad")
    gates = f", {formats.plural(len(night.gates), 'gate')} held" if night.gates else ""
    done = f"every one of {formats.plural(night.trials, 'trial')} finished and scored{gates}"
    return AnswerCard(question, "Yes", (done,), "good")


def _cost(night: NightRow, before: NightRow | None) -> AnswerCard:
    lines = [
        f"{formats.duration(night.wall_s)} from start to end",
        f"{formats.plural(night.trials, 'trial')} of {formats.plural(len(night.agents), 'agent')}",
    ]
    if before is not None:
        past = f"{formats.money(before.cost_usd)}, {formats.duration(before.wall_s)}"
        lines.append(f"the night it is compared with: {past}")
    known = "Unknown: a price is missing" if night.cost_usd is None else ""
    return AnswerCard("What did it cost?", known or formats.money(night.cost_usd), tuple(lines))


def _by_change(changes: Sequence[ClusterChange]) -> Mapping[str, list[ClusterChange]]:
    return {
        kind: sorted(
            (change for change in changes if change.change == kind),
            key=lambda change: -max(change.cluster.trials, change.trials_before),
        )
        for kind in ("new", "lasting", "gone")
    }


def _causes(night: NightRow, morning: Morning) -> list[ErrorChange]:
    """Return infrastructure errors by cause, most first."""
    found = morning.errors or tuple(
        ErrorChange(cause=cause, before=0, after=trials)
        for cause, trials in night.error_causes.items()
    )
    return sorted(found, key=lambda change: (-change.after, -change.before))


def _neighbours(history: History, night: NightRow) -> tuple[str | None, str | None]:
    """Return the run ids of the nights before and after."""
    ids = [row.run_id for row in history.nights]
    if night.run_id not in ids:
        return None, None
    place = ids.index(night.run_id)
    return (ids[place - 1] if place else None), (ids[place + 1] if place + 1 < len(ids) else None)
