"""What an agent is told about its previous attempt, by arm (GTA-2, section 6.5).

- `none`: nothing, which makes the next attempt a plain second one, the control.
- `coarse`: only that the result is not right.
- `checkpoint`: which requirements are not met and how far, and what happened to the deliverables.
- `diagnosis`: where the work broke down, and each label with its evidence in words.

`policy` decides what any of them may reveal.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import jinja2

from stages.diagnose.signals import LeafSignal, Signals, one_line
from stages.refine.check_sentences import check_sentence
from stages.refine.label_sentences import label_sentence, stage_sentences
from stages.refine.plan_errors import MEANINGS
from stages.refine.policy import Policy
from taskdata.errors import NightshiftError
from taskdata.schema.arms import Arm
from taskdata.schema.diagnosis import Diagnosis
from taskdata.schema.task import Task
from taskdata.schema.transcript import Ending

LEAVES_NAMED = 6
LABELS_NAMED = 6
REQUIREMENT_LENGTH = 160
_COSTLIEST = 3
"""Requirements that `diagnosis` names."""


def feedback(arm: Arm, task: Task, signals: Signals, diagnosis: Diagnosis | None) -> str:
    """Return the feedback of an arm on a scored trial of `task` that did not succeed.

    Args:
        arm: The kind of feedback; `none` gives an empty text.
        task: The task that was tried.
        signals: What the trial shows.
        diagnosis: Its labels; only `diagnosis` needs them.

    Raises:
        NightshiftError: The arm is `diagnosis`, and the trial has no labels.
    """
    if arm == "none":
        return ""
    if arm == "coarse":
        return _rendered("coarse_v1")
    if arm == "diagnosis" and task.planning is not None:
        # The evidence may quote the reference, so only the kinds of error are told.
        errors = [MEANINGS[error] for error in signals.plan_errors]
        return _rendered("plan_diagnosis_v1", errors=errors)
    policy = Policy(task)
    if arm == "diagnosis":
        return _of_diagnosis(signals, _require(diagnosis), policy)
    short = _short(signals)
    return _rendered(
        "checkpoint_v1",
        score=f"{signals.root_score:.1f}",
        facts=list(_facts(signals)),
        leaves=[_line(leaf, signals, policy) for leaf in short[:LEAVES_NAMED]],
        more=max(0, len(short) - LEAVES_NAMED),
    )


def _of_diagnosis(signals: Signals, diagnosis: Diagnosis, policy: Policy) -> str:
    told = (label_sentence(one, diagnosis, signals, policy) for one in diagnosis.labels)
    costliest = [leaf for leaf in _short(signals) if not leaf.holds][:_COSTLIEST]
    return _rendered(
        "diagnosis_v1",
        stage=list(stage_sentences(diagnosis, signals)),
        facts=list(_facts(signals, tried=True)),
        labels=list(filter(None, told))[:LABELS_NAMED],
        leaves=[_line(leaf, signals, policy) for leaf in costliest],
    )


def _require(diagnosis: Diagnosis | None) -> Diagnosis:
    if diagnosis is None:
        raise NightshiftError(
            "feedback of the arm diagnosis needs labels, and the trial has none: run "
            "`nightshift stage diagnose` first"
        )
    return diagnosis


def _rendered(template: str, **values: object) -> str:
    return _template(template).render(**values).strip()


@cache
def _template(name: str) -> jinja2.Template:
    text = (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        autoescape=False,  # noqa: S701 - plain text for a model, never HTML
    )
    return environment.from_string(text)


def _short(signals: Signals) -> list[LeafSignal]:
    """Return the leaves without the full score, costliest first."""
    return sorted((leaf for leaf in signals.leaves if leaf.score < 10), key=lambda x: -x.lost)


def _facts(signals: Signals, tried: bool = False) -> Iterator[str]:
    """Yield facts about the end of the attempt that the agent could have seen itself.

    `tried`: leave out that nothing was tried, because another sentence says so.
    """
    if signals.tried_nothing and not tried:
        yield "Nothing was tried: no tool was called, no file left and no answer given."
    if signals.ending is not Ending.FINISHED:
        yield f"The attempt ended {signals.ending.replace('_', ' ')}."
    for name in signals.missing:
        yield f"Missing: {name}."
    for name in signals.misnamed:
        yield f"Not asked for, perhaps misnamed: {one_line(name)}."
    for name in signals.unreadable:
        yield f"Could not be opened: {name}."
    for refused in signals.rejected:
        yield f"Not accepted: {one_line(refused)}."


def _line(leaf: LeafSignal, signals: Signals, policy: Policy) -> dict[str, str]:
    requirement = one_line(policy.requirement(leaf.checkpoint), REQUIREMENT_LENGTH)
    sentence = check_sentence(leaf, signals, policy)
    told: Iterable[str] = filter(None, (requirement, sentence))
    return {"score": f"{leaf.score:.0f}", "requirement": " ".join(told)}
