"""A morning in plain sentences, for the terminal."""

from collections.abc import Iterator

from taskdata.schema.night import (
    ClusterChange,
    EffortChange,
    ErrorChange,
    Morning,
    Night,
    ScoreChange,
)

_SHOWN = 10
"""Of clusters, causes and flipped tasks, the first ones are told."""
_VERDICTS = {
    "confirmed": "The confirming re-run shows it, too.",
    "suspected": "No re-run has confirmed it.",
    "refuted": "The confirming re-run did not show it: take it for chance.",
}
_EFFORTS = {"cost_usd": "cost", "wall_s": "time", "turns": "turns", "tokens": "tokens"}


def told(morning: Morning, night: Night | None = None) -> dict[str, list[str]]:
    """Return sentences by heading; a heading with nothing to say is left out.

    Args:
        morning: What the night means.
        night: The night itself, for its gates.
    """
    alarms = [c for c in morning.changes if c.verdict in _VERDICTS]
    parts = {
        "Got worse": [_change(c) for c in alarms if c.after < c.before],
        "Got better": [_change(c) for c in alarms if c.after > c.before],
        "As in the nights before": [_lasting(c) for c in morning.changes if c.verdict == "lasting"],
        "Over all tasks": list(_overall(morning)),
        "Tasks that flipped": _capped([_flip(c) for c in morning.changes if _is_quiet_flip(c)]),
        "Causes of failure": _capped([_cluster(c) for c in morning.clusters]),
        "Infrastructure errors": _capped([_error(e) for e in morning.errors]),
        "Cost and time": list(_efforts(morning.efforts)),
        "Gates": [] if night is None else [_gate(*gate) for gate in night.gates.items()],
        "Settings that differ from the night before": [
            f"{name}: {before} before, {after} now."
            for name, (before, after) in morning.differs.items()
        ],
        "How this was compared": list(_method(morning)),
    }
    if morning.baseline and not parts["Got worse"] and not parts["Got better"]:
        parts = {"This morning": ["No difference is beyond chance."]} | parts
    return {heading: sentences for heading, sentences in parts.items() if sentences}


def _change(change: ScoreChange) -> str:
    verb = "fell" if change.after < change.before else "rose"
    moved = f"{verb} from {change.before:.2f} to {change.after:.2f}{_interval(change)}"
    success = ""
    if change.success_before is not None and change.success_after is not None:
        success = f"; success {change.success_before:.0%} then {change.success_after:.0%}"
    tasks = "" if change.scope.startswith("task ") else f", {_count(change.tasks, 'task')}"
    verdict = _VERDICTS[change.verdict]
    return f"{change.agent}, {_scope(change)}: {moved}{success}{tasks}. {verdict}{_again(change)}"


def _again(change: ScoreChange) -> str:
    if change.rerun is None or change.rerun.mean is None:
        return ""
    return f" There the difference was {change.rerun.mean:+.2f} (run {change.confirmed_by})."


def _lasting(change: ScoreChange) -> str:
    return (
        f"{change.agent}, {_scope(change)}: {change.before:.2f} on average before, "
        f"{change.after:.2f} now, as since night {change.since}."
    )


def _overall(morning: Morning) -> Iterator[str]:
    for change in morning.changes:
        if change.scope == "all" and change.verdict == "none":
            yield f"{change.agent}: {change.before:.2f} before, {change.after:.2f} now" + (
                f"{_interval(change)}."
            )


def _is_quiet_flip(change: ScoreChange) -> bool:
    return change.scope.startswith("task ") and change.verdict == "none"


def _flip(change: ScoreChange) -> str:
    rates = ""
    if change.success_before is not None and change.success_after is not None:
        rates = f"success {change.success_before:.0%} before, {change.success_after:.0%} now"
    return f"{change.agent}, {_scope(change)}: {rates}; by itself no alarm."


def _cluster(change: ClusterChange) -> str:
    cluster, trials = change.cluster, _count(change.cluster.trials, "trial")
    if change.change == "gone":
        return f"gone: {cluster.title} ({_count(change.trials_before, 'trial')} before)."
    if change.change == "new":
        return f"new: {cluster.title} ({trials} of {', '.join(cluster.agents)})."
    nights = f"{_count(change.nights, 'night')} in a row"
    return f"lasting: {cluster.title} ({trials}, {change.trials_before} before; {nights})."


def _error(change: ErrorChange) -> str:
    return f"{change.cause}: {change.before} before, {change.after} now."


def _efforts(efforts: tuple[EffortChange, ...]) -> Iterator[str]:
    for agent in dict.fromkeys(effort.agent for effort in efforts):
        own = [effort for effort in efforts if effort.agent == agent]
        yield f"{agent}, per trial: {'; '.join(map(_effort, own))}."


def _effort(effort: EffortChange) -> str:
    before, after = _amount(effort.what, effort.before), _amount(effort.what, effort.after)
    beyond = effort.usual is not None and not effort.usual[0] <= effort.after <= effort.usual[1]
    return f"{_EFFORTS[effort.what]} {before} before, {after} now" + (
        f" (from {_amount(effort.what, effort.usual[0])} to {_amount(effort.what, effort.usual[1])}"
        " in all nights before)"
        if effort.usual is not None and beyond
        else ""
    )


def _amount(what: str, value: float) -> str:
    if what == "cost_usd":
        return f"${value:.4f}"
    if what == "wall_s":
        return f"{value:.1f} s"
    return f"{value:,.0f}" if what == "tokens" else f"{value:.1f}"


def _gate(name: str, held: bool) -> str:
    return f"{name}: {'holds' if held else 'does not hold'}."


def _method(morning: Morning) -> Iterator[str]:
    yield from morning.notes
    if not morning.baseline:
        return
    floor = morning.noise_floor
    if floor is not None:
        yield f"Over all tasks, a difference of {floor:.2f} points or more raises an alarm."
    yield (
        f"At most {morning.false_alarm_rate:.0%} of nights without any real change raise one. "
        f"Compared with {', '.join(morning.baseline)}."
    )


def _interval(change: ScoreChange) -> str:
    found = change.difference
    if found.mean is None or found.ci95 is None:
        return ""
    return f" ({found.mean:+.2f}, 95 % interval {found.ci95[0]:+.2f} to {found.ci95[1]:+.2f})"


def _scope(change: ScoreChange) -> str:
    kind, _, name = change.scope.partition(" ")
    return "all tasks" if kind == "all" else f"{kind} {name}"


def _capped(sentences: list[str]) -> list[str]:
    more = len(sentences) - _SHOWN
    return sentences if more <= 0 else [*sentences[:_SHOWN], f"... and {more} more."]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
