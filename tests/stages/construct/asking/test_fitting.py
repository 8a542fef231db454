"""Every prompt of construction fits its limit with a real task, and says what it leaves out."""

import json

import pytest

from environments.models.local.server import CONTEXT_TOKENS
from environments.ports import Message
from environments.tool_runtime.catalogue import as_markdown, catalogue
from stages.construct.answers.drafts import draft_from, shown_draft, shown_nodes, shown_task
from stages.construct.asking.fitting import fitted, window_of
from stages.construct.asking.prompting import Untrusted, prompt
from stages.construct.asking.tokens import estimated_tokens, shortened_reply, tokens_of
from stages.construct.material.attachments import Attachment
from stages.construct.material.checks import described_checks
from stages.construct.material.exemplars import shortened
from taskdata.banks.loader import load_bank
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec

LOCAL = window_of(ModelSpec(provider="local", model="m"), 8_000, 8_192)
NAMES = ("generate", "classify", "augment", "refine", "repair", "opinions", "checkpoints")
SHOWN = (*NAMES, "requirements", "leaf", "reference", "expand", "harm")


@pytest.fixture(scope="module")
def context():
    """All that any template shows, about the bundled task with the longest draft."""
    bank = load_bank("starter")
    drafts = {task.id: draft_from(task) for task in bank.tasks}
    largest = max(bank.tasks, key=lambda task: len(drafts[task.id].model_dump_json()))
    draft = drafts[largest.id]
    nodes = shown_nodes(draft.checkpoints)
    tools = [tool.spec for tool in catalogue().values()]
    told = [f"checkpoints.leaf-{n}: no leaf scores this demand of the query" for n in range(20)]
    return {
        "tier": "workflow",
        "leaves": (3, 19),
        "checkable_share": 0.3,
        "requirement_length": (10, 1_000),
        "tools": tools,
        "checks": described_checks(),
        "exemplars": [shortened(task) for task in bank.tasks if len(task.files) > 4][:2],
        "files": [_attachment(file.path, bank.files[file.sha256]) for file in largest.files],
        "wanted_tools": (),
        "request": Untrusted(largest.query),
        "varied": None,
        "aim": "keep the tools",
        "in_steps": False,
        "draft": shown_draft(draft),
        "task": shown_task(draft),
        "old_tree": nodes,
        "mends": False,
        "tree": nodes,
        "leaves_shown": nodes,
        "scope": "both",
        "requirement": draft.query[:200],
        "by_judge": False,
        "violations": told,
        "reasons": told,
        "faults": told,
        "repairs": 1,
        "rejected": None,
        "tool_documentation": as_markdown(tools),
        "exemplar": shown_draft(draft),
        "exemplar_tools": largest.tools,
        "dropped": 0,
        "added": 0,
    }


def _attachment(name, path):
    is_text = name.endswith((".md", ".txt", ".csv"))
    text = Untrusted(path.read_text()[:3_000]) if is_text else None
    return Attachment(Untrusted(name), path.stat().st_size, text)


def of_template(name, context):
    """Return the context of one template: generate varies a task or takes up an aim."""
    return context | {"aim": None} if name == "generate" else context


@pytest.mark.parametrize("name", SHOWN)
def test_every_prompt_fits_8000_tokens_and_says_what_it_lacks(name, context):
    values = of_template(name, context)
    found = fitted(name, values, 7_000)  # the schema of the answer takes up to 1,000 more
    assert tokens_of(found.messages) <= 7_000
    is_cut = found.messages != prompt(name, values).messages
    assert is_cut == bool(found.left_out)
    assert all(said in found.messages[1].text for said in found.left_out)


@pytest.mark.parametrize("name", SHOWN)
def test_every_prompt_fits_the_window_of_a_local_model(name, context):
    values = of_template(name, context) | {"in_steps": True}
    found = fitted(name, values, LOCAL.prompt_tokens)
    assert tokens_of(found.messages) + LOCAL.reply_tokens < CONTEXT_TOKENS


def test_what_a_template_does_not_show_is_not_said_to_be_left_out(context):
    assert "finished tasks" not in " ".join(fitted("classify", context, 4_000).left_out)


def test_checks_for_other_files_go_before_anything_that_is_needed(context):
    csv = {**context["task"], "deliverables": [{"name": "a.csv", "type": "csv"}]}
    whole = tokens_of(prompt("checkpoints", context | {"task": csv}).messages)
    found = fitted("checkpoints", context | {"task": csv}, whole - 100)
    assert found.left_out == ("checks that cannot look at a deliverable of the task",)
    assert "- csv_table; " in found.messages[1].text
    assert "- pptx_slides; " not in found.messages[1].text


def test_a_tree_that_is_to_be_mended_stays_if_half_of_the_prompt_has_room_for_it(context):
    nodes = context["old_tree"][:8]
    earlier = fitted("checkpoints", context | {"old_tree": nodes}, 7_000)
    assert "the tree of an earlier wording" in earlier.left_out
    mended = fitted("checkpoints", context | {"old_tree": nodes, "mends": True}, 7_000)
    assert "the tree" not in " ".join(mended.left_out)
    assert json.dumps(nodes[-1]["requirement"]) in mended.messages[1].text
    too_long = fitted("checkpoints", context | {"mends": True}, 7_000)
    assert "the tree before" in too_long.left_out
    assert "all finished tasks, as examples" not in too_long.left_out


def test_a_seed_is_not_judged_harmless_by_its_beginning(context):
    long = context | {"request": Untrusted("Please add this up. " * 1_000)}
    with pytest.raises(Misuse, match="prompt harm@1 has about"):
        fitted("harm", long, LOCAL.prompt_tokens)


def test_a_prompt_that_cannot_be_cut_so_far_is_refused(context):
    with pytest.raises(Misuse, match="raise max_prompt_tokens"):
        fitted("generate", of_template("generate", context), 1_000)


def test_the_estimate_is_not_below_what_a_tokenizer_counted():
    """Counted with the tokenizer of Qwen2.5, which takes every digit by itself."""
    table = "q1,q2\n" + "0,1,1,0,1,1\n" * 40
    assert estimated_tokens(table) >= 40 * 12
    german = "Bitte schreibe eine Übersicht über die Öffnungszeiten der Bücherei."
    assert estimated_tokens(german) >= 17


def test_an_answer_shown_again_is_cut_with_a_notice():
    text = "word " * 1_000
    cut = shortened_reply(text, 100)
    assert tokens_of([Message("assistant", cut)]) < 140
    assert f"(... {len(text) - cut.index(chr(10))} more characters)" in cut
    assert shortened_reply("short", 100) == "short"
