"""Prompts from `stages/execute/prompts/`: one file each, with the version in its name.

A prompt file is the opening of a conversation: the system message, then further messages, each
after a line `=== user` or `=== assistant`. The file is split before its placeholders are filled in,
so no task can add a message.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast

from jinja2 import Environment, StrictUndefined, Template

from environments.ports import Message
from environments.tool_runtime.catalogue import type_text
from taskdata.schema.task import TaskBrief
from taskdata.schema.tool import ToolSpec

TASK_PROMPT = "task_v1"
"""The user's message in every opening: query, files, deliverables, feedback."""
PACKAGE_PROMPT = "package_v1"
"""The prompt with a task's role and domain rules, which follows the harness's instructions."""

_FOLDER = Path(__file__).parents[1] / "prompts"
_ROLE_LINE = re.compile(r"^=== (user|assistant)\n", re.MULTILINE)
_FIRST_CLAUSE = re.compile(r"[^.:;(]+")

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class DescribedTool:
    """A tool in the form in which prompts show it."""

    name: str
    description: str
    purpose: str
    """The first clause of the description."""
    required: tuple[str, ...]
    """Names of the arguments that must be given."""
    arguments: tuple[str, ...]
    """Each as `name: type`; an optional argument as `name?: type`."""

    @classmethod
    def of(cls, spec: ToolSpec) -> "DescribedTool":
        """Return the description of a tool from its schema."""
        required = tuple(spec.parameters.get("required", ()))
        clause = _FIRST_CLAUSE.match(spec.description)
        return cls(
            name=spec.name,
            description=spec.description,
            purpose=(clause.group() if clause else spec.description).strip().lower(),
            required=required,
            arguments=tuple(
                f"{name}{'' if name in required else '?'}: {type_text(schema)}"
                for name, schema in spec.parameters.get("properties", {}).items()
            ),
        )


def opening(
    name: str, brief: TaskBrief, specs: Sequence[ToolSpec], **more: object
) -> tuple[Message, ...]:
    """Return the first messages of a conversation; the last one holds the task.

    `more` is what the prompt is filled in with besides, such as numbers.
    """
    ((_, task_part),) = _parts(TASK_PROMPT)
    task = task_part.render(brief=brief).strip()
    tools = [DescribedTool.of(spec) for spec in specs]
    own = {"system": _of_the_task(brief)}
    facts = {"one_workspace": brief.one_workspace, "is_talk": brief.is_talk, **more}
    return tuple(
        Message(
            role,
            part.render(task=task, tools=tools, files=brief.files, **facts).strip()
            + own.get(role, ""),
        )
        for role, part in _parts(name)
    )


def _of_the_task(brief: TaskBrief) -> str:
    """Return the task's own part of the system prompt, after the harness's instructions."""
    ((_, package),) = _parts(PACKAGE_PROMPT)
    is_package = bool(brief.role or brief.domain_rules)
    texts = [package.render(brief=brief).strip() if is_package else "", brief.system_prompt]
    return "".join(f"\n\n{text}" for text in texts if text).rstrip()


def messages(name: str, **facts: object) -> tuple[Message, ...]:
    """Return the messages of a prompt that is not for an agent, filled in with `facts`."""
    return tuple(Message(role, part.render(**facts).strip()) for role, part in _parts(name))


def version(name: str) -> str:
    """Return the prompt version that an outcome records, such as `react_v3+task_v1`."""
    return f"{name}+{TASK_PROMPT}"


@cache
def _parts(name: str) -> tuple[tuple[Role, Template], ...]:
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - plain text: escaping would change what the model reads
    )
    text = (_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    system, *rest = _ROLE_LINE.split(text)
    parts = [("system", system), *zip(rest[::2], rest[1::2], strict=True)]
    return tuple((cast(Role, role), environment.from_string(part)) for role, part in parts)
