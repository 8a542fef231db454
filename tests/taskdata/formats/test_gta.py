"""What GTA publishes becomes a task, and nothing of it is lost on the way."""

import json

import pytest

from taskdata.errors import Misuse
from taskdata.formats.registry import writer
from taskdata.schema.checkpoint import Check, Judge
from taskdata.schema.task import Capability, Category, ImageGenerationAnswer, SubjectiveAnswer, Tier

DIALOG = [
    {"role": "user", "content": "What do the two notes on the fridge cost together?"},
    {
        "role": "assistant",
        "tool_calls": [
            {
                "type": "function",
                "function": {"name": "OCR", "arguments": {"image": "image/fridge.jpg"}},
            }
        ],
        "thought": "Read the notes.",
    },
    {"role": "tool", "name": "OCR", "content": {"type": "text", "content": "milk 2, eggs 3"}},
    {
        "role": "assistant",
        "tool_calls": [
            {
                "type": "function",
                "function": {"name": "Calculator", "arguments": {"expression": "2+3"}},
            }
        ],
        "thought": "Add.",
    },
    {"role": "tool", "name": "Calculator", "content": {"type": "text", "content": "5"}},
    {"role": "assistant", "content": "They cost 5 euros."},
]


@pytest.fixture
def atomic_folder(tmp_path):
    """Write GTA-Atomic items, by key, with the picture that they name; returns the folder."""

    def write(*items: dict):
        folder = tmp_path / "atomic"
        (folder / "image").mkdir(parents=True)
        (folder / "image" / "fridge.jpg").write_bytes(b"a picture")
        (folder / "dataset.json").write_text(json.dumps(dict(enumerate(items))))
        return folder

    return write


def atomic(**changes):
    fields = {
        "tools": [{"name": name, "description": name} for name in ("OCR", "Calculator")],
        "files": [{"type": "image", "path": "image/fridge.jpg", "url": None}],
        "dialogs": DIALOG,
        "gt_answer": {"whitelist": [["5", "five"]], "blacklist": [["6"]]},
    }
    return fields | changes


def test_an_atomic_item_becomes_a_task_with_its_tool_chain(read, atomic_folder):
    result = read("gta-atomic", atomic_folder(atomic()), category=Category.PLANNING_DECISION)
    (task,) = result.tasks
    assert (task.id, task.tier, task.category) == ("gta-atomic-0", Tier.ATOMIC, "planning_decision")
    assert task.query == DIALOG[0]["content"]
    assert task.tools == ("OCR", "Calculator")
    assert task.capabilities == (Capability.PERCEPTION, Capability.LOGIC)
    assert [f.path for f in task.files] == ["image/fridge.jpg"]
    first, second = task.reference.steps
    assert (first.tool, first.thought, first.result) == ("OCR", "Read the notes.", "milk 2, eggs 3")
    assert second.arguments == {"expression": "2+3"}
    assert second.result == "5"
    assert task.reference.final_answer == "They cost 5 euros."
    assert task.answer.whitelist == (("5", "five"),)
    assert "category" not in result.source.assumed


def test_an_objective_answer_is_checked_by_code(read, atomic_folder):
    (task,) = read("gta-atomic", atomic_folder(atomic())).tasks
    (leaf,) = task.checkpoints.leaves()
    assert leaf.verifier == Check(
        name="answer_contains", args={"all": [["5", "five"]], "none": ["6"]}
    )


def test_three_texts_are_judged_and_no_answer_is_image_generation(read, atomic_folder):
    drawn = [DIALOG[0], {"role": "assistant", "tool_calls": [_call("DrawBox")]}]
    folder = atomic_folder(
        atomic(gt_answer=["one way", "another", "a third"]),
        atomic(gt_answer=None, dialogs=drawn),
        atomic(gt_answer=[]),
    )
    subjective, image, plain = read("gta-atomic", folder).tasks
    assert isinstance(subjective.answer, SubjectiveAnswer)
    assert isinstance(subjective.checkpoints.leaves()[0].verifier, Judge)
    assert "a third" in subjective.checkpoints.leaves()[0].verifier.rubric
    assert isinstance(image.answer, ImageGenerationAnswer)
    for task, calls in ((image, 1), (plain, 0)):
        (leaf,) = task.checkpoints.leaves()
        assert leaf.verifier.deliverables == ("*.png",)
        assert leaf.verifier.rubric.count("- DrawBox: {") == calls
    assert isinstance(plain.answer, ImageGenerationAnswer)


def _call(name):
    return {"type": "function", "function": {"name": name, "arguments": {}}}


def test_every_field_of_an_item_is_in_the_task(read, atomic_folder):
    marks = iter(f"mark-{n}" for n in range(100))

    def marked(value):
        if isinstance(value, dict):
            return {key: marked(inner) for key, inner in value.items()} | {"extra": next(marks)}
        return [marked(inner) for inner in value] if isinstance(value, list) else value

    item = marked(atomic())
    for step in item["dialogs"]:
        for call in step.get("tool_calls", ()):
            call["function"]["arguments"].pop("extra")
    (task,) = read("gta-atomic", atomic_folder(item)).tasks
    whole = json.dumps(task.extras)
    asked = json.dumps(item)
    missing = [f"mark-{n}" for n in range(100) if f'"mark-{n}"' in asked]
    assert len(missing) > 15
    assert [mark for mark in missing if f'"{mark}"' not in whole] == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"dialogs": []}, "dialogs"),
        ({"dialogs": [{"role": "assistant", "content": "Hello"}]}, "dialogs.0"),
        ({"dialogs": ["Hello"]}, "dialogs.0"),
        ({"dialogs": [DIALOG[0], {"tool_calls": [{}]}]}, "dialogs.1.tool_calls.0.function"),
        ({"tools": [{"title": "OCR"}]}, "tools.0.name"),
        ({"tools": []}, "tools"),
        ({"files": [{"path": "image/none.jpg"}]}, "files.0.path"),
        ({"gt_answer": ["one", " "]}, "gt_answer"),
        ({"gt_answer": {"whitelist": []}}, "gt_answer.whitelist"),
        ({"gt_answer": {"whitelist": ["5"]}}, "gt_answer.whitelist"),
        ({"gt_answer": 5}, "gt_answer"),
    ],
)
def test_an_item_of_another_shape_is_refused_with_its_field(read, atomic_folder, changes, field):
    result = read("gta-atomic", atomic_folder(atomic(), atomic(**changes)))
    assert len(result.tasks) == 1
    (row,) = result.refused
    assert (row.origin, row.row, row.item, row.field) == ("dataset.json", 2, "1", field)


def test_a_workflow_item_becomes_a_judged_tree(read, workflow_folder, item):
    result = read("gta-workflow", workflow_folder(item()))
    (task,) = result.tasks
    assert (task.id, task.tier) == ("gta-workflow-0", Tier.WORKFLOW)
    assert task.tools == ("ReadCSV", "OCR")
    assert [d.name for d in task.deliverables] == ["minutes.docx"]
    first, second = task.checkpoints.children
    assert (first.weight, second.weight) == (2, 1)
    assert first.verifier == Judge(
        rubric="The minutes name everyone present.", deliverables=("minutes.docx",)
    )
    assert [child.id for child in second.children] == ["2-1", "2-2"]
    assert task.extras["gta-workflow"]["sub_tasks.1.0.id"] == "2.1"
    filled_in = {"category": 1, "title": 1, "human_minutes": 1, "deliverables": 1, "licence": 1}
    assert result.source.assumed == filled_in


def leaf(**changes):
    return {"id": "a", "requirements": "It is done."} | changes


@pytest.mark.parametrize(
    ("tree", "shape"),
    [
        ([leaf(), leaf()], [("a", 1.0), ("a-2", 1.0)]),
        (leaf(weight=3), [("a", 3.0)]),
        (leaf(sub_tasks=[leaf(id="b", weight=0.5)]), [("b", 0.5)]),
        ([leaf(sub_tasks=None), leaf(id="b", sub_tasks=[])], [("a", 1.0), ("b", 1.0)]),
        ([leaf(weight=None)], [("a", 1.0)]),
        ([leaf(weight=0), leaf(id="b", weight=0.0)], [("a", 0.0), ("b", 0.0)]),
    ],
)
def test_trees_are_wrapped_as_the_published_scorer_wraps_them(
    read, workflow_folder, item, tree, shape
):
    (task,) = read("gta-workflow", workflow_folder(item(sub_tasks=tree))).tasks
    assert [(child.id, child.weight) for child in task.checkpoints.children] == shape


def test_a_node_without_requirements_inherits_those_above(read, workflow_folder, item):
    tree = [{"id": "1", "requirements": "Totals are right.", "sub_tasks": [{"id": "2"}]}]
    result = read("gta-workflow", workflow_folder(item(sub_tasks=tree)))
    (only,) = result.tasks[0].checkpoints.leaves()
    assert only.requirement == "Totals are right."
    assert result.source.assumed["sub_tasks.requirements"] == 1


@pytest.mark.parametrize(
    ("tree", "field", "reason"),
    [
        ([leaf(weight=-1)], "sub_tasks.0.weight", "at least 0"),
        ([leaf(weight="2")], "sub_tasks.0.weight", "number"),
        ([leaf(weight=True)], "sub_tasks.0.weight", "number"),
        ([leaf(weight=10**400)], "sub_tasks.0.weight", "finite"),
        ([leaf(sub_tasks="none")], "sub_tasks.0.sub_tasks", "list"),
        (["a text"], "sub_tasks.0", "mapping"),
        ([leaf(requirements=5)], "sub_tasks.0.requirements", "text"),
        ([leaf() for _ in range(2_000)], "sub_tasks", "more than 1000 nodes"),
    ],
)
def test_a_broken_tree_is_refused_with_its_place(read, workflow_folder, item, tree, field, reason):
    result = read("gta-workflow", workflow_folder(item(sub_tasks=tree), item()))
    assert len(result.tasks) == 1
    (row,) = result.refused
    assert (row.row, row.field) == (1, field)
    assert reason in row.reason


def test_weights_that_are_no_numbers_and_endless_trees_cost_only_their_row(
    read, workflow_folder, item
):
    good = json.dumps(item())
    deep = '[{"id": "d", "requirements": "r", "sub_tasks": ' * 10_000 + "[]" + "}]" * 10_000
    nan = good.replace('"weight": 2', '"weight": NaN')
    long = json.dumps(item(dialogs=[{"role": "user", "content": "x" * 200_000}]))
    text = f'{{"nan": {nan}, "deep": {{"sub_tasks": {deep}}}, "long": {long}, "good": {good}}}'
    result = read("gta-workflow", workflow_folder(text=text))
    assert [task.id for task in result.tasks] == ["gta-workflow-good"]
    assert [(row.item, row.row) for row in result.refused] == [("nan", 1), ("deep", 2), ("long", 3)]
    reasons = [row.reason for row in result.refused]
    assert "NaN" in reasons[0]
    assert "deeper than 64" in reasons[1]
    assert "100000" in reasons[2]


def test_a_category_that_an_item_states_wins_over_the_one_asked_for(read, workflow_folder, item):
    folder = workflow_folder(item(category="Marketing & Strategy"), item(category="Gardening"))
    first, second = read("gta-workflow", folder, category=Category.CREATIVE_DESIGN).tasks
    assert first.category is Category.MARKETING_STRATEGY
    assert second.category is Category.CREATIVE_DESIGN
    assert second.extras["gta-workflow"]["category"] == "Gardening"


def test_step_items_keep_their_tool_chain(read, workflow_folder, item):
    steps = item(dialogs=[DIALOG[0], *DIALOG[1:3]], tools=[{"name": "OCR"}])
    (task,) = read("gta-workflow", workflow_folder(steps, name="step.json")).tasks
    assert [step.result for step in task.reference.steps] == ["milk 2, eggs 3"]


def test_what_toolmeta_says_of_tools_is_reported_as_left_out(read, workflow_folder, item):
    folder = workflow_folder(item())
    meta = {"OCR": {"name": "OCR", "description": "Reads."}, "Plot": {"description": "Draws."}}
    (folder / "toolmeta.json").write_text(json.dumps(meta))
    result = read("gta-workflow", folder)
    assert result.tasks[0].tools == ("OCR", "Plot")
    assert result.source.ignored == {"toolmeta.json: description": 2}


def test_a_folder_without_the_document_is_misuse(read, tmp_path):
    with pytest.raises(Misuse, match=r"end\.json or step\.json"):
        read("gta-workflow", tmp_path)


@pytest.mark.parametrize("name", ["checkpoints", "tree", "gt_answer"])
def test_a_tree_may_stand_where_the_answer_does_or_under_its_own_name(read, name, tmp_path):
    nodes = [{"id": "1", "requirements": "It has one row per city.", "weight": 2}]
    item = {"query": "List our cities in cities.xlsx, please.", "tools": [], name: nodes}
    (tmp_path / "end.json").write_text(json.dumps({"7": item}))
    (tmp_path / "toolmeta.json").write_text('{"OCR": {}}')
    found = read("gta-workflow", tmp_path)
    (task,) = found.tasks
    assert task.query == "List our cities in cities.xlsx, please."
    assert [leaf.requirement for leaf in task.checkpoints.leaves()] == ["It has one row per city."]
    assert task.tools == ("OCR",)
    assert found.source.assumed["tools"] == 1


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("Analyse the attached Excel file and create a PowerPoint presentation of it.", ["pptx"]),
        ("Please read the PDF report and summarise it in a Word document.", ["docx"]),
        ("Make a landing page for our cafe. It should be in HTML format.", ["html"]),
        ("I want an infographic as a PNG, and a CSV with the data.", ["png", "csv"]),
        ("From this PDF, make a ppt.", ["pptx"]),
        ("Generate a report in PDF format, using the data in the CSV.", ["pdf"]),
        ("What is the total in the spreadsheet?", []),
        ("Write a report on our sales.", []),
        ("Write minutes.docx, and turn them into a PDF.", ["docx"]),
    ],
)
def test_a_format_without_a_file_name_means_any_file_of_that_type(
    read, workflow_folder, item, query, kinds
):
    asked = item(dialogs=[{"role": "user", "content": query}])
    (task,) = read("gta-workflow", workflow_folder(asked)).tasks
    names = [d.name for d in task.deliverables]
    assert [d.type for d in task.deliverables] == kinds
    assert names == (["minutes.docx"] if "minutes" in query else [f"*.{kind}" for kind in kinds])
    assert task.checkpoints.leaves()[0].verifier.deliverables == tuple(names)


def test_deliverables_may_be_stated_by_format(read, workflow_folder, item):
    stated = ["PowerPoint", {"type": "xlsx", "description": "The figures."}, "notes.md", ".pdf"]
    (task,) = read("gta-workflow", workflow_folder(item(deliverables=stated))).tasks
    assert [(d.name, d.type) for d in task.deliverables] == [
        ("*.pptx", "pptx"),
        ("*.xlsx", "xlsx"),
        ("notes.md", "md"),
        ("*.pdf", "pdf"),
    ]
    result = read("gta-workflow", workflow_folder(item(deliverables=[{"type": "hologram"}])))
    assert [row.field for row in result.refused] == ["deliverables.0.name"]


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_forms_of_the_builder_of_eval_packs_are_read(read, workflow_folder, item, wrapped):
    fields = item()
    tree, query = fields["sub_tasks"], fields["dialogs"][0]["content"]
    packed = [{"task_id": number, "prompt": query, "full_tree": tree} for number in (7, 12)]
    whole = {"schema_version": 1, "by": {"a": 1}, "tasks": packed} if wrapped else packed
    result = read("gta-workflow", workflow_folder(text=json.dumps(whole)))
    (as_published,) = read("gta-workflow", workflow_folder(item())).tasks
    assert [task.id for task in result.tasks] == ["gta-workflow-7", "gta-workflow-12"]
    assert not result.refused
    assert result.tasks[0].query == as_published.query
    assert result.tasks[0].checkpoints == as_published.checkpoints
    assert set(result.source.ignored) == ({"schema_version", "by"} if wrapped else set())


def test_what_is_written_for_the_builder_of_eval_packs_is_read_again(
    read, workflow_folder, item, tmp_path
):
    (task,) = read("gta-workflow", workflow_folder(item())).tasks
    writer("gta-workflow")([task], tmp_path / "out", lambda *_: None, force=False)
    packed = json.loads((tmp_path / "out" / "tasks.json").read_text())
    assert [entry["task_id"] for entry in packed["tasks"]] == [0]
    (again,) = read("gta-workflow", tmp_path / "out" / "tasks.json").tasks
    assert (again.query, again.checkpoints) == (task.query, task.checkpoints)


def test_trees_of_any_depth_and_subtrees_without_weight_are_kept(read, workflow_folder, item):
    deep = leaf(id="1.1.1.1.1", weight=3)
    for depth in (4, 3, 2, 1):
        deep = leaf(id=".".join("1" * depth), sub_tasks=[deep])
    nothing = leaf(id="2", weight=0, sub_tasks=[leaf(id="2.1", weight=0)])
    (task,) = read("gta-workflow", workflow_folder(item(sub_tasks=[deep, nothing]))).tasks
    assert task.checkpoints.depth() == 6
    assert task.provenance.as_published
    assert [one.weight for one in task.checkpoints.leaves()] == [3, 0]
