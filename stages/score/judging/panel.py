"""A panel: several judges score a leaf, each by itself, and their scores become one.

No judge knows of the others. In which order they are asked is random but repeatable, so that none
is always the first. How their scores are pooled follows Verga et al., "Replacing Judges with
Juries" (2024, arXiv:2404.18796), who average graded scores and have binary ones decided by the
majority.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean, median

from stages.score.evidence import TrialEvidence
from stages.score.judging.judge import LeafJudge, RunJudge, nothing_to_judge
from stages.score.judging.questions import Asked
from taskdata.schema.panel import JudgeOpinion, PanelRule, judge_named_in
from taskdata.schema.scores import LeafScore, Unscored

_MAX_REASON = 2_000


@dataclass(frozen=True)
class RunPanel:
    """The judges of a run; one alone is no panel, and scores leaves as it is."""

    judges: Sequence[RunJudge]
    rule: PanelRule
    threshold: float
    """Of success, which votes of the majority are about."""

    async def of_trial(
        self,
        trial_id: str,
        evidence: TrialEvidence,
        answered: Callable[[], None],
        copy_of: str | None = None,
    ) -> "TrialPanel":
        """Return the panel for one trial; see `RunJudge.of_trial`.

        `answered` is called once every judge has answered, so that one who never does keeps the
        others from passing for all of them.
        """
        hearing = _Hearing(len(self.judges), answered)
        seated = [
            await judge.of_trial(trial_id, evidence, partial(hearing.heard, place), copy_of)
            for place, judge in enumerate(self.judges)
        ]
        return TrialPanel(trial_id, seated, self.rule, self.threshold, hearing)

    def listeners(self, answered: Callable[[], None]) -> list[Callable[[], None]]:
        """Return what each judge's replies are told to; `answered` is called after all of them."""
        hearing = _Hearing(len(self.judges), answered)
        return [partial(hearing.heard, place) for place in range(len(self.judges))]


@dataclass
class _Hearing:
    """Who of the judges has sent a reply about a trial."""

    judges: int
    answered: Callable[[], None]
    places: set[int] = field(default_factory=set)

    def heard(self, place: int) -> None:
        """Note a reply of the judge at that place."""
        self.places.add(place)
        if len(self.places) == self.judges:
            self.answered()

    def all_replied(self) -> None:
        """Note that nobody's reply is missing; some judges may have had theirs on record."""
        if self.places:
            self.answered()


@dataclass(frozen=True)
class TrialPanel:
    """The judges of one trial's leaves."""

    trial_id: str
    judges: Sequence[LeafJudge]
    rule: PanelRule
    threshold: float
    hearing: _Hearing

    async def score_group(self, group: Sequence[Asked]) -> list[LeafScore]:
        """Return the panel's scores of leaves that share a question, in the order of the leaves.

        A leaf is unscored if none of the judges gives a verdict. If there is nothing to look at,
        its score is 0 without asking any.

        Raises:
            NightshiftError: the error of `LeafJudge.score_group` for the first judge that cannot
                be asked; the replies of the other judges are recorded by then.
        """
        first = self.judges[0]
        if len(self.judges) == 1:
            return await first.score_group(group)
        asked = [one for one in group if nothing_to_judge(one.verifier, first.trial) is None]
        absent = [one for one in group if one not in asked]
        scores = {scored.leaf_id: scored for scored in await first.score_group(absent)}
        scores |= {scored.leaf_id: scored for scored in await self._asked(asked)}
        return [scores[one.leaf.id] for one in group]

    async def _asked(self, group: Sequence[Asked]) -> list[LeafScore]:
        if not group:
            return []
        places = asking_order(self.trial_id, group[0].leaf.id, len(self.judges))
        asked = (self.judges[place].score_group(group) for place in places)
        found = await asyncio.gather(*asked, return_exceptions=True)
        said = [one for one in found if isinstance(one, list)]
        for fault in found:
            if isinstance(fault, BaseException):
                raise fault
        self.hearing.all_replied()
        return [combined(of_leaf, self.rule, self.threshold) for of_leaf in zip(*said, strict=True)]


def asking_order(trial_id: str, leaf_id: str, judges: int) -> list[int]:
    """Return the places of the judges in a random order, always the same for a trial's leaf."""

    def drawn(place: int) -> bytes:
        return hashlib.sha256(f"{trial_id}\n{leaf_id}\n{place}".encode()).digest()

    return sorted(range(judges), key=drawn)


def combined(said: Sequence[LeafScore], rule: PanelRule, threshold: float) -> LeafScore:
    """Return one score of a leaf for what the judges of a panel said, in the order of asking.

    Judges without a verdict are left out; if all are, the leaf has no score.
    """
    given = [one for one in said if one.score is not None]
    scores = [one.score for one in given if one.score is not None]
    score = pooled(scores, rule, threshold) if scores else None
    return LeafScore(
        leaf_id=said[0].leaf_id,
        score=score,
        verifier=_verifier(said, rule),
        reason=_reason(said, given, score, rule),
        unscored=None if scores else Unscored.NO_VERDICT,
        panel=tuple(
            JudgeOpinion(verifier=one.verifier, score=one.score, reason=one.told) for one in said
        ),
        # What single judges were not shown stands with what they said.
        unseen=tuple(u for u in said[0].unseen if all(u in one.unseen for one in said)),
        disagreement=max(scores) - min(scores) if len(scores) > 1 else None,
    )


def pooled(scores: Sequence[float], rule: PanelRule, threshold: float) -> float:
    """Return the score (0-10) that a panel's scores come to; there is at least one.

    `majority`: each score is a vote, for success above the threshold, else against it. The result
    is the mean of the scores on the side with more votes, and of those against it where both have
    as many: what not most judges say is no success. So it lies on that side, and keeps its grade.
    """
    if rule == "mean":
        return fmean(scores)
    if rule == "median":
        return float(median(scores))
    above = [score for score in scores if score > threshold]
    below = [score for score in scores if score <= threshold]
    return fmean(above if len(above) > len(below) else below)


def _verifier(said: Sequence[LeafScore], rule: PanelRule) -> str:
    """Return `judge:median(MODEL, MODEL)@VERSION`, the models in the order of their names."""
    parts = sorted(one.verifier.removeprefix("judge:").rpartition("@") for one in said)
    names = ", ".join(name for name, _, _ in parts)
    return f"judge:{rule}({names})@{parts[0][2]}"


def _reason(
    said: Sequence[LeafScore], given: Sequence[LeafScore], score: float | None, rule: PanelRule
) -> str:
    silent = [one for one in said if one.score is None]
    missing = "; ".join(f"{judge_named_in(one.verifier)}: {one.reason}" for one in silent)
    if score is None:
        return f"no judge of the panel gave a verdict: {missing}"[:_MAX_REASON]
    listed = ", ".join(f"{judge_named_in(one.verifier)} {one.score:g}" for one in given)
    nearest = min(given, key=lambda one: abs((one.score or 0.0) - score))
    head = f"{rule} of {listed}"
    tail = f" Without a verdict: {missing}" if missing else ""
    # What is missing must be read, however long a judge's reason is.
    room = max(0, _MAX_REASON - len(head) - len(tail[:_MAX_REASON]) - 2)
    return f"{head}: {nearest.reason[:room]}{tail}"[:_MAX_REASON]
