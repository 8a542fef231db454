"""The scripted model: it knows every prompt, and what it says is right or wrong as intended."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

import stages.construct.asking.prompting as prompting
from environments.models.openai.chat import OpenAIClient
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.ports import Message, ModelRequest
from environments.tool_runtime.catalogue import catalogue
from examples.scripted_model.question import OPENINGS, Asked, Question
from examples.scripted_model.script import ANSWERS, answer, scripts
from examples.scripted_model.server import ScriptedModel
from stages.construct.answers.drafts import draft_of, shown_nodes
from stages.construct.answers.forms import ClassForm, DraftForm, FindingsForm, RequirementsForm
from stages.construct.atomic.drafting import drafted
from stages.construct.atomic.form import AtomicForm
from stages.construct.atomic.ways import Way, deal, is_exemplar, way_of
from stages.construct.proof.bank import prove_bank
from stages.construct.rules.book import violations
from stages.construct.rules.coverage import named_requirement, uncovered
from stages.construct.rules.violation import Rulebook
from taskdata.banks.loader import load_bank
from taskdata.errors import BadTaskData, ModelRejected, ModelUnavailable
from taskdata.schema.agent import ModelSpec
from taskdata.schema.task import Category, Provenance, Tier
from tests.soak import at_length_only

NAMED = dict(zip((p.stem for p in sorted(ANSWERS.glob("*.yaml"))), scripts(), strict=True))
SPEC = ModelSpec(provider="compatible", model="scripted")
MEANT_TO_FAIL = {
    ("museum-members", "one-leaf"): {"leaves", "depth", "checkable_share"},
    ("phone-plans", "first"): {"injection"},
    ("phone-plans", "final"): {"injection"},
    ("reading-bookmark", "given-away"): {"names_tool", "prescribes_steps", "injection"},
    ("solar-year", "acted"): {"action_oriented"},
}
"""Drafts that break rules, and which."""


def ask(base_url, *texts, policy=None):
    """Ask as the pipeline does: system, user, and what came of it so far."""
    roles = ("system", "user", "assistant", "user")
    messages = tuple(Message(role, text) for role, text in zip(roles, texts, strict=False))

    async def one():
        client = OpenAIClient(Endpoint(SPEC, base_url, "none"), policy)
        try:
            return await client.reply(ModelRequest(messages=messages, max_tokens=1000))
        finally:
            await client.close()

    return asyncio.run(one())


def opening(asked: Asked) -> str:
    return next(text for text, kind in OPENINGS.items() if kind is asked)


def request(text: str) -> str:
    return f"The request:\n\n{prompting.fenced(text, 'request')}"


TEMPLATES = [
    path
    for path in sorted((Path(prompting.__file__).parent / "prompts").glob("[a-z]*.j2"))
    # The documented refresh makes no planning cases, and no tree leaf by leaf.
    if not path.stem.startswith("case_") and path.stem != "leaf"
]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_every_prompt_of_construction_is_known_by_its_beginning(template):
    system = template.read_text("utf-8").partition("#}\n")[2]
    assert any(system.startswith(text) for text in OPENINGS)


@pytest.mark.parametrize("name", [n for n, s in NAMED.items() if s.request and not s.aim])
def test_the_first_question_about_each_seed_is_answered_over_the_real_client(base_url, name):
    reply = ask(
        base_url, opening(Asked.GENERATE), request(f"Hello! {NAMED[name].request.upper()}.")
    )
    assert reply.text
    assert (reply.model, reply.stop_reason) == ("scripted-1", "stop")
    assert reply.usage.input_tokens > 20
    assert reply.usage.output_tokens == max(1, len(reply.text) // 4)


def test_every_internal_request_but_the_one_that_never_gets_in_has_a_script(seeds_folder):
    rows = (seeds_folder / "internal.jsonl").read_text("utf-8").splitlines()
    texts = [text for row in rows if (text := json.loads(row).get("text"))]
    known = [s.request.casefold() for s in scripts() if s.request]
    strange = [t for t in texts if not any(words in t.casefold() for words in known)]
    assert [text[:30] for text in strange] == ["Please compare these two price"]


def test_an_unknown_request_is_turned_down_with_the_reason(base_url):
    with pytest.raises(ModelRejected, match="no script is about the request or aim 'a poem'"):
        ask(base_url, opening(Asked.GENERATE), request("A poem"))
    with pytest.raises(ModelRejected, match="no prompt begins 'You are a helpful"):
        ask(base_url, "You are a helpful assistant.", "Hi")


def test_it_can_be_told_to_fail_now_and_then(serving):
    once = RetryPolicy(attempts=1, first_wait_seconds=0.01, longest_wait_seconds=0.01)
    twice = RetryPolicy(attempts=2, first_wait_seconds=0.01, longest_wait_seconds=0.01)
    question = opening(Asked.GENERATE), request(NAMED["solar-year"].request)
    with serving(ScriptedModel(scripts(), fail_every=2)) as url:
        assert ask(url, *question, policy=once).text
        with pytest.raises(ModelUnavailable, match="--fail-every"):
            ask(url, *question, policy=once)
        assert ask(url, *question, policy=twice).text
        assert ask(url, *question, policy=twice).text


def test_an_answer_that_is_turned_down_is_followed_by_the_next(base_url):
    question = opening(Asked.GENERATE), request(NAMED["boiler-codes"].request)
    broken = ask(base_url, *question).text
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken)
    whole = ask(base_url, *question, broken, "That is not JSON.").text
    assert draft_of(DraftForm.model_validate_json(whole)) == NAMED["boiler-codes"].drafts["first"]


def test_what_is_asked_about_a_draft_is_known_by_the_draft():
    script = NAMED["museum-members"]
    shown = {"draft": json.dumps({"query": script.drafts["first"].query})}
    said = answer(Question(Asked.CLASSIFY, shown, "", None), scripts())
    assert ClassForm.model_validate_json(said).verdict == "augmentation"
    said = answer(Question(Asked.OPINIONS, shown, "", None), scripts())
    assert FindingsForm.model_validate_json(said).findings == ()


@pytest.mark.parametrize(
    ("name", "draft"), [(n, d) for n, script in NAMED.items() for d in script.drafts]
)
def test_drafts_keep_or_break_the_rules_as_intended(name, draft, attachments):
    book = Rulebook(
        tier=Tier.WORKFLOW, tools=frozenset(catalogue()), files=frozenset(attachments[0])
    )
    broken = {violation.rule for violation in violations(NAMED[name].drafts[draft], book)}
    assert broken == MEANT_TO_FAIL.get((name, draft), set())


@pytest.mark.parametrize(
    ("name", "draft"),
    [
        (name, "first" if script.classify.verdict == "pass" else "final")
        for name, script in NAMED.items()
        if script.classify is not None and script.classify.verdict != "deletion"
    ],
)
def test_the_last_tree_for_a_query_scores_every_demand_that_the_model_names(name, draft):
    script = NAMED[name]
    tree = script.drafts[script.trees.get(draft, (draft,))[-1]].checkpoints
    final = script.drafts[draft].model_copy(update={"checkpoints": tree})
    leaves = [node for node in shown_nodes(tree) if node["verifier"] != "group"]
    shown = {"task": json.dumps({"query": final.query}), "checkpoints": json.dumps(leaves)}
    said = answer(Question(Asked.REQUIREMENTS, shown, "", None), scripts())
    form = RequirementsForm.model_validate_json(said)
    named = [named_requirement(final, one.quote, one.leaves) for one in form.requirements]
    assert uncovered(final, named) == ()


def test_there_are_three_tasks_of_every_category():
    ended = [
        script.drafts.get("final", script.drafts["first"])
        for name, script in NAMED.items()
        if script.request
        and not script.aim
        and name not in ("phone-plans", "bird-feeder")
        and script.drafts
    ]
    assert Counter(draft.category for draft in ended) == dict.fromkeys(Category, 3)
    assert all(draft.checkpoints.checkable_share() >= 0.6 for draft in ended)


@pytest.mark.parametrize("place", range(3))
def test_the_first_variations_of_the_starter_bank_are_scripted(place):
    exemplars = sorted(filter(is_exemplar, load_bank("starter").tasks), key=lambda task: task.id)
    variation = deal(exemplars, 3)[place]
    fenced = {"finished question": json.dumps({"query": variation.exemplar.query})}
    way = way_of(variation.aim)
    said = answer(Question(Asked.EXPAND, fenced, variation.aim, None), scripts())
    if way is Way.REPLACE:
        with pytest.raises(BadTaskData, match="the solution must do without 1 of"):
            drafted(AtomicForm.model_validate_json(said), variation.exemplar, way)
        said = answer(Question(Asked.EXPAND, fenced, variation.aim, said), scripts())
    assert drafted(AtomicForm.model_validate_json(said), variation.exemplar, way).reference


@pytest.mark.soak
@at_length_only
def test_every_reference_earns_everything_and_the_slip_does_not(store, attachments):
    """In `make test`, tests/e2e/test_documented_run.py proves the same references."""
    available, places = attachments
    tasks = {}
    for name, script in NAMED.items():
        draft = script.drafts.get("final") or script.drafts.get("first")
        for kind in ("reference", "slip"):
            solution = getattr(script, kind)
            if solution is not None:
                tasks[f"{name}-{kind}"] = draft.model_copy(update={"reference": solution}).as_task(
                    f"{name}-{kind}", Tier.WORKFLOW, available, Provenance()
                )
    proofs = prove_bank(store, tuple(tasks.values()), places, "bubblewrap")
    scores = {proof.task_id: proof.reference_score for proof in proofs.values()}
    slipped = scores.pop("house-rules-slip")
    assert scores == dict.fromkeys(scores, pytest.approx(10))
    assert len(scores) == 6
    assert slipped < 5
    assert all(proof.nop_score <= 1 for proof in proofs.values())
