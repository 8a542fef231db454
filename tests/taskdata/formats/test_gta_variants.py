"""Items of the published kind in the forms that the published code takes, and near them."""

import json

import pytest

from taskdata.schema.task import Category, ImageGenerationAnswer, ObjectiveAnswer, SubjectiveAnswer

TREE = [{"id": "1", "requirements": "Both shops are named.", "weight": 2}]
QUERY = {"role": "user", "content": "We run two shops. Make a deck in PPTX format."}


def call(arguments, **more):
    function = {"name": "Calculator", "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"type": "function", "function": function}], **more}


@pytest.fixture
def workflow(read, workflow_folder, item):
    """Return the only task of a bank with one item of these fields."""

    def go(**changes):
        result = read("gta-workflow", workflow_folder(item(**changes)))
        assert not result.refused
        return result.tasks[0]

    return go


@pytest.fixture
def atomic(read, tmp_path):
    """Return everything read of a data set with one atomic item of these fields."""

    def go(**changes):
        fields = {
            "tools": [{"name": "Calculator"}],
            "files": [],
            "dialogs": [QUERY, call({"expression": "2*3"}), {"role": "assistant", "content": "6"}],
            "gt_answer": {"whitelist": [["6"]], "blacklist": None},
        }
        (tmp_path / "dataset.json").write_text(json.dumps({"0": fields | changes}))
        return read("gta-atomic", tmp_path)

    return go


@pytest.mark.parametrize(
    ("stated", "category"),
    [
        ("Data Analysis", Category.DATA_ANALYSIS),
        ("Education & Instruction", Category.EDUCATION_INSTRUCTION),
        ("Planning & Decision Making", Category.PLANNING_DECISION),
        ("Retrieval & QA", Category.RETRIEVAL_QA),
    ],
)
def test_the_published_category_is_read_by_its_published_name(workflow, stated, category):
    assert workflow(workflow_category_6class=stated).category is category


@pytest.mark.parametrize("name", ["sub_tasks", "full_tree"])
def test_a_tree_may_be_json_text(workflow, item, name):
    fields = {"sub_tasks": None, name: json.dumps(TREE)}
    (leaf,) = workflow(**fields).checkpoints.leaves()
    assert (leaf.requirement, leaf.weight) == ("Both shops are named.", 2)


def test_a_requirement_may_be_several_lines(workflow):
    tree = [{"id": 1, "requirements": ["It has a title.", " It has a date. "]}]
    (leaf,) = workflow(sub_tasks=tree).checkpoints.leaves()
    assert leaf.requirement == "It has a title.\nIt has a date."


@pytest.mark.parametrize("answer", ["The answer.", ["one", " "], {"whitelist": None}])
def test_an_answer_of_another_shape_does_not_cost_a_workflow_task(workflow, answer):
    task = workflow(gt_answer=answer)
    assert task.answer is None
    assert task.extras["gta-workflow"]["gt_answer"] == answer


def test_messages_before_the_query_are_kept(workflow):
    task = workflow(dialogs=[{"role": "system", "content": "You are an agent."}, QUERY])
    assert task.query == QUERY["content"]
    assert task.extras["gta-workflow"]["dialogs.0"]["content"] == "You are an agent."
    assert workflow(dialogs=json.dumps([QUERY])).query == QUERY["content"]


def test_tools_may_be_names_and_have_their_name_under_another_key(workflow):
    assert workflow(tools=["OCR"]).tools == ("OCR",)
    assert workflow(tools=[{"tool_name": "OCR"}]).tools == ("OCR",)


def test_without_toolmeta_an_item_has_the_published_tools(read, workflow_folder, item):
    folder = workflow_folder(item())
    (folder / "toolmeta.json").unlink()
    result = read("gta-workflow", folder)
    assert len(result.tasks[0].tools) == 37


def test_a_tool_without_a_name_does_not_cost_the_bank(read, workflow_folder, item):
    folder = workflow_folder(item())
    (folder / "toolmeta.json").write_text('[{"id": "OCR"}, {"description": "Draws."}]')
    result = read("gta-workflow", folder)
    assert result.tasks[0].tools == ("OCR",)
    assert result.source.ignored == {"toolmeta.json: a tool without a name": 1}


def test_files_with_spaces_and_letters_of_any_kind(read, workflow_folder, item):
    names = ["sales data 2024.csv", "données – été.csv", "画像.png"]
    listed = [{"type": "file", "path": f"./files/{name}", "url": None} for name in names]
    gone = {"type": "file", "path": "files/gone.csv"}
    folder = workflow_folder(item(files=listed), item(files=[gone]), item(files=[{"url": "x"}]))
    (folder / "files").mkdir()
    for name in names:
        (folder / "files" / name).write_text("a,b")
    result = read("gta-workflow", folder)
    assert [file.path for file in result.tasks[0].files] == [f"files/{name}" for name in names]
    assert [row.field for row in result.refused] == ["files.0.path", "files.0.path"]
    assert "never fetched" in result.refused[1].reason


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (["one"], SubjectiveAnswer),
        (["one", "two", "three", "four"], SubjectiveAnswer),
        (None, ImageGenerationAnswer),
        ({}, ImageGenerationAnswer),
        ({"whitelist": [["6", "six"], ["cars"]], "blacklist": [["7"], ["8"]]}, ObjectiveAnswer),
        ({"whitelist": [["6"]]}, ObjectiveAnswer),
    ],
)
def test_answers_are_told_apart_as_the_published_scorer_does(atomic, given, kind):
    assert isinstance(atomic(gt_answer=given).tasks[0].answer, kind)


@pytest.mark.parametrize(
    ("arguments", "read_as"),
    [
        ('{"expression": "2*3"}', {"expression": "2*3"}),
        ("2*3", {"inputs": "2*3"}),
        ("7", {"inputs": "7"}),
        (None, {}),
    ],
)
def test_arguments_of_a_call_may_be_text(atomic, arguments, read_as):
    result = atomic(dialogs=[QUERY, call(arguments), {"role": "tool", "content": None}])
    (step,) = result.tasks[0].reference.steps
    assert (step.arguments, step.result) == (read_as, "")


def test_a_data_set_may_stand_under_tasks(atomic, read, tmp_path):
    atomic()
    path = tmp_path / "dataset.json"
    whole = json.loads(path.read_text())
    for tasks in (whole, [whole["0"]], [whole["0"] | {"task_id": 0}]):
        path.write_text(json.dumps({"about": "a sample", "tasks": tasks}))
        result = read("gta-atomic", path)
        assert [task.id for task in result.tasks] == ["gta-atomic-0"]
        assert result.source.ignored == {"about": 1}
