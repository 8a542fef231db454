"""What a refresh would ask, and its maximum cost, without making any model call.

The first prompt of every candidate is known and measured. What later prompts show of a draft is
unknown; it is assumed to need at most twice the tokens in which the model may write it. Tokens are
bounded by bytes, so the real number is usually a quarter of this.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from environments.models.money.prices import Price, price_of
from environments.models.money.spending import cost_bound, require_price
from environments.models.record.recorder import CallRecorder
from quality.suites.checkpoint_trees import TreeRules
from stages.construct.answers.forms import (
    ClassForm,
    DraftForm,
    FindingsForm,
    Form,
    LeafForm,
    RequirementsForm,
    TaskForm,
    TreeForm,
    schema_of,
)
from stages.construct.asking.fitting import window_of
from stages.construct.asking.harm_opinion import HarmFindingsForm
from stages.construct.asking.prompting import Untrusted, prompt, version_of
from stages.construct.assembling import available_files
from stages.construct.case import Case, Workshop, recorded_client
from stages.construct.material.base import base_tasks, offered_tools
from stages.construct.start import candidate_of, chosen_seeds
from taskdata.errors import Misuse
from taskdata.schema.base import Value
from taskdata.schema.construct import (
    Candidate,
    Construction,
    Origin,
    Refresh,
    RefreshConfig,
    RefreshStatus,
    SpendingLimits,
)
from taskdata.schema.task import Tier
from taskdata.store import Store
from taskdata.version import code_version

COMPLAINT_TOKENS = 4_000
_REASONS_TOKENS = 8_000
_VIOLATIONS_TOKENS = 12_000
_AIM_TOKENS = 14_000
"""For an augmentation: its aim, and the task that it varies."""
_DRAFTS = 2
"""Tokens of a draft in a prompt, per token in which the model wrote it."""


class PlannedAsk(Value):
    """What one candidate may be asked at one stage with one template."""

    task_id: str
    stage: Construction
    prompt: str
    """`name@N`."""
    calls: int = Field(ge=0)
    """Upper bound."""
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)


class RefreshEstimate(Value):
    """What a refresh would ask; every number is an upper bound."""

    model: str
    asks: tuple[PlannedAsk, ...]
    candidates: int = Field(ge=0)
    left_out: tuple[str, ...] = ()
    """Seeds whose text equals that of another seed or task, which is named."""
    calls: int = Field(ge=0)
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cost_usd: float | None
    """None: the price of the model, or of a prompt of this length, is unknown."""
    limits: SpendingLimits
    beyond: tuple[str, ...] = ()
    """Limits that the whole refresh could reach; calls beyond them are not made."""
    not_counted: tuple[str, ...] = ()
    """Other questions of the refresh that are not included."""


@dataclass(frozen=True)
class _Template:
    """A template, how often it is used by which stage, and what it shows beyond the context."""

    stage: Construction
    name: str
    form: type[Form]
    rounds: Callable[[RefreshConfig], int]
    context: dict[str, Any]
    shows: int = 0
    """Tokens of reasons or violations."""
    drafts: int = 0
    """Drafts or trees shown, each as long as an answer may be."""


def _once(config: RefreshConfig) -> int:
    return 1


def _per_repair(config: RefreshConfig) -> int:
    return config.max_rewrites


def _per_round(config: RefreshConfig) -> int:
    return 1 + config.max_rewrites


_MOST_LEAVES = TreeRules().workflow_leaves[1]


def _per_leaf(config: RefreshConfig) -> int:
    """Return how often a leaf may be asked for, where trees are written leaf by leaf."""
    return _MOST_LEAVES * (1 + _per_tree(config))


def _per_tree(config: RefreshConfig) -> int:
    """Return how often a tree may be written: rewrites follow on validation and on proof."""
    return 1 + 2 * config.max_rewrites


_TREE = {"task": "", "old_tree": " ", "mends": True, "violations": [" "]}
# Either augment or refine is used; both show the same and differ by a few words.
_TEMPLATES = (
    _Template(Construction.CLASSIFY, "classify", ClassForm, _once, {"draft": ""}, 0, 1),
    _Template(
        Construction.REWRITE,
        "augment",
        TaskForm,
        _once,
        {"draft": "", "reasons": ""},
        _REASONS_TOKENS,
        1,
    ),
    _Template(
        Construction.REWRITE,
        "repair",
        TaskForm,
        _per_repair,
        {"draft": "", "violations": "", "repairs": 1},
        _VIOLATIONS_TOKENS,
        1,
    ),
    _Template(
        Construction.VALIDATE,
        "opinions",
        FindingsForm,
        _per_round,
        {"draft": "", "scope": "both"},
        0,
        2,
    ),
    _Template(
        Construction.CHECKPOINTS, "checkpoints", TreeForm, _per_tree, _TREE, _VIOLATIONS_TOKENS, 2
    ),
    _Template(
        Construction.CHECKPOINTS,
        "opinions",
        FindingsForm,
        _per_tree,
        {"draft": "", "scope": "tree"},
        0,
        2,
    ),
)


_REQUIREMENTS = _Template(
    Construction.CHECKPOINTS,
    "requirements",
    RequirementsForm,
    lambda config: 1 + _per_tree(config),
    {"task": "", "leaves_shown": ""},
    0,
    2,
)
"""Asked of the first tree, too, which may be kept."""


_LEAF = _Template(
    Construction.CHECKPOINTS,
    "leaf",
    LeafForm,
    _per_leaf,
    {"task": "", "violations": [" "], "requirement": " ", "by_judge": True},
    _VIOLATIONS_TOKENS,
    2,
)
"""Asked instead of `checkpoints` where trees are written leaf by leaf."""


def estimate(store: Store, config: RefreshConfig) -> RefreshEstimate:
    """Return what a refresh with this configuration would ask now; stores nothing.

    Raises:
        Misuse: if the refresh makes planning cases, a named seed or the base bank does not exist,
            or a limit in money is set for a model of unknown price.
    """
    if config.plan_cases is not None:
        raise Misuse("planning cases are estimated by estimate_cases")
    model, _base_url = config.author
    require_price(config.limits, price_of(model))
    taken, repeated = chosen_seeds(store, config)
    shop = _shop(store, config)
    asks: list[PlannedAsk] = []
    for seed in taken:
        candidate = candidate_of(shop.refresh.id, seed)
        asks += _asks(_case(shop, candidate), Untrusted(seed.query.text), 0)
    for number in range(config.max_augmentations):
        asks += _asks(_case(shop, _augmentation(shop.refresh.id, number + 1)), None, _AIM_TOKENS)
    read, written = sum(a.input_tokens for a in asks), sum(a.output_tokens for a in asks)
    calls = sum(ask.calls for ask in asks)
    usd = cost_of(asks, price_of(model))
    return RefreshEstimate(
        model=str(model),
        asks=tuple(asks),
        candidates=len(taken) + config.max_augmentations,
        left_out=tuple(f"seed {one.seed.id} {one.reason}" for one in repeated),
        calls=calls,
        input_tokens=read,
        output_tokens=written,
        cost_usd=usd,
        limits=config.limits,
        beyond=tuple(beyond(config.limits, calls, read + written, usd)),
        not_counted=tuple(_not_counted(config)),
    )


def _shop(store: Store, config: RefreshConfig) -> Workshop:
    refresh = Refresh(
        id="dry-run",
        status=RefreshStatus.RUNNING,
        config=config,
        code_version=code_version(),
        created_at=datetime.now(UTC),
    )
    return Workshop(
        store=store,
        refresh=refresh,
        client=recorded_client(refresh, None, CallRecorder(store)),
        tools=offered_tools(store, config),
        exemplars=base_tasks(store, config.base),
        window=window_of(config.author[0], config.max_prompt_tokens, config.max_reply_tokens),
    )


def _augmentation(refresh_id: str, number: int) -> Candidate:
    return Candidate(
        id=f"augmentation-{number}",
        refresh_id=refresh_id,
        task_id=f"augmentation-{number}",
        tier=Tier.WORKFLOW,
        origin=Origin.AUGMENTATION,
        stage=Construction.GENERATE,
    )


def _case(shop: Workshop, candidate: Candidate) -> Case:
    return Case(
        shop=shop,
        candidate=candidate,
        stage=Construction.GENERATE,
        steps=(),
        draft=None,
        files=available_files(shop.store, candidate),
    )


def _asks(case: Case, request: Untrusted | None, aim_tokens: int) -> Iterator[PlannedAsk]:
    """Yield what one candidate may be asked."""
    in_steps = case.shop.config.drafts_in_steps
    first = _Template(
        Construction.GENERATE,
        "generate",
        TaskForm if in_steps else DraftForm,
        _once,
        {"request": request, "varied": None, "aim": None, "in_steps": in_steps},
        aim_tokens,
    )
    context = case.context()
    if request is not None and case.shop.config.safety.ask_model:
        guard = _Template(Construction.GENERATE, "harm", HarmFindingsForm, _once, {})
        yield _planned(case, guard, context | {"request": request})
    if case.shop.config.safety.ask_model:
        shows = case.shop.config.max_reply_tokens
        guard = _Template(Construction.VALIDATE, "harm", HarmFindingsForm, _per_round, {}, shows)
        yield _planned(case, guard, context | {"request": ""})
    for template in (first, *_TEMPLATES):
        one = _LEAF if in_steps and template.name == "checkpoints" else template
        yield _planned(case, one, context)
    if in_steps or case.shop.config.require_coverage:
        yield _planned(case, _REQUIREMENTS, context)


def _planned(case: Case, template: _Template, context: dict[str, Any]) -> PlannedAsk:
    config = case.shop.config
    opening = prompt(template.name, context | template.context)
    texts = [message.text for message in opening.messages]
    texts.append(str(schema_of(template.form)))
    fixed = sum(len(text.encode("utf-8", "replace")) for text in texts) + template.shows
    fixed += _DRAFTS * template.drafts * config.max_reply_tokens
    again = config.max_reply_tokens + COMPLAINT_TOKENS
    rounds = template.rounds(config)
    return PlannedAsk(
        task_id=case.candidate.task_id,
        stage=template.stage,
        prompt=version_of(template.name),
        calls=rounds * config.max_asks,
        input_tokens=rounds * (config.max_asks * fixed + (config.max_asks - 1) * again),
        output_tokens=rounds * config.max_asks * config.max_reply_tokens,
    )


def cost_of(asks: Sequence[PlannedAsk], price: Price | None) -> float | None:
    """Return the most that the calls cost in USD, call by call, as long prompts may cost more."""
    total = 0.0
    for ask in asks:
        if ask.calls == 0:
            continue
        read, written = -(-ask.input_tokens // ask.calls), -(-ask.output_tokens // ask.calls)
        usd = cost_bound(read, written, price)
        if usd is None:
            return None
        total += ask.calls * usd
    return total


def beyond(limits: SpendingLimits, calls: int, tokens: int, usd: float | None) -> Iterator[str]:
    """Yield the limits that so much would reach."""
    if calls > limits.max_calls:
        yield f"max_calls = {limits.max_calls}"
    if tokens > limits.max_tokens:
        yield f"max_tokens = {limits.max_tokens}"
    if limits.max_usd is not None and usd is not None and usd > limits.max_usd:
        yield f"max_usd = {limits.max_usd:g}"


def _not_counted(config: RefreshConfig) -> Iterator[str]:
    if config.expansions:
        yield f"{config.expansions} atomic tasks made from exemplars"
    if config.draft_references:
        yield "reference solutions"
    if config.draft_twice:
        yield "second solutions, which confirm references"
