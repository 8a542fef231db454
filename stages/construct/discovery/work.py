"""Discovers seed queries: a model proposes scenarios of a domain in rounds, and reviews them.

Each round asks the model two questions. The first asks for scenarios: a person's need, a role, and
requests of three difficulties (TOBench, section 3). The second shows these requests, the faults
that code has found in them, and a checklist; the model keeps, mends or drops each request. Then
code drops every request that still breaks a rule, or repeats a seed or task, with the reason.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from environments.models.money.prices import price_of
from environments.models.money.spending import SpendingCap
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.models.registry import model_client
from environments.ports import ModelClient
from stages.construct.answers.forms import Form
from stages.construct.asking.ask import Asks, Tally, ask
from stages.construct.asking.fitting import fitted, window_of
from stages.construct.asking.masking import masking
from stages.construct.asking.prompting import Untrusted, version_of
from stages.construct.discovery.forms import (
    ReflectionForm,
    ReviewForm,
    ScenarioForm,
    ScenariosForm,
)
from stages.construct.discovery.proposals import (
    Proposal,
    faults_of,
    objections_of,
    proposals_of,
    without_personal_data,
)
from stages.construct.work import Connect
from stages.intake.duplicates import DuplicateIndex
from taskdata.errors import BadTaskData, BudgetExhausted
from taskdata.schema.construct import PROMPT_TOKENS
from taskdata.schema.discovery import DiscoveryConfig, DroppedProposal, OfferedTool
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.package import Difficulty
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.schema.seed import Discovery, SeedQuery
from taskdata.store import Store

SOURCE = "discovered"
"""The `source` of discovered seeds."""

A = TypeVar("A", bound=Form)
T = TypeVar("T")

_PER_ROUND = 4
"""Scenarios per question: a model reviews about twelve requests with care, and not more."""
_PER_SCENARIO = 3
_SPARE_ROUNDS = 2
"""Rounds in addition to those needed if every request were kept."""
_NAMES_SHOWN = 60


@dataclass
class Discovered:
    """The result of a discovery."""

    seeds: list[SeedQuery] = field(default_factory=list)
    dropped: list[DroppedProposal] = field(default_factory=list)
    proposed: int = 0
    """Requests that the model proposed."""
    mended: int = 0
    """Kept requests that the model changed in its review."""
    rounds: int = 0
    faults: int = 0
    """Unusable answers, after which the question was asked again."""
    tally: Tally = field(default_factory=Tally)
    ended_by: str = ""
    """Why there are fewer seeds than requested; empty if there are enough."""


def discover(
    store: Store,
    config: DiscoveryConfig,
    tools: Sequence[OfferedTool],
    index: DuplicateIndex,
    discovery_id: str,
    connect: Connect = model_client,
    safety: SafetyRules = NOTHING_ALLOWED,
) -> Discovered:
    """Return seeds for the domain; they are not stored yet.

    Args:
        store: Holds the recorded calls; a question that was asked before is answered from there.
        config: Domain, model, limits and number of seeds.
        tools: The tools and servers that the work may use.
        index: All existing seeds and tasks; new seeds are added to it.
        discovery_id: Identifies the calls of this discovery in the record.
        connect: Makes the model's client; for a local model it must know the server.
        safety: Whether personal data is masked in what is asked and recorded.

    Raises:
        Misuse: the model's price is unknown, and there is a limit in money.
        ModelUnavailable: the model could not be reached.
        ModelRejected: the provider refused.
    """
    return asyncio.run(_discover(store, config, tools, index, discovery_id, connect, safety))


async def _discover(
    store: Store,
    config: DiscoveryConfig,
    tools: Sequence[OfferedTool],
    index: DuplicateIndex,
    discovery_id: str,
    connect: Connect,
    safety: SafetyRules,
) -> Discovered:
    client = connect(config.model, config.base_url)
    try:
        cap = masking(SpendingCap(client, config.limits, price_of(config.model)), safety)
        async with CallRecorder(store) as calls:
            payer = Payer(CallPurpose.CONSTRUCTION, f"discovery/{discovery_id}")
            log = CallLog(calls, payer)
            recorded = RecordedClient(cap, config.model, config.base_url, log, shares=True)
            finding = _Finding(config, tools, recorded, index, _known_names(store, config))
            await finding.go()
    finally:
        await client.close()
    return finding.found


def _known_names(store: Store, config: DiscoveryConfig) -> list[str]:
    """Return the names of the domain's scenarios that have seeds already."""
    found = (seed.query.discovery for seed in store.seeds(SOURCE))
    return list(dict.fromkeys(d.scenario for d in found if d and d.domain == config.domain))


class _Finding:
    """The state of a discovery."""

    def __init__(
        self,
        config: DiscoveryConfig,
        tools: Sequence[OfferedTool],
        client: ModelClient,
        index: DuplicateIndex,
        known: Sequence[str],
    ) -> None:
        self.found = Discovered()
        self._config = config
        self._tools = tools
        self._offered = frozenset(tool.name for tool in tools)
        self._client = client
        self._index = index
        self._window = window_of(config.model, PROMPT_TOKENS, config.max_reply_tokens)
        self._asks = Asks(config.max_asks, self._window.reply_tokens, self._window.prompt_tokens)
        self._names = list(known)

    async def go(self) -> None:
        """Run rounds until there are enough seeds or no round is left."""
        found, wanted = self.found, self._config.count
        most = math.ceil(wanted / (_PER_ROUND * _PER_SCENARIO)) + _SPARE_ROUNDS
        try:
            while len(found.seeds) < wanted and found.rounds < most:
                found.rounds += 1
                if not await self._round():
                    found.ended_by = "no answer of the model could be used"
                    return
        except BudgetExhausted as exc:
            found.ended_by = str(exc)
            return
        if len(found.seeds) < wanted:
            found.ended_by = f"{most} rounds of questions brought no more"

    async def _round(self) -> bool:
        """Propose and review once; return whether the model gave usable answers."""
        missing = self._config.count - len(self.found.seeds)
        number = min(_PER_ROUND, math.ceil(missing / _PER_SCENARIO))
        scenarios = await self._proposed(number)
        if scenarios is None:
            return False
        self._names += [scenario.name for scenario in scenarios]
        proposals = proposals_of(scenarios)
        self.found.proposed += len(proposals)
        reviews = await self._reviewed(proposals)
        if reviews is None:
            for proposal in proposals:
                self._drop(proposal, "it was not reviewed")
            return False
        for place, proposal in enumerate(proposals, start=1):
            self._decide(proposal, reviews[place])
        return True

    async def _proposed(self, number: int) -> tuple[ScenarioForm, ...] | None:
        def accept(form: ScenariosForm) -> tuple[ScenarioForm, ...]:
            if len(form.scenarios) > number:
                raise BadTaskData(f"scenarios: expected at most {number}")
            for scenario in form.scenarios:
                counts = Counter(request.difficulty for request in scenario.requests)
                if len(counts) < len(scenario.requests):
                    raise BadTaskData(f"scenario {scenario.name!r}: a difficulty occurs twice")
            return form.scenarios

        known = "\n".join(self._names[-_NAMES_SHOWN:])
        context = self._context() | {"number": number, "known": known}
        return await self._asked("discover", context, ScenariosForm, accept)

    async def _reviewed(self, proposals: Sequence[Proposal]) -> Mapping[int, ReviewForm] | None:
        def accept(form: ReflectionForm) -> Mapping[int, ReviewForm]:
            reviews = {review.number: review for review in form.reviews}
            is_complete = set(reviews) == set(range(1, len(proposals) + 1))
            if not is_complete or len(reviews) < len(form.reviews):
                raise BadTaskData(f"reviews: expected one for each number to {len(proposals)}")
            for review in form.reviews:
                if (review.verdict == "mend") != bool(review.text.strip()):
                    raise BadTaskData(
                        f"review {review.number}: `text` is the mended request where the verdict "
                        "is mend, and empty otherwise"
                    )
            return reviews

        shown = [self._shown(number, p) for number, p in enumerate(proposals, start=1)]
        context = self._context() | {"proposals": shown}
        return await self._asked("reflect", context, ReflectionForm, accept)

    async def _asked(
        self,
        name: str,
        context: Mapping[str, Any],
        form: type[A],
        accept: Callable[[A], T],
    ) -> T | None:
        opening = fitted(name, context, self._window.prompt_tokens)
        asked = await ask(self._client, opening, form, accept, self._asks)
        self.found.tally += asked.tally
        self.found.faults += len(asked.faults)
        return asked.answer

    def _context(self) -> dict[str, Any]:
        return {
            "domain": Untrusted(self._config.domain),
            "tools": self._tools,
            "difficulties": [level.value for level in Difficulty],
        }

    def _shown(self, number: int, proposal: Proposal) -> dict[str, Any]:
        return {
            "number": number,
            "scenario": proposal.scenario.name,
            "need": proposal.scenario.need,
            "tools": list(proposal.scenario.tools),
            **proposal.request.model_dump(mode="json"),
            "rules it breaks": list(faults_of(proposal, self._offered)),
        }

    def _decide(self, proposal: Proposal, review: ReviewForm) -> None:
        if review.verdict == "drop":
            self._drop(proposal, f"the model dropped it: {review.why}")
            return
        if review.verdict == "mend":
            proposal = Proposal(proposal.scenario, proposal.request, review.text)
        elif objections := objections_of(review):
            self._drop(proposal, f"the model kept it although its review says that {objections[0]}")
            return
        if faults := faults_of(proposal, self._offered):
            self._drop(proposal, faults[0])
            return
        if len(self.found.seeds) >= self._config.count:
            return
        seed = self._seed(proposal)
        links = self._index.links([(seed.seed_id, seed.text)])
        # The requests of one scenario are meant to resemble each other.
        own = {other.seed_id for other in self.found.seeds}
        links = [link for link in links if link.method != "embedding" or link.other_id not in own]
        if links:
            other = links[0]
            self._drop(proposal, f"it repeats {other.other_kind} {other.other_id}")
            return
        self.found.seeds.append(seed)
        self.found.mended += proposal.mended is not None

    def _seed(self, proposal: Proposal) -> SeedQuery:
        scenario, request = proposal.scenario, proposal.request
        return SeedQuery(
            text=proposal.text,
            source=SOURCE,
            license=self._config.licence,
            discovery=Discovery(
                domain=self._config.domain,
                scenario=scenario.name,
                need=scenario.need,
                role=scenario.role,
                difficulty=request.difficulty,
                tools=tuple(sorted(self._offered.intersection(scenario.tools))),
                verified_by=request.verified_by,
                model=str(self._config.model),
                model_id=self.found.tally.model_id,
                prompts=(version_of("discover"), version_of("reflect")),
            ),
        )

    def _drop(self, proposal: Proposal, reason: str) -> None:
        dropped = DroppedProposal(
            text=without_personal_data(proposal.text),
            difficulty=proposal.request.difficulty,
            reason=without_personal_data(reason),
        )
        self.found.dropped.append(dropped)
