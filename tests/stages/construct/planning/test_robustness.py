"""Extraneous, broken and unsolvable cases: what is made of words, and which are refused."""

import pytest

from stages.construct.planning.cases.making import make
from stages.construct.planning.cases.rules import faults_of
from stages.construct.planning.variations import Variation
from taskdata.errors import BadTaskData
from taskdata.schema.planning import Infeasibility, Setting, ToolRole
from tests.stages.construct.planning.conftest import WRITTEN, tool_form

NOISY = Variation(task_id="harvest-letter", setting=Setting.EXTRANEOUS, number=4)
BROKEN = Variation(task_id="harvest-letter", setting=Setting.BROKEN)
UNSOLVABLE = Variation(
    task_id="harvest-letter",
    setting=Setting.UNSOLVABLE,
    infeasibility=Infeasibility.CONTRADICTION,
)


def test_distractors_stand_among_the_tools_by_name_and_the_base_is_named(source, written):
    made = make(NOISY, source, written("distractors"))

    names = [tool.name.lower() for tool in made.planning.tools]
    assert names == sorted(names)
    assert len(made.planning.of_role(ToolRole.DISTRACTOR)) == 4
    assert made.planning.origin.base_case == NOISY.base.case_id
    assert faults_of(made) == ()


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        (tool_form("Piano", "Play a sonata on a grand piano.", key="string"), "shares 0 words"),
        (tool_form("ReadCSV", "Read a harvest of the club.", path="string"), "is a tool of that"),
        (
            tool_form("HarvestLetter", "Writes letter.docx for the club.", crop="string"),
            "makes letter.docx",
        ),
        (
            tool_form(
                "RowsOfClub",
                "Read rows of a CSV file as they stand: shows the size, delimiter, encoding, "
                "header and the asked data rows, numbered from 1.",
                crop="string",
            ),
            "does what ReadCSV does",
        ),
    ],
)
def test_a_tool_of_another_scene_or_with_a_use_is_no_distractor(source, written, tool, says):
    tools = [tool, *WRITTEN["distractors"]["tools"][1:]]

    with pytest.raises(BadTaskData, match=says):
        make(NOISY, source, written("distractors", tools=tools))


def test_a_broken_tools_result_is_its_error_and_the_substitute_takes_its_arguments(source, written):
    made = make(BROKEN, source, written("substitute"))

    case = made.planning
    assert (case.broken_tool, case.horizon, len(case.prefix)) == ("ReadCSV", 1, 2)
    assert case.prefix[-1].failed
    assert case.prefix[-1].result.startswith("Error:")
    (instead,) = case.reference.chain
    assert (instead.tool, instead.arguments) == ("ShowTable", {"path": "input/crops.csv"})
    assert case.reference.rules[0].tools == ("ShowTable", "read_file", "python_execute")
    assert faults_of(made) == ()


def test_a_substitute_is_no_new_version_of_the_broken_tool(source, written):
    newer = tool_form("ReadCSV2", "Read the rows of a table.", path="string")

    with pytest.raises(BadTaskData, match="too near the name of 'ReadCSV'"):
        make(BROKEN, source, written("substitute", tool=newer))


def test_an_unsolvable_case_adds_to_the_query_and_must_be_refused(source, written):
    made = make(UNSOLVABLE, source, written("contradiction"))

    assert made.query.startswith(source.task.query)
    assert made.query.endswith("no figure at all.")
    assert (made.planning.reference.chain, faults_of(made)) == ((), ())


def test_id_and_title_say_no_more_than_every_planner_sees(source, written):
    told = [
        (made.id[:-6], made.title)
        for made in (
            make(UNSOLVABLE, source, written("contradiction")),
            make(NOISY, source, written("distractors")),
            make(NOISY.base, source),
        )
    ]

    assert set(told) == {("harvest-letter-plan-", f"Plan: {source.task.title}")}


def test_where_the_evidence_is_gone_the_query_stays_and_the_files_go(source, written):
    gone = written("contradiction", kind="inaccessible_evidence", query="")
    made = make(
        UNSOLVABLE.model_copy(update={"infeasibility": Infeasibility.INACCESSIBLE_EVIDENCE}),
        source,
        gone,
    )

    assert (made.query, made.files) == (source.task.query, ())
    assert "There is no file in input/." in made.planning.system_prompt


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"query": ""}, "needs an added sentence"),
        ({"removed": ["ReadCSV"]}, "no tool goes"),
        ({"kind": "inaccessible_evidence"}, "the query stays as it is"),
        ({"kind": "tool_removal"}, "name the tools that go"),
        ({"kind": "tool_removal", "removed": ["Plot"]}, "'Plot' is not among the tools"),
        ({"kind": "tool_removal", "removed": ["python_execute"]}, "none of these tools is needed"),
        (
            {"kind": "tool_removal", "removed": ["ReadCSV"], "query": "Take ReadCSV only."},
            "names 'ReadCSV'",
        ),
    ],
)
def test_words_that_do_not_fit_their_kind_are_refused(source, written, changes, says):
    form = written("contradiction", **changes)

    with pytest.raises(BadTaskData, match=says):
        make(UNSOLVABLE.model_copy(update={"infeasibility": form.kind}), source, form)


def test_another_kind_than_was_asked_for_is_refused(source, written):
    with pytest.raises(BadTaskData, match="contradiction was asked for, not missing_information"):
        make(UNSOLVABLE, source, written("contradiction", kind="missing_information"))
