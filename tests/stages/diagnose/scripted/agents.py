"""Scripted agents: a model whose replies are written down, on a real harness, task and sandbox."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from taskdata.banks.loader import load_bank
from taskdata.schema.task import Task
from tests.wire_server import Behaviour, Seen, wire_reply

CALLS = "function_calling:compatible/scripted"
STEPS = "react:compatible/scripted"
SEEING_CALLS = "function_calling:openai-chat/gpt-5.2"
"""The same with a model that is shown pictures."""


@dataclass(frozen=True)
class Reply:
    """One reply of the model: its text, its tool calls, and why it ended."""

    text: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    """Name and arguments of each; arguments as text are sent as they are."""
    stop: str | None = None
    tokens: int = 10
    """Input tokens that the provider counts."""


@dataclass(frozen=True)
class Script:
    """An agent that commits a known fault, or none, and the labels that follow from its script."""

    name: str
    half: str
    """`written` or `held_out`."""
    task: "str | Given | Callable[[Path], Given]"
    """`BANK/ID` of a bundled task, `pool/ID` of a small foreign pool, or a task with its files,
    which may have to be written into a folder first."""
    replies: Sequence[Reply | Behaviour]
    about: str
    stage: str | None = None
    type: str | None = None
    levels: str | None = None
    """`AC`: levels A and C are broken; None: not judged."""
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Label -> texts that its lines of the transcript hold, or `leaf:ID`, `deliverable:NAME`."""
    debatable: Sequence[str] = ()
    agent: str = CALLS
    settings: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    longest: int = 1_500
    """Characters that are kept of a text."""
    breaks: Callable[[], AbstractContextManager[object]] = nullcontext
    """Breaks something outside the agent while its trial runs."""
    results: Mapping[str, str] | None = None
    """Of harness `import`: the files of the result, and `final.txt`."""


@dataclass(frozen=True)
class Given:
    """A task that is not bundled, and its files by hash."""

    task: Task
    files: Mapping[str, Path]


def varied(name: str, **changes: Any) -> Given:
    """Return a bundled task with other fields."""
    given = bundled(name)
    fields = given.task.model_dump(mode="json") | changes
    return Given(Task.model_validate(fields), given.files)


def bundled(name: str) -> Given:
    """Return the bundled task `BANK/ID`."""
    bank_name, _, task_id = name.partition("/")
    bank = load_bank(bank_name, [task_id])
    return Given(bank.tasks[0], bank.files)


def call(tool: str, /, **arguments: Any) -> Reply:
    """Return a reply with one call."""
    return Reply(calls=((tool, arguments),))


def raw(tool: str, written: str, **more: Any) -> Reply:
    """Return a reply with one call whose arguments are this text."""
    return Reply(calls=((tool, written),), **more)


def python(code: str) -> Reply:
    """Return a reply that runs a program."""
    return call("python_execute", code=code)


def say(text: str, **more: Any) -> Reply:
    """Return a reply without a call."""
    return Reply(text, **more)


def finish(answer: str = "Everything is done.") -> Reply:
    """Return the reply that ends the work."""
    return call("finish", answer=answer)


def step(tool: str, written: str, thought: str = "I go on.") -> Reply:
    """Return a step of the text protocol."""
    return Reply(f"Thought: {thought}\nAction: {tool}\nAction Input: {written}")


def final(answer: str) -> Reply:
    """Return the last step of the text protocol."""
    return Reply(f"Thought: I know the answer.\nFinal Answer: {answer}")


def reference(name: str, without: Iterable[int] = ()) -> list[Reply]:
    """Return the calls of a bundled task's reference solution, some of them left out by place."""
    solution = bundled(name).task.reference
    assert solution is not None, name
    left_out = set(without)
    return [
        Reply(calls=((one.tool, one.arguments),))
        for place, one in enumerate(solution.steps)
        if place not in left_out
    ]


def answer_of(name: str) -> str:
    """Return the final answer of a bundled task's reference solution."""
    solution = bundled(name).task.reference
    assert solution is not None, name
    return solution.final_answer


def behaviour(reply: Reply, turn: int) -> Behaviour:
    """Return what the provider does to give this reply; every call has an id of its own."""

    async def behave(seen: Seen, request: web.Request) -> web.StreamResponse:
        usage = (reply.tokens, 5, 0)
        body = wire_reply(seen, reply.text, reply.calls, usage, reply.stop, "scripted-1")
        for number, made in enumerate(body["choices"][0]["message"].get("tool_calls", ())):
            made["id"] = f"call-{turn}" if number == 0 else f"call-{turn}-{number + 1}"
        return web.json_response(body)

    return behave
