"""Prompts within their limit of tokens: what is left out, in which order, and that it is said.

What can be missed goes first: checks that cannot look at the task's files, examples, the rest of
attachments and descriptions. Only then are texts themselves cut, with a notice in their place.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from environments.models.local.server import CONTEXT_TOKENS
from stages.construct.asking.prompting import (
    FENCED_CHARACTERS,
    Prompt,
    Untrusted,
    fenced,
    prompt,
)
from stages.construct.asking.tokens import estimated_tokens, tokens_of
from stages.construct.material.checks import looking_at
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec

_LOCAL_REPLY, _LOCAL_SPARE = 1_400, 96
_LOCAL_TEMPERATURE = 0.3
_WHOLE = ("harm",)
"""Prompts that are never cut: what a model has not read it cannot find harmless."""
_EXAMPLE_NODES = 4
_SHARE_OF_TREE = 2
"""A tree that is to be mended may take this part of a prompt, as its divisor."""

_Context = Mapping[str, Any]
_Cut = Callable[[_Context], tuple[_Context, str] | None]
"""Returns a shorter context and what it lacks, in our words; None: there is nothing to cut."""


@dataclass(frozen=True)
class Window:
    """How much one question may hold."""

    prompt_tokens: int
    reply_tokens: int
    is_local: bool = False

    @property
    def temperature(self) -> float | None:
        """Randomness of replies: little for a small model; None: the provider's own."""
        return _LOCAL_TEMPERATURE if self.is_local else None


def window_of(model: ModelSpec, prompt_tokens: int, reply_tokens: int) -> Window:
    """Return the limits for a model: those configured, or those of a local model's own window.

    A local model has one window for prompt and reply, and reads its prompts slowly.
    """
    if model.provider != "local":
        return Window(prompt_tokens, reply_tokens)
    reply = min(reply_tokens, _LOCAL_REPLY)
    return Window(min(prompt_tokens, CONTEXT_TOKENS - reply - _LOCAL_SPARE), reply, is_local=True)


def fitted(name: str, context: _Context, limit: int) -> Prompt:
    """Return the prompt of a template with at most `limit` tokens, as far as they can be estimated.

    Raises:
        Misuse: if it has more, though all was left out that may be.
        jinja2.UndefinedError: if the template uses a name that `context` does not have.
    """
    left_out: dict[str, str] = {}
    shown, found = context, prompt(name, context)
    for topic, cut in () if name in _WHOLE else _cuts(limit):
        if tokens_of(found.messages) <= limit:
            break
        made = cut(shown)
        # A template need not show all that a context has.
        if made is None or prompt(name, made[0]).messages == prompt(name, shown).messages:
            continue
        shown, left_out[topic] = made
        found = prompt(name, {**shown, "left_out": tuple(left_out.values())})
    if (tokens := tokens_of(found.messages)) > limit:
        raise Misuse(
            f"prompt {found.version} has about {tokens} tokens even when cut, and {limit} are left "
            "for it; raise max_prompt_tokens"
        )
    return replace(
        found,
        left_out=tuple(left_out.values()),
        within=lambda fewer: fitted(name, context, fewer),
    )


def _cuts(limit: int) -> Iterator[tuple[str, _Cut]]:
    """Yield cuts from the one that costs least; a later one on a topic replaces what was said."""
    yield "checks", _other_checks
    yield "exemplars", partial(_fewer_exemplars, kept=1)
    yield "files", partial(_shorter_files, most=1_200)
    yield "tools", _other_tools
    yield "old_tree", partial(_no_earlier_wording, most=limit // _SHARE_OF_TREE)
    yield "nodes", _no_empty_fields
    yield "example", _shorter_exemplar
    yield "descriptions", _shorter_tools
    yield "files", partial(_shorter_files, most=400)
    yield "purposes", _checks_without_purpose
    yield "exemplars", partial(_fewer_exemplars, kept=0)
    yield "old_tree", _no_old_tree
    yield "files", partial(_shorter_files, most=0)
    for most in (12, 5):
        yield "listed", partial(_fewer_listed, most=most)
    for most in (12_000, 6_000, 4_000, 2_500, 1_500, 800):
        yield "texts", partial(_shorter_texts, most=most)


def _other_checks(context: _Context) -> tuple[_Context, str] | None:
    checks, task = context.get("checks", ()), _task(context)
    if task is None:
        return None
    kept = looking_at(checks, [deliverable["type"] for deliverable in task["deliverables"]])
    if len(kept) == len(checks):
        return None
    return {**context, "checks": kept}, "checks that cannot look at a deliverable of the task"


def _checks_without_purpose(context: _Context) -> tuple[_Context, str] | None:
    checks = context.get("checks", ())
    if not checks:
        return None
    shorter = [replace(check, purpose="") for check in checks]
    return {**context, "checks": shorter}, "what each check is for"


def _fewer_exemplars(context: _Context, kept: int) -> tuple[_Context, str] | None:
    shown = context.get("exemplars", ())
    if len(shown) <= kept:
        return None
    said = "all but one of the finished tasks" if kept else "all finished tasks, as examples"
    return {**context, "exemplars": shown[:kept]}, said


def _shorter_exemplar(context: _Context) -> tuple[_Context, str] | None:
    shorter = [
        {**task, "checkpoints": _without_empty(task["checkpoints"][:_EXAMPLE_NODES])}
        for task in context.get("exemplars", ())
    ]
    said = f"of the example all but its first {_EXAMPLE_NODES} checkpoints"
    return ({**context, "exemplars": shorter}, said) if shorter else None


def _shorter_files(context: _Context, most: int) -> tuple[_Context, str] | None:
    files = context.get("files", ())
    if all(file.beginning is None or len(file.beginning.text) <= most for file in files):
        return None
    shorter = [
        replace(file, beginning=Untrusted(file.beginning.text[:most]) if most else None)
        if file.beginning is not None
        else file
        for file in files
    ]
    said = f"of each attachment all after its first {most} characters"
    return {**context, "files": shorter}, said if most else "the contents of the attachments"


def _other_tools(context: _Context) -> tuple[_Context, str] | None:
    tools, task = context.get("tools", ()), _task(context)
    if task is None or not tools:
        return None
    allowed = set(task["tools"])
    shorter = [t if t.name in allowed else t.model_copy(update={"description": ""}) for t in tools]
    return {**context, "tools": shorter}, "the descriptions of tools that the task does not allow"


def _shorter_tools(context: _Context) -> tuple[_Context, str] | None:
    tools = context.get("tools", ())
    if not tools:
        return None
    shorter = [t.model_copy(update={"description": _first_words(t.description)}) for t in tools]
    return {**context, "tools": shorter}, "the descriptions of tools beyond their first words"


def _first_words(text: str) -> str:
    return text if len(text) <= 40 else text[:40].rsplit(" ", 1)[0] + " ..."


def _no_earlier_wording(context: _Context, most: int) -> tuple[_Context, str] | None:
    # The violations are about a tree that is to be mended, so it stays if much else fits, too.
    if context.get("mends") and estimated_tokens(fenced(context["old_tree"])) <= most:
        return None
    return _no_old_tree(context)


def _no_old_tree(context: _Context) -> tuple[_Context, str] | None:
    if not context.get("old_tree"):
        return None
    said = "the tree before" if context.get("mends") else "the tree of an earlier wording"
    return {**context, "old_tree": None}, said


def _no_empty_fields(context: _Context) -> tuple[_Context, str] | None:
    shorter: dict[str, Any] = {}
    for name in ("leaves_shown", "tree"):
        if context.get(name):
            shorter[name] = _without_empty(context[name])
    for name in ("draft", "varied"):
        task = context.get(name)
        if isinstance(task, Mapping) and task.get("checkpoints"):
            shorter[name] = {**task, "checkpoints": _without_empty(task["checkpoints"])}
    return ({**context, **shorter}, "empty fields of checkpoints") if shorter else None


def _without_empty(nodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in node.items() if v not in ("", [])} for node in nodes]


def _fewer_listed(context: _Context, most: int) -> tuple[_Context, str] | None:
    """Cut lists of violations, reasons and faults."""
    shorter = {
        name: context[name][:most]
        for name in ("violations", "reasons", "faults")
        if len(context.get(name) or ()) > most
    }
    if not shorter:
        return None
    return {**context, **shorter}, f"all but the first {most} {' and '.join(shorter)}"


def _shorter_texts(context: _Context, most: int) -> tuple[_Context, str] | None:
    documents = context.get("tool_documentation")
    shorter: dict[str, Any] = {"fence": min(most, context.get("fence", FENCED_CHARACTERS))}
    if isinstance(documents, str) and len(documents) > most:
        shorter["tool_documentation"] = f"{documents[:most]}\n(... the rest is left out)"
    return {**context, **shorter}, f"of every text all after its first {most} characters"


def _task(context: _Context) -> Mapping[str, Any] | None:
    """Return the task that the prompt shows, if it is settled what it asks for."""
    shown = context.get("task") or context.get("draft")
    return shown if isinstance(shown, Mapping) and "deliverables" in shown else None
