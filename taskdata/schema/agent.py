"""Agents: a harness plus a model plus settings, named `harness:provider/model`."""

import re
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from taskdata.errors import Misuse
from taskdata.schema.base import GrowingValue, Slug, Value
from taskdata.schema.plan import WAYS_OF_PLANNING, Planning

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a reasoning model may think; each model takes some of these."""

InputKind = Literal["image", "audio", "pdf"]
"""Files that some models read by themselves, without a tool."""

CONTROL_HARNESSES = frozenset({"reference", "nop"})
"""Harnesses that test the tasks, not a model: the task's own solution, and doing nothing."""

PLANNER = "planner"
"""The harness that answers planning cases and does nothing else."""

OPEN_PROVIDERS = ("compatible", "local")
"""Those of open models, behind servers that leave some of a model's format to its text."""

REASONING_REPLY_TOKENS = 16_384
"""Output tokens of one model call of an agent that reasons, where its budget does not say: what it
thinks counts too, and is four fifths of a reply where its provider rations it."""

_NAME = re.compile(
    r"^(?P<harness>[a-z][a-z0-9_]*)(?:\+(?P<planning>[a-z_]+))?"
    r"(?::(?P<provider>[a-z][a-z0-9_\-]*)/(?P<model>[^\s]+))?$"
)


class ModelSpec(Value):
    """A model by provider, as in `openai/gpt-5.2` or `local/qwen2.5-coder-0.5b`."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `provider/model`, or raise `Misuse`."""
        provider, slash, model = text.partition("/")
        if not (slash and provider and model):
            raise Misuse(f"model {text!r}: expected provider/model, such as openai/gpt-5.2")
        return cls(provider=provider, model=model)


class Budget(GrowingValue):
    """What one trial may use; whichever is reached first ends it."""

    added_later: ClassVar[frozenset[str]] = frozenset({"names_reply_limit"})

    max_turns: int = Field(default=100, ge=1)
    max_tokens: int = Field(default=20_000_000, ge=1)
    """Input plus output tokens of all calls of the trial: every call counts the conversation again,
    cached or not, so this is room for a hundred turns of 200,000."""
    max_reply_tokens: int = Field(default=4096, ge=1)
    """Output tokens of one model call; `REASONING_REPLY_TOKENS` for an agent that reasons."""
    max_seconds: float = Field(default=1800, gt=0, allow_inf_nan=False)
    max_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    names_reply_limit: bool = False
    """Whether `max_reply_tokens` was given, though it says what holds anyway: to a program, which
    says itself how long its replies may be, only a limit that was given applies."""


class AgentSpec(GrowingValue):
    """What is evaluated; equal names with different settings are different agents."""

    added_later: ClassVar[frozenset[str]] = frozenset(
        {
            "reasoning_effort",
            "label",
            "results",
            "results_root",
            "command",
            "program",
            "image",
            "native_inputs",
            "window_tokens",
            "text_tool_calls",
            "structured_steps",
            "planning",
        }
    )

    harness: str
    model: ModelSpec | None = None
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    base_url: str | None = None
    """Endpoint for provider `compatible`: any OpenAI-compatible server."""
    budget: Budget = Budget()
    reasoning_effort: ReasoningEffort | None = None
    """Of a reasoning model; None: as its provider has it."""
    label: Slug | None = None
    """Its whole name, for agents that harness and model do not tell apart."""
    results: str | None = None
    """Of harness `import`: a folder with a folder per task, or a GTA eval pack (JSON)."""
    results_root: str | None = None
    """Folder that the file paths in an eval pack are relative to; None: the pack's own."""
    command: tuple[str, ...] = ()
    """Of harness `command`: the program and its arguments, as inside the sandbox."""
    program: str | None = None
    """Of the same: a folder with the program, seen read-only at /opt/agent."""
    image: str | None = None
    """Of the same, with sandbox `docker`: the image to run it in; None: the one for tools."""
    native_inputs: tuple[InputKind, ...] | None = None
    """Kinds of input files that are shown to the model itself; None: those it is known to take."""
    window_tokens: int | None = Field(default=None, ge=1)
    """Longest input of the model; None: as known."""
    text_tool_calls: bool | None = None
    """Of harness `function_calling`: whether a reply that is a tool call in text counts as one;
    None: with the providers whose models write so, `compatible` and `local`."""
    structured_steps: bool | None = None
    """Of harness `react`: whether each step is asked for as JSON under a schema of the tools on
    offer, which the model's server must hold it to; None: with `local` models alone."""
    planning: Planning = "direct"
    """Whether its model is asked for a plan before its harness begins."""

    @model_validator(mode="before")
    @classmethod
    def _has_room_to_reason(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("reasoning_effort") in (None, "none"):
            return data
        budget = data.get("budget", {})
        if isinstance(budget, Budget):
            budget = budget.model_dump(exclude_unset=True)
        if not isinstance(budget, dict):
            return data
        return data | {"budget": {"max_reply_tokens": REASONING_REPLY_TOKENS} | budget}

    @model_validator(mode="after")
    def _samples_or_reasons(self) -> Self:
        open_server = self.model is None or self.model.provider in OPEN_PROVIDERS
        thinks = self.reasoning_effort not in (None, "none")
        if self.temperature is not None and thinks and not open_server:
            raise ValueError(
                f"temperature {self.temperature:g} and reasoning_effort "
                f"{self.reasoning_effort!r}: this provider's models take one of them; remove one"
            )
        return self

    @property
    def reads_text_calls(self) -> bool:
        """Whether a reply that is a tool call in text counts as one."""
        if self.text_tool_calls is not None:
            return self.text_tool_calls
        return self.model is not None and self.model.provider in OPEN_PROVIDERS

    @property
    def asks_for_structure(self) -> bool:
        """Whether each step is asked for under a schema."""
        if self.structured_steps is not None:
            return self.structured_steps
        return self.model is not None and self.model.provider == "local"

    @property
    def plans(self) -> bool:
        """Whether a plan is made before the harness begins."""
        return self.planning != "direct"

    @property
    def way_of_working(self) -> str:
        """The harness, with the way of planning if there is one: `react+plan_first`."""
        return f"{self.harness}+{self.planning}" if self.plans else self.harness

    @property
    def name(self) -> str:
        """The label; without one `harness:provider/model`, or the bare harness.

        A plan's way follows the harness: `react+plan_first:openai/gpt-5.2`.
        """
        if self.label is not None:
            return self.label
        return self.way_of_working if self.model is None else f"{self.way_of_working}:{self.model}"

    def held_to(self, max_turns: int | None) -> Self:
        """Return the agent with at most `max_turns` turns; None: with its own budget."""
        if max_turns is None or self.budget.max_turns <= max_turns:
            return self
        budget = self.budget.model_copy(update={"max_turns": max_turns})
        return self.model_copy(update={"budget": budget})

    @property
    def is_control(self) -> bool:
        """Whether the agent shows that the tasks are sound, and competes with nobody."""
        return self.harness in CONTROL_HARNESSES

    @classmethod
    def parse(cls, text: str, **settings: object) -> Self:
        """Read an agent's name, or raise `Misuse` with an example."""
        match = _NAME.match(text)
        if match is None:
            raise Misuse(
                f"agent {text!r}: expected a bare name (reference) or harness:provider/model "
                "(react:openai/gpt-5.2)"
            )
        model = None
        if match["provider"]:
            model = ModelSpec(provider=match["provider"], model=match["model"])
        if "budget" in settings:
            settings["budget"] = _noted(settings["budget"])
        if (planning := match["planning"]) is not None:
            if planning not in WAYS_OF_PLANNING:
                raise Misuse(
                    f"agent {text!r}: {planning!r} is no way of planning; there are "
                    f"{', '.join(WAYS_OF_PLANNING)}"
                )
            if settings.setdefault("planning", planning) != planning:
                raise Misuse(
                    f"agent {text!r}: its name and planning = {settings['planning']!r} differ; "
                    "remove one"
                )
        return cls.model_validate({"harness": match["harness"], "model": model, **settings})


def _noted(budget: object) -> object:
    """Return a budget as given, with a note of a limit that would else look like the default."""
    usual = Budget.model_fields["max_reply_tokens"].default
    if isinstance(budget, dict) and budget.get("max_reply_tokens") == usual:
        return {"names_reply_limit": True} | budget
    return budget
