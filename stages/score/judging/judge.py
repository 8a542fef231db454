"""The LLM judge: scores leaves against their rubrics from what it is shown of the deliverables.

A reply that does not fit the verdict schema never becomes a number: the judge is asked again, a
limited number of times, and then the leaf is unscored with the fault as its reason. The same
applies if the provider refuses the question. If the judge cannot be reached or paid for now, its
trial stays due, and its recorded replies are not asked for again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from environments.models.faults import NotRecorded
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.ports import Media, Message, ModelClient, ModelRequest, Opening
from environments.renderers.sound.formats import MAX_CLIP_SECONDS
from stages.score.evidence import TrialEvidence
from stages.score.judging.exhibits import MAX_PICTURES, MAX_RECORDINGS
from stages.score.judging.frames import MARK_LENGTH
from stages.score.judging.questions import (
    Asked,
    read_verdicts,
    reply_tokens,
    verdict_schema,
)
from stages.score.judging.senses import SOUND_TOKENS_PER_SECOND, sense
from stages.score.judging.shown import (
    ShownTrial,
    group_question,
    prompt,
    question,
    told_of,
)
from stages.score.judging.sight import Sight, sight_of
from stages.score.judging.tokens import MOST_BYTES_PER_TOKEN
from stages.score.judging.viewing import TrialViews
from stages.score.matching import storable
from stages.workers.answering import ReportingClient
from taskdata.artifacts import ArtifactStore
from taskdata.errors import JudgeUnreadable, ModelRejected
from taskdata.schema.agent import ModelSpec
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.judging import JudgeSettings
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.run import Replies
from taskdata.schema.scores import LeafScore, Unscored
from taskdata.schema.views import UnreadableView
from taskdata.store import Store

_logger = logging.getLogger(__name__)

PROMPT_VERSION = 4
"""Version of `prompts/judge.md` and of how a judge is asked; part of every verifier name."""

MAX_ASKS = 3
MAX_VIEWS = 2
"""The most views of a trial: in full, and without sentences that may address the judge."""
MOST_GAIN = 1.0
"""The most points that sentences which may address the judge can add to a score."""
_MAX_REASON = 2_000
OURS_TO_MEND = frozenset({401, 402, 403, 404, 407, 429})


@dataclass(frozen=True)
class RunJudge:
    """A run's judge; a reply about a trial is stored at once, and never paid for again."""

    spec: ModelSpec
    base_url: str | None
    client: ModelClient | None
    """None: only recorded replies are replayed."""
    replies: Replies
    calls: CallRecorder
    store: Store
    settings: JudgeSettings = field(default_factory=JudgeSettings)

    async def of_trial(
        self,
        trial_id: str,
        evidence: TrialEvidence,
        answered: Callable[[], None],
        copy_of: str | None = None,
    ) -> "LeafJudge":
        """Return the judge of one trial, which replays its earlier replies about this trial.

        Args:
            trial_id: The trial.
            evidence: What it left; all questions share one view of it.
            answered: Called for every reply that came from the provider.
            copy_of: The trial that this one is a copy of: replies about it, which another run paid
                for, are replayed, too.
        """
        asks = await self.asks_of(trial_id, answered, copy_of)
        sight = sight_of(self.spec, self.base_url, self.settings)
        return LeafJudge(asks, str(self.spec), evidence, sight, self.store.artifacts)

    async def asks_of(
        self, trial_id: str, answered: Callable[[], None], copy_of: str | None = None
    ) -> tuple[RecordedClient, ...]:
        """Return a client for each time that the judge may be asked the same about a trial.

        The arguments are those of `of_trial`.
        """
        client, earlier = None, list[ModelCall]()
        if self.client is not None:
            client = ReportingClient(self.client, answered)
            about = [trial_id] if copy_of is None else [trial_id, copy_of]
            for each in about:
                earlier += await asyncio.to_thread(self.store.judge_calls, each)
        log = CallLog(self.calls, Payer.trial(trial_id, purpose=CallPurpose.JUDGE), earlier)
        shares = self.replies != "ask"
        # It is asked again in the same words: if replies are shared, each ask has one of its own.
        return tuple(
            RecordedClient(client, self.spec, self.base_url, log, shares, sample)
            for sample in range(MAX_ASKS)
        )


@dataclass
class LeafJudge:
    """A configured judge of one trial: its clients, its model, and what it is shown."""

    asks: Sequence[ModelClient]
    """One client for each time that the judge may be asked about a leaf, in order."""
    model: str
    trial: TrialEvidence
    sight: Sight = field(default_factory=Sight)
    artifacts: ArtifactStore | None = None
    """Where pictures and recordings are; None: none are shown."""
    _made: "asyncio.Future[TrialViews] | None" = field(default=None, init=False, repr=False)

    async def score(self, leaf: Checkpoint, verifier: Judge) -> LeafScore:
        """Return the score of one leaf that is asked about by itself; see `score_group`."""
        (scored,) = await self.score_group([Asked(leaf, verifier)])
        return scored

    async def score_group(self, group: Sequence[Asked]) -> list[LeafScore]:
        """Return the scores of leaves that are asked about in one question, in their order.

        They are unscored if the judge refuses or its reply cannot be parsed. If nothing that the
        judge should look at was delivered, a leaf scores 0 without asking.

        Raises:
            ModelUnavailable: the judge cannot be reached, or other calls held the money for too
                long.
            BudgetExhausted: there is no money left for the judge.
            ModelRejected: the key, the account or the model's name is wrong.
            NotRecorded: only recorded replies are replayed, and there is none.
        """
        scores: dict[str, LeafScore] = {}
        asked = list[Asked]()
        for leaf, verifier in group:
            absent = nothing_to_judge(verifier, self.trial)
            if absent is None:
                asked.append(Asked(leaf, verifier))
            else:
                scores[leaf.id] = self._leaf(leaf.id, 0.0, self.model, absent)
        if asked:
            scores |= {found.leaf_id: found for found in await self._verdicts(asked)}
        return [scores[one.leaf.id] for one in group]

    async def _verdicts(self, asked: Sequence[Asked]) -> list[LeafScore]:
        """Return the scores of leaves with something to look at."""
        views = await self._views(asked[0].leaf)
        found = await self._of_view(asked, views.whole)
        if not views.may_speak or all((one.score or 0.0) <= MOST_GAIN for one in found):
            return found
        second = await asyncio.to_thread(views.second)
        if second is None:
            return found
        again = await self._of_view(asked, second)
        return [lower(*both) for both in zip(found, again, strict=True)]

    async def _of_view(self, asked: Sequence[Asked], shown: ShownTrial) -> list[LeafScore]:
        found = await self._ask(asked, group_request(shown, asked))
        return [
            scored.model_copy(update={"unseen": told_of(shown, one.verifier)})
            for one, scored in zip(asked, found, strict=True)
        ]

    async def _ask(self, asked: Sequence[Asked], request: ModelRequest) -> list[LeafScore]:
        fault, model = "", self.model
        for client in self.asks:
            try:
                reply = await client.reply(request)
            except NotRecorded:
                raise
            except ModelRejected as exc:
                # No word on the question: the key, the account or the model's name is wrong.
                if exc.status in OURS_TO_MEND:
                    raise
                return self._without_verdict(asked, self.model, f"the judge gave no verdict: {exc}")
            model = reply.model or self.model
            try:
                verdicts = read_verdicts(asked, reply)
            except JudgeUnreadable as exc:
                fault = str(exc)
                _logger.warning("%s", fault)
                continue
            return [
                self._leaf(one.leaf.id, float(verdict.score), model, verdict.evidence)
                for one, verdict in zip(asked, verdicts, strict=True)
            ]
        return self._without_verdict(asked, model, f"after {len(self.asks)} asks: {fault}")

    def _without_verdict(self, asked: Sequence[Asked], model: str, reason: str) -> list[LeafScore]:
        return [self._leaf(one.leaf.id, None, model, reason, Unscored.NO_VERDICT) for one in asked]

    def _views(self, leaf: Checkpoint) -> Awaitable[TrialViews]:
        """Return what the trial's leaves share, made once; without a task it is `leaf` alone."""
        if self._made is None:
            self._made = asyncio.ensure_future(self._make(leaf))
        return self._made

    async def _make(self, leaf: Checkpoint) -> TrialViews:
        task = self.trial.task
        leaves = (leaf,) if task is None else task.checkpoints.leaves()
        sensed = await sense(self.trial, leaves, self.artifacts, self.sight)
        return await asyncio.to_thread(TrialViews, self.trial, leaves, sensed, self.sight)

    def _leaf(
        self,
        leaf_id: str,
        score: float | None,
        model: str,
        reason: str,
        unscored: Unscored | None = None,
    ) -> LeafScore:
        return _leaf(leaf_id, score, f"{model}{self.sight.qualifier}", reason, unscored)


def lower(whole: LeafScore, second: LeafScore) -> LeafScore:
    """Return the final score of a leaf from its scores in the full view and in the second view.

    Sentences that may address the judge can add at most `MOST_GAIN` points; if they add more, the
    score without them counts. A leaf that is unscored without them is unscored.
    """
    if whole.score is None or second.score is None:
        return whole if whole.score is None else second
    if whole.score - second.score <= MOST_GAIN:
        return whole
    reason = (
        f"{second.score:g} without sentences that may address the judge, {whole.score:g} with "
        f"them; the lower score counts: {second.reason}"
    )
    return second.model_copy(update={"reason": reason[:_MAX_REASON]})


def no_judge(leaf_id: str) -> LeafScore:
    """Return the unscored leaf of a run without a judge."""
    return _leaf(leaf_id, None, "none", "no judge is configured", Unscored.NOT_CONFIGURED)


def nothing_to_judge(verifier: Judge, trial: TrialEvidence) -> str | None:
    """Return why there is nothing to show to a judge, None if there is something."""
    if not verifier.deliverables:
        return None if trial.final_answer.strip() else "no final answer was given"
    for name in verifier.deliverables:
        if name in trial.views and not isinstance(trial.views[name], UnreadableView):
            return None
    name = verifier.deliverables[0]
    view = trial.views.get(name)
    if isinstance(view, UnreadableView):
        return f"{name} cannot be read: {view.reason}"
    return trial.not_delivered(name)


def judge_request(shown: ShownTrial, requirement: str, verifier: Judge) -> ModelRequest:
    """Return the question about one leaf, with all untrusted text between marks."""
    return _request(shown, question(shown, requirement, verifier), 1)


def group_request(shown: ShownTrial, group: Sequence[Asked]) -> ModelRequest:
    """Return the question about leaves that are asked about together; one alone is no group."""
    if len(group) == 1:
        ((leaf, verifier),) = group
        return judge_request(shown, leaf.requirement, verifier)
    return _request(shown, group_question(shown, group), len(group))


def _request(shown: ShownTrial, asked: str, leaves: int) -> ModelRequest:
    return ModelRequest(
        messages=[shown.system, Message(role="user", text=asked, opening=shown.opening)],
        max_tokens=reply_tokens(leaves),
        json_schema=verdict_schema(leaves),
    )


def largest_request(requirement: str, verifier: Judge, sight: Sight) -> ModelRequest:
    """Return the most expensive question to a judge, whatever will be delivered."""
    text = "abcd " * (sight.max_tokens * MOST_BYTES_PER_TOKEN // 5)
    pieces: list[str | Media] = [text]
    picture = Media("image/png", b"", most_tokens=sight.picture_tokens)
    pieces += [picture] * (sight.sees * MAX_PICTURES)
    seconds = sight.hears * MAX_RECORDINGS * MAX_CLIP_SECONDS
    sounds = Media("audio/wav", b"", most_tokens=seconds * SOUND_TOKENS_PER_SECOND)
    pieces += [sounds] * sight.hears
    shown = ShownTrial("0" * MARK_LENGTH, Message("system", prompt()), Opening(tuple(pieces)), {})
    return judge_request(shown, requirement, verifier)


def _leaf(
    leaf_id: str,
    score: float | None,
    model: str,
    reason: str,
    unscored: Unscored | None = None,
) -> LeafScore:
    reason = storable(reason)[:_MAX_REASON]
    verifier = f"judge:{model}@{PROMPT_VERSION}"
    return LeafScore(
        leaf_id=leaf_id, score=score, verifier=verifier, reason=reason, unscored=unscored
    )
