"""The LLM labeller: it decides what rules leave open in the diagnosis of a failed trial.

A reply that does not fit, or whose evidence is not on record, is rejected: the model is asked once
more and told why, and then the trial stays as the rules left it, with the rejection recorded. A
label that a rule has given is never changed. If the model cannot be reached or paid for now, its
trial stays due, and recorded replies are not asked for again.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from environments.models.faults import NotRecorded
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.ports import ModelClient
from stages.diagnose.labelling.offer import offer_of
from stages.diagnose.labelling.places import Places
from stages.diagnose.labelling.replies import Found, quoted_reply, read_reply
from stages.diagnose.labelling.shown import MOST_TOKENS, ShownTrial, show
from stages.diagnose.labels import LABELLER
from stages.diagnose.record import Record
from stages.score.judging.judge import OURS_TO_MEND
from stages.score.judging.sight import sight_of
from stages.workers.answering import ReportingClient
from taskdata.errors import LabelsRejected, ModelRejected
from taskdata.schema.agent import ModelSpec
from taskdata.schema.diagnosis import Diagnosis, ModelLabelling, placed
from taskdata.schema.judging import JudgeSettings
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.run import Replies, RunConfig
from taskdata.schema.views import RenderedDeliverable
from taskdata.store import Store

_logger = logging.getLogger(__name__)

PROMPT_VERSION = 1
"""Version of `prompts/labeller.md` and of how a labeller is asked; part of its name."""
MAX_ASKS = 2


def labeller_of(config: RunConfig) -> str:
    """Return who labels the trials of a run: the rules, and the model if the run has one."""
    if config.labeller is None:
        return LABELLER
    return f"{LABELLER}+{config.labeller}@{PROMPT_VERSION}"


@dataclass(frozen=True)
class RunLabeller:
    """A run's labeller; a reply about a trial is stored at once, and never paid for again."""

    spec: ModelSpec
    base_url: str | None
    client: ModelClient | None
    """None: only recorded replies are replayed."""
    replies: Replies
    calls: CallRecorder
    store: Store

    async def label(
        self,
        by_rules: Diagnosis,
        record: Record,
        files: Sequence[RenderedDeliverable],
        answered: Callable[[], None],
    ) -> Diagnosis:
        """Return a failed trial's diagnosis with what the model adds to that of the rules.

        Args:
            by_rules: The diagnosis of the rules.
            record: Everything on record of the trial.
            files: What can be read of its deliverables.
            answered: Called for every reply that came from the provider.

        Raises:
            ModelUnavailable: the model cannot be reached, or other calls held the money for too
                long.
            BudgetExhausted: there is no money left for the labeller.
            ModelRejected: the key, the account or the model's name is wrong.
            NotRecorded: only recorded replies are replayed, and there is none.
        """
        places = Places(record, files)
        offer = offer_of(by_rules)
        settings = JudgeSettings(max_tokens=MOST_TOKENS)
        most = sight_of(self.spec, self.base_url, settings).max_tokens
        shown = await asyncio.to_thread(show, places, by_rules, offer, most)
        client = await self._client(by_rules.trial_id, answered)
        return await _asked(client, shown, places, by_rules, str(self.spec))

    async def _client(self, trial_id: str, answered: Callable[[], None]) -> RecordedClient:
        client = None if self.client is None else ReportingClient(self.client, answered)
        earlier = await asyncio.to_thread(self.store.labeller_calls, trial_id) if client else []
        log = CallLog(self.calls, Payer.trial(trial_id, purpose=CallPurpose.LABELLER), earlier)
        return RecordedClient(client, self.spec, self.base_url, log, self.replies != "ask")


async def _asked(
    client: ModelClient, shown: ShownTrial, places: Places, by_rules: Diagnosis, by: str
) -> Diagnosis:
    """Ask up to `MAX_ASKS` times and return the diagnosis with what was accepted."""
    fault, rejected, model = "", "", by
    for _ in range(MAX_ASKS):
        try:
            reply = await client.reply(shown.request(fault))
        except NotRecorded:
            raise
        except ModelRejected as exc:
            # No word on the question: the key, the account or the model's name is wrong.
            if exc.status in OURS_TO_MEND:
                raise
            rejected = f"the model did not answer the question: {exc}"
            break
        model = reply.model or by
        try:
            found = await asyncio.to_thread(read_reply, reply.text, shown.offer, places.named, by)
        except LabelsRejected as exc:
            fault = str(exc)
            rejected = f"{MAX_ASKS} replies were rejected, the last one because {fault}"
            rejected = f"{rejected}: {quoted_reply(reply.text)}"
            _logger.info("trial %s: labels rejected: %s", by_rules.trial_id, fault)
            continue
        return with_found(by_rules, found, ModelLabelling(model=model), by)
    asked = ModelLabelling(model=model, rejected=rejected)
    return by_rules.model_copy(update={"by_model": asked, "labeller": _named(by)})


def with_found(by_rules: Diagnosis, found: Found, asked: ModelLabelling, by: str) -> Diagnosis:
    """Return the rules' diagnosis with what a model decided and added."""
    decided: list[Literal["stage", "type"]] = []
    changes: dict[str, object] = {}
    # `undetermined` of a model decides nothing more than the rules did.
    if found.stage is not None and found.stage is not by_rules.stage:
        decided.append("stage")
        changes["stage"] = found.stage
    if found.type is not None:
        decided.append("type")
        changes["type"] = found.type
    told = (f"{by} on the {key}: {placed(one)}" for key, one in found.evidence if key in decided)
    return by_rules.model_copy(
        update={
            **changes,
            "evidence": (*by_rules.evidence, *told),
            "labels": (*by_rules.labels, *found.labels),
            "by_model": asked.model_copy(update={"decided": tuple(decided)}),
            "labeller": _named(by),
        }
    )


def _named(by: str) -> str:
    return f"{LABELLER}+{by}@{PROMPT_VERSION}"
