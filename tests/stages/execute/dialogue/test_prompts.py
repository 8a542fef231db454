import pytest

from environments.tool_runtime.toolbox import Toolbox
from stages.execute.dialogue import prompts
from taskdata.schema.tool import ToolSpec

OPENINGS = ("function_calling_v3", "react_compact_v3", "react_v3")


@pytest.fixture
def specs(task) -> tuple[ToolSpec, ...]:
    return Toolbox(task.tools, sandbox=None).specs


@pytest.mark.parametrize("name", OPENINGS)
def test_every_opening_is_a_dialogue_that_ends_with_the_task(name, task, specs):
    messages = prompts.opening(name, task.brief(), specs)

    roles = [message.role for message in messages]
    assert roles[0] == "system"
    assert roles[1:] == ["user", "assistant"] * (len(roles) // 2 - 1) + ["user"]
    assert task.query in messages[-1].text
    assert "{{" not in "".join(m.text for m in messages)


def test_the_task_names_files_where_the_agent_finds_them(new_task):
    task = new_task(files=({"path": "a/b.csv", "sha256": "0" * 64, "size_bytes": 1},))

    text = prompts.opening("function_calling_v3", task.brief("Mind the sum."), ())[-1].text

    assert "Files:\ninput/a/b.csv\n" in text
    assert "Deliver:\noutput/out.json (json)\n" in text
    assert text.endswith("Feedback on your previous attempt:\nMind the sum.")


def test_tools_are_described_from_their_schema(specs):
    described = {tool.name: tool for tool in map(prompts.DescribedTool.of, specs)}

    python = described["python_execute"]
    assert python.required == ("code",)
    assert python.arguments[0] == "code: text"
    assert python.arguments[1].startswith("timeout_seconds?: ")
    assert described["write_file"].purpose == "write a text file"


@pytest.mark.parametrize("name", [*OPENINGS, "command_v1", "react_structured_v2"])
def test_role_and_domain_rules_follow_the_instructions_marked_as_such(name, new_task):
    task = new_task(
        package={"role": "Event planner {{ 1 }}", "domain_rules": ["Chairs cost 5.", "No glass."]},
        environment={"system_prompt": "Work in the launch folder."},
    )
    plain = prompts.opening(name, new_task().brief(), ())
    told = prompts.opening(name, task.brief(), ())

    own = told[0].text.removeprefix(plain[0].text)
    assert own.startswith("\n\n## Your role\n\nEvent planner {{ 1 }}\n\n## Domain rules\n\n")
    assert own.endswith("\n1. Chairs cost 5.\n2. No glass.\n\nWork in the launch folder.")
    assert [m.text for m in told[1:]] == [m.text for m in plain[1:]]


@pytest.mark.parametrize("name", [*OPENINGS, "react_structured_v2"])
def test_who_works_for_a_user_is_told_that_the_user_answers(name, new_task):
    user = {"turn_mode": "multi", "user": {"instructions": "You want the sum."}}
    alone = prompts.opening(name, new_task().brief(), ())[0].text
    talking = prompts.opening(name, new_task(package=user).brief(), ())[0].text

    says_nobody = ("nobody answers questions", "never talk to the user")
    assert any(words in alone for words in says_nobody)
    assert not any(words in talking for words in says_nobody)
    assert {"user", "answer"} <= set(talking.replace("s ", " ").split())
    assert len(talking.splitlines()) == len(alone.splitlines())


def test_versions_name_both_prompts():
    assert prompts.version("react_v3") == "react_v3+task_v1"
