"""The LLM judge: scores a leaf against its rubric from the rendered text of the deliverables.

A reply that does not fit the verdict schema never becomes a number: the judge is asked again, a
limited number of times, and then the leaf is unscored with the fault as its reason. The same
applies if the provider refuses the question. If the judge cannot be reached or paid for now, its
trial stays due, and its recorded replies are not asked for again.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environments.models.faults import NotRecorded
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.ports import Message, ModelClient, ModelReply, ModelRequest
from stages.score.evidence import TrialEvidence
from stages.score.judging.frames import Block, Frame, Part, framed, quoted
from stages.score.judging.showing import parts_of
from stages.score.matching import quote, storable
from taskdata.errors import JudgeUnreadable, ModelRejected
from taskdata.schema.agent import ModelSpec
from taskdata.schema.checkpoint import Judge
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.run import Replies
from taskdata.schema.scores import LeafScore, Unscored
from taskdata.schema.views import TextView, UnreadableView
from taskdata.store import Store

_logger = logging.getLogger(__name__)

PROMPT_VERSION = 2
"""Version of `prompts/judge.md` and the layout of the request; part of every verifier name."""

MAX_ASKS = 3
MAX_FILE_CHARACTERS = 40_000
"""Most that is shown of one deliverable, or of the final answer."""
MAX_CHARACTERS = 120_000
"""Most that is shown of all of them together."""
_MAX_REASON = 2_000
_OURS_TO_MEND = frozenset({401, 402, 403, 404, 407, 429})


class JudgeReply(BaseModel):
    """What a judge must answer: exactly this."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    score: Annotated[int, Field(ge=0, le=10)]
    evidence: Annotated[str, Field(min_length=1)]


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

    async def of_trial(
        self, trial_id: str, answered: Callable[[], None], copy_of: str | None = None
    ) -> "LeafJudge":
        """Return the judge of one trial, which replays its earlier replies about this trial.

        `answered` is called for every reply that came from the provider. Replies about the trial
        `copy_of`, which another run paid for, are replayed, too.
        """
        client, earlier = None, list[ModelCall]()
        if self.client is not None:
            client = _Asked(self.client, answered)
            about = [trial_id] if copy_of is None else [trial_id, copy_of]
            for each in about:
                earlier += await asyncio.to_thread(self.store.judge_calls, each)
        log = CallLog(self.calls, Payer.trial(trial_id, purpose=CallPurpose.JUDGE), earlier)
        shares = self.replies != "ask"
        # It is asked again in the same words: if replies are shared, each ask has one of its own.
        asks = tuple(
            RecordedClient(client, self.spec, self.base_url, log, shares, sample)
            for sample in range(MAX_ASKS)
        )
        return LeafJudge(asks, str(self.spec))


@dataclass(frozen=True)
class _Asked:
    """A client that reports each reply; it does not own the client that it wraps."""

    client: ModelClient
    answered: Callable[[], None]

    async def reply(self, request: ModelRequest) -> ModelReply:
        reply = await self.client.reply(request)
        self.answered()
        return reply

    async def close(self) -> None:
        """Do nothing: the client is shared."""


@dataclass(frozen=True)
class LeafJudge:
    """A configured judge: its clients and its model."""

    asks: Sequence[ModelClient]
    """One client for each time that the judge may be asked about a leaf, in order."""
    model: str

    async def score(
        self, leaf_id: str, requirement: str, verifier: Judge, trial: TrialEvidence
    ) -> LeafScore:
        """Return the leaf's score; unscored if the judge refuses or its reply cannot be parsed.

        If nothing that it should look at was delivered, the score is 0 without asking.

        Raises:
            ModelUnavailable: the judge cannot be reached, or other calls held the money for too
                long.
            BudgetExhausted: there is no money left for the judge.
            ModelRejected: the key, the account or the model's name is wrong.
            NotRecorded: only recorded replies are replayed, and there is none.
        """
        absent = nothing_to_judge(verifier, trial)
        if absent is not None:
            return _leaf(leaf_id, 0.0, self.model, absent)
        request = judge_request(requirement, verifier, trial)
        fault, model = "", self.model
        for client in self.asks:
            try:
                reply = await client.reply(request)
            except NotRecorded:
                raise
            except ModelRejected as exc:
                # No word on the question: the key, the account or the model's name is wrong.
                if exc.status in _OURS_TO_MEND:
                    raise
                reason = f"the judge gave no verdict: {exc}"
                return _leaf(leaf_id, None, self.model, reason, Unscored.NO_VERDICT)
            model = reply.model or self.model
            try:
                verdict = read_judge(leaf_id, reply)
            except JudgeUnreadable as exc:
                fault = str(exc)
                _logger.warning("leaf %s: %s", leaf_id, fault)
                continue
            return _leaf(leaf_id, float(verdict.score), model, verdict.evidence)
        reason = f"after {len(self.asks)} asks: {fault}"
        return _leaf(leaf_id, None, model, reason, Unscored.NO_VERDICT)


def no_judge(leaf_id: str) -> LeafScore:
    """Return the unscored leaf of a run without a judge."""
    return _leaf(leaf_id, None, "none", "no judge is configured", Unscored.NOT_CONFIGURED)


def read_judge(leaf_id: str, reply: ModelReply) -> JudgeReply:
    """Return the verdict; raises `JudgeUnreadable` so that the caller asks again."""
    try:
        return JudgeReply.model_validate_json(reply.text)
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, fault["loc"])) or "reply"
        raise JudgeUnreadable(
            f"the judge's reply for {leaf_id!r} is no verdict ({where}: {fault['msg']}): "
            f"{quote(reply.text)}"
        ) from exc


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


def judge_request(requirement: str, verifier: Judge, trial: TrialEvidence) -> ModelRequest:
    """Return the question to the judge, with all untrusted text between marks it cannot forge."""
    mark, evidence = _evidence(verifier, trial)
    question = (
        f"Requirement: {requirement}\n\nRubric:\n{verifier.rubric}\n\n"
        f"BEGIN UNTRUSTED {mark}\n{evidence}\nEND UNTRUSTED {mark}"
    )
    return ModelRequest(
        messages=[
            Message(role="system", text=_prompt().format(mark=mark)),
            Message(role="user", text=question),
        ],
        max_tokens=1024,
        json_schema=VERDICT_SCHEMA,
    )


def largest_request(requirement: str, verifier: Judge) -> ModelRequest:
    """Return the most expensive question to the judge, whatever will be delivered."""
    # In UTF-8 no character is longer, and a byte may be a token.
    text = "\U0010ffff" * (10 * MAX_CHARACTERS)
    views = {name: TextView(text=text) for name in verifier.deliverables}
    return judge_request(requirement, verifier, TrialEvidence(views, final_answer=text))


VERDICT_SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 0, "maximum": 10},
        "evidence": {"type": "string"},
    },
    "required": ["score", "evidence"],
    "additionalProperties": False,
}


@cache
def _prompt() -> str:
    return files("stages.score").joinpath("prompts", "judge.md").read_text(encoding="utf-8")


def _evidence(verifier: Judge, trial: TrialEvidence) -> Block:
    frames = [Frame(f"file {quoted(name)}", _shown(name, trial)) for name in verifier.deliverables]
    answer = [Part("", trial.final_answer)] if trial.final_answer else [Part("there is none")]
    frames.append(Frame("final answer", answer))
    return framed(frames, min(MAX_FILE_CHARACTERS, MAX_CHARACTERS // len(frames)))


def _shown(name: str, trial: TrialEvidence) -> list[Part]:
    view = trial.views.get(name)
    if view is None:
        return [Part("this file is missing", trial.not_delivered(name))]
    return parts_of(view)


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
