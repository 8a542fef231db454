"""Failure labels from signals: stage, type and levels (GTA-2, section 5.3), with evidence.

A trial failed if its scored leaves together are not above the run's threshold. A trial that failed
only because verdicts are missing has no label, because nothing in it is known to be wrong. A trial
for which the run has too few verifiers to decide has none, either. The stage is the first one
whose rule fits, in the order of the work: if there was no plan, for example, the quality of the
execution cannot be judged.

- not attempted: no tool was called, no file left and no answer given. A call that only reads is an
attempt.
- plan: the work was not begun. No tool was called, or no call was well formed, or the trial ended
without a step toward any of the files that were asked for.
- execute: tools were used, and the work broke down there. Most calls failed, or the trial ended on
failing calls or at a limit of its budget with a deliverable missing.
- handoff: work was done but did not arrive. Deliverables that are missing, misnamed or unreadable
cost at least half of the points.
- refine: more than half of the leaves hold, but finer requirements do not.
- reason: most of what was asked for arrived, but its content is wrong: content that arrived cost at
least half of the points.
- undetermined: none of these fits.

The tool calls of a program or of an imported result are unknown. Such a trial is never labelled not
attempted or plan, and execute only if a program did not finish and a deliverable is missing.

Levels are determined for every scored trial, including successful ones. A (leaf): some leaf does
not hold. B (composition): some inner node does not hold though most of its leaves do. C
(deliverable): a deliverable is missing, misnamed or unreadable, or a leaf about form does not hold.
"""

from collections.abc import Callable

from stages.diagnose.failure_types import costliest_type, leaf_type
from stages.diagnose.signals import ANSWER, ANY_FILE, LeafSignal, Signals, one_line
from taskdata.schema.diagnosis import Diagnosis, FailureLevels, FailureStage, FailureType
from taskdata.schema.success import TrialVerdict
from taskdata.schema.transcript import Ending

LABELLER = "rules@4"
"""Trials with labels of an earlier version are due again."""
_QUOTED = 3
_ABSENT = {ANSWER: "no final answer was given", ANY_FILE: "no file was left"}


def diagnose(trial_id: str, signals: Signals) -> Diagnosis:
    """Return the labels of a trial, with one sentence for each signal that led to them."""
    stage, reason = _stage(signals)
    kind = _type(signals, stage)
    levels, findings = _levels(signals)
    return Diagnosis(
        trial_id=trial_id,
        stage=stage,
        type=kind,
        levels=levels,
        evidence=(reason, *findings),
        labeller=LABELLER,
    )


def _stage(signals: Signals) -> tuple[FailureStage | None, str]:
    no_failure = _no_failure(signals)
    if no_failure is not None:
        return None, no_failure
    rules: list[tuple[FailureStage, Callable[[Signals], str | None]]] = [
        (FailureStage.NOT_ATTEMPTED, _tried_nothing),
        (FailureStage.PLAN, _never_set_about),
        (FailureStage.EXECUTE, _broke_down),
        (FailureStage.HANDOFF, _did_not_arrive),
        (FailureStage.REFINE, _nearly_right),
        (FailureStage.REASON, _wrong_content),
    ]
    for stage, rule in rules:
        reason = rule(signals)
        if reason is not None:
            return stage, reason
    held = sum(leaf.holds for leaf in signals.leaves)
    return FailureStage.UNDETERMINED, (
        f"only {held} of {len(signals.leaves)} scored leaves hold, and no signal says at which "
        "stage the work broke down"
    )


def _no_failure(signals: Signals) -> str | None:
    """Return why there is no failure to label, None if there is one."""
    if signals.verdict is TrialVerdict.SUCCEEDED:
        return f"root score {signals.lower:.1f} is above the threshold {signals.threshold:g}"
    if signals.verdict is TrialVerdict.UNDECIDED:
        return f"not decided: only {signals.coverage:.0%} of the task was scored in this run"
    if not signals.fell_short:
        return f"what was scored is above the threshold {signals.threshold:g}, but not enough was"
    return None


def _type(signals: Signals, stage: FailureStage | None) -> FailureType | None:
    if stage is None:
        return None
    if stage is FailureStage.NOT_ATTEMPTED:
        return FailureType.NOT_ATTEMPTED
    return costliest_type(signals.leaves, stage is FailureStage.HANDOFF)


def _tried_nothing(signals: Signals) -> str | None:
    if not signals.tried_nothing:
        return None
    return (
        f"nothing was tried in {_count(signals.turns, 'turn')}: no tool was called, no file left "
        "and no answer given"
    )


def _never_set_about(signals: Signals) -> str | None:
    if not signals.watched:
        return None
    if signals.calls == 0:
        return f"no tool was called in {_count(signals.turns, 'turn')}"
    if signals.malformed_calls == signals.calls == 1:
        return (
            f"the only tool call named no known tool with readable arguments: {signals.first_error}"
        )
    if signals.malformed_calls == signals.calls:
        return (
            f"none of {_count(signals.calls, 'tool call')} named a known tool with readable "
            f"arguments, first: {signals.first_error}"
        )
    # Whatever is read for an answer is a step toward it.
    files = set(signals.asked) - {ANSWER}
    if (
        files
        and files == set(signals.missing)
        and not signals.writing_calls
        and not signals.failed_calls
    ):
        return (
            f"{_count(signals.calls, 'tool call')}, none of them toward {', '.join(signals.asked)}"
        )
    return None


def _broke_down(signals: Signals) -> str | None:
    failed, calls = signals.failed_calls, signals.calls
    first = f"first: {signals.first_error}"
    if failed == calls == 1:
        return f"the only tool call failed: {signals.first_error}"
    if 2 * failed > calls:
        return f"{failed} of {_count(calls, 'tool call')} failed, {first}"
    if not signals.undelivered:
        return None
    if signals.failures_at_end == 1:
        return f"the last tool call failed: {signals.last_error}"
    if signals.failures_at_end:
        return f"the last {_count(signals.failures_at_end, 'tool call')} failed, {first}"
    if signals.ending is not Ending.FINISHED:
        missing = ", ".join(_with_article(name) for name in signals.undelivered)
        return f"the trial ended {signals.ending.replace('_', ' ')} without {missing}"
    return None


def _did_not_arrive(signals: Signals) -> str | None:
    lost = sum(leaf.lost for leaf in signals.leaves)
    undelivered = sum(leaf.lost for leaf in signals.leaves if leaf.undelivered)
    if not undelivered or 2 * undelivered < lost:
        return None
    after = f", after {_count(signals.calls, 'tool call')}" if signals.watched else ""
    return f"what was not delivered cost {undelivered:.1f} of the {lost:.1f} points lost{after}"


def _nearly_right(signals: Signals) -> str | None:
    held = sum(leaf.holds for leaf in signals.leaves)
    if 2 * held <= len(signals.leaves):
        return None
    return f"{held} of {len(signals.leaves)} scored leaves hold, the finer ones do not"


def _wrong_content(signals: Signals) -> str | None:
    lost = sum(leaf.lost for leaf in signals.leaves)
    content = sum(
        leaf.lost
        for leaf in signals.leaves
        if not leaf.undelivered and leaf_type(leaf.checkpoint) is not FailureType.FORMATTING
    )
    if not content or 2 * content < lost:
        return None
    held = sum(leaf.holds for leaf in signals.leaves)
    return (
        f"most of what was asked for was delivered, but only {held} of {len(signals.leaves)} "
        f"scored leaves hold; wrong content cost {content:.1f} of the {lost:.1f} points lost"
    )


def _levels(signals: Signals) -> tuple[FailureLevels, list[str]]:
    broken = [leaf for leaf in signals.leaves if not leaf.holds]
    form = [leaf for leaf in broken if leaf_type(leaf.checkpoint) is FailureType.FORMATTING]
    levels = FailureLevels(
        leaf=bool(broken),
        composition=bool(signals.broken_nodes),
        deliverable=bool(signals.undelivered or form),
    )
    findings = []
    if signals.unanswered:
        findings.append(
            f"{_count(signals.unanswered, 'leaf', 'leaves')} got no verdict, which leaves the root "
            f"score between {signals.lower:.1f} and {signals.upper:.1f}"
        )
    findings += [_ABSENT.get(name, f"deliverable {name} is missing") for name in signals.missing]
    findings += [
        f"{one_line(name)} was delivered, of the type of a missing one"
        for name in signals.misnamed[:_QUOTED]
    ]
    findings += [f"deliverable {name} could not be read" for name in signals.unreadable]
    findings += [f"refused on collection: {one_line(r)}" for r in signals.rejected[:_QUOTED]]
    findings += [
        f"{node} does not hold though most of its leaves do" for node in signals.broken_nodes
    ]
    costliest = sorted(broken, key=lambda leaf: -leaf.lost)[:_QUOTED]
    findings += [_leaf_sentence(leaf) for leaf in costliest]
    return levels, findings


def _leaf_sentence(leaf: LeafSignal) -> str:
    requirement = one_line(leaf.checkpoint.requirement)
    return f"leaf {leaf.checkpoint.id} scored {leaf.score:.1f} of 10: {requirement}"


def _with_article(name: str) -> str:
    return f"a {name}" if name == ANSWER else name


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"
