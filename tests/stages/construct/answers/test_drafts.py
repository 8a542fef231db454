"""From flat forms to trees and back."""

import json

import pytest

from stages.construct.answers.drafts import draft_from, draft_of, rewritten, shown_draft, tree_of
from stages.construct.answers.forms import DraftForm, NodeForm, TaskForm
from taskdata.banks.loader import load_bank
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Check, Judge
from taskdata.schema.task import ObjectiveAnswer


def filled(form, value):
    return form.model_validate_json(json.dumps(value))


def nodes(listed):
    return [filled(NodeForm, node) for node in listed]


def test_every_starter_task_survives_the_form():
    # A draft has a check or a judge at each leaf.
    tasks = [
        task
        for task in load_bank("starter").tasks
        if all(isinstance(leaf.verifier, Check | Judge) for leaf in task.checkpoints.leaves())
    ]
    assert len(tasks) > 15
    for task in tasks:
        draft = draft_from(task)
        assert draft_of(filled(DraftForm, shown_draft(draft))) == draft


def test_a_flat_list_becomes_a_tree_in_its_own_order(scripts):
    tree = tree_of(nodes(reversed(scripts.TREE)))
    assert tree.id == "root"
    assert [child.id for child in tree.children] == ["smallest", "largest", "total"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"parent": "nowhere"}, "field parent: 'nowhere' is not the id"),
        ({"parent": ""}, "2 nodes have no parent"),
        ({"parent": "total"}, "leads in a circle"),
        ({"id": "largest"}, "field id: is taken"),
        ({"verifier": "group"}, "a group needs nodes below it"),
        ({"args": "[1]"}, "field args: must be a JSON object"),
        ({"args": '{"a": NaN}'}, "field args: the answer is not usable JSON: NaN"),
        ({"args": "[" * 100}, "nested more than"),
        ({"check": ""}, "field check: is empty"),
        ({"looks_at": ["a.json", "b.json"]}, "a check looks at one deliverable"),
        ({"verifier": "judge"}, "a judge needs a rubric"),
    ],
)
def test_what_is_no_tree_is_refused_with_its_place(scripts, change, fault):
    with pytest.raises(BadTaskData, match=fault.replace("[", r"\[")):
        tree_of(nodes(scripts.tree(**change)))


def test_a_chain_of_groups_is_refused_before_it_is_built(scripts):
    group = {**scripts.TREE[0], "requirement": "It is all right."}
    chain = [{**group, "id": f"n{i}", "parent": f"n{i - 1}" if i else ""} for i in range(40)]
    with pytest.raises(BadTaskData, match="deeper than 6 levels"):
        tree_of(nodes(chain))


def test_a_rewrite_leaves_tree_answer_and_reference_alone(scripts):
    answer = ObjectiveAnswer(whitelist=(("55",),))
    draft = draft_of(filled(DraftForm, scripts.DRAFT)).model_copy(update={"answer": answer})
    task = filled(TaskForm, scripts.changed(scripts.TASK, title="Other", tools=["ReadCSV"]))
    after = rewritten(draft, task)
    assert (after.title, after.tools) == ("Other", ("ReadCSV",))
    assert (after.checkpoints, after.answer) == (draft.checkpoints, draft.answer)
