from collections.abc import Callable

import pytest

from stages.diagnose.failure_types import FACT_CHECKS, FORM_CHECKS, leaf_type
from stages.diagnose.labels import diagnose
from stages.diagnose.signals import Signals
from stages.score.library import check_library
from taskdata.schema.checkpoint import Check, Checkpoint, ScriptCheck, ToolResultCheck
from taskdata.schema.diagnosis import Diagnosis, FailureStage, FailureType
from taskdata.schema.scores import Unscored
from taskdata.schema.service import FOLDER, PostgresqlService
from taskdata.schema.task import InputFile, Task, TaskEnvironment
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Ending

See = Callable[..., Signals]
REFUSED, BAD, UNKNOWN = (
    ToolErrorKind.REFUSED,
    ToolErrorKind.BAD_ARGUMENTS,
    ToolErrorKind.UNKNOWN_TOOL,
)
READ, WRITE = ("ReadCSV", None), ("XlsxFileGenerator", None)
NOTHING = dict.fromkeys(("totals", "sheets", "facts", "headings", "tone"), 0.0)
NO_BUDGET = {"totals": 0.0, "sheets": 0.0}
ONLY_HEADINGS = NOTHING | {"headings": 10.0}


@pytest.mark.parametrize(
    ("stage", "says", "scores", "seen"),
    [
        (None, "root score 10.0 is above the threshold 7", {}, {}),
        (
            "not_attempted",
            "nothing was tried in 1 turn: no tool was called, no file left and no answer given",
            NOTHING,
            {"calls": [("finish", None)], "files": [], "answer": " ", "turns": 1},
        ),
        ("plan", "no tool was called in 3 turns", NOTHING, {"calls": [], "files": []}),
        (
            "plan",
            "no tool was called in 1 turn",
            NOTHING,
            {"calls": [("finish", None)], "files": [], "turns": 1},
        ),
        (
            "plan",
            "none of 2 tool calls named a known tool with readable arguments, first: Reader:",
            NOTHING,
            {"calls": [("Reader", UNKNOWN), ("ReadCSV", BAD)], "files": []},
        ),
        (
            "plan",
            "the only tool call named no known tool with readable arguments: Reader:",
            NOTHING,
            {"calls": [("Reader", UNKNOWN)], "files": []},
        ),
        (
            "execute",
            "the only tool call failed: ReadPDF: ReadPDF could not do it",
            NOTHING,
            {"calls": [("ReadPDF", REFUSED)], "files": []},
        ),
        (
            "plan",
            "2 tool calls, none of them toward plan.xlsx, memo.docx",
            NOTHING,
            {"calls": [READ, READ], "files": [], "ending": Ending.OUT_OF_TURNS},
        ),
        (
            "execute",
            "3 of 4 tool calls failed, first: ReadXLSX: ReadXLSX could not do it",
            NOTHING,
            {"calls": [READ, *[("ReadXLSX", REFUSED)] * 3], "files": []},
        ),
        (
            "execute",
            "the last tool call failed: DocxFileGenerator:",
            NOTHING,
            {"calls": [READ, WRITE, ("DocxFileGenerator", BAD)], "files": ["plan.xlsx"]},
        ),
        (
            "execute",
            "the trial ended out of turns without memo.docx",
            NOTHING,
            {"calls": [READ, WRITE], "files": ["plan.xlsx"], "ending": Ending.OUT_OF_TURNS},
        ),
        (
            "handoff",
            "what was not delivered cost 5.0 of the 5.0 points lost, after 2 tool calls",
            NO_BUDGET,
            {"files": ["Plan.xlsx", "memo.docx"]},
        ),
        (
            "handoff",
            "what was not delivered cost 5.0 of the 5.0 points lost",
            NO_BUDGET,
            {"unreadable": ["plan.xlsx"]},
        ),
        ("refine", "3 of 5 scored leaves hold", {"totals": 0.0, "facts": 0.0}, {}),
        ("reason", "most of what was asked for was delivered, but only 1 of 5", ONLY_HEADINGS, {}),
        # One of five calls failed on the way and everything was delivered: not execution.
        (
            "reason",
            "only 1 of 5 scored leaves hold",
            ONLY_HEADINGS,
            {"calls": [READ, READ, READ, WRITE, ("ReadPDF", REFUSED)]},
        ),
    ],
)
def test_stage(see: See, stage: str | None, says: str, scores: dict, seen: dict):
    diagnosis = diagnose("t1", see(scores, **seen))

    assert diagnosis.stage == stage
    assert says in diagnosis.evidence[0]
    assert (diagnosis.type is None) == (stage is None)
    assert diagnosis.labeller == "rules@4"


@pytest.mark.parametrize(
    ("levels", "scores", "seen"),
    [
        ("", {}, {}),
        ("", {"tone": None}, {}),
        ("A", {"totals": 6.0}, {}),
        ("AB", {"facts": 0.0}, {}),
        ("AC", {"sheets": 6.0, "totals": 8.0}, {}),
        ("ABC", {"headings": 0.0}, {}),
        ("C", {}, {"unreadable": ["memo.docx"]}),
        ("AC", NOTHING, {"files": [], "calls": []}),
    ],
)
def test_levels_are_each_told_by_themselves(see: See, levels: str, scores: dict, seen: dict):
    found = diagnose("t1", see(scores, **seen)).levels

    told = {"A": found.leaf, "B": found.composition, "C": found.deliverable}
    assert "".join(level for level, yes in told.items() if yes) == levels


def test_every_check_that_tells_a_type_is_in_the_check_library():
    assert set(check_library()) >= FORM_CHECKS | FACT_CHECKS


def typed(see: See, task: Task, checks: dict[str, tuple[str, str]], **seen: object) -> Diagnosis:
    leaves = tuple(
        Checkpoint(
            id=leaf_id,
            requirement=requirement,
            verifier=Check(name=name, deliverable="plan.xlsx"),
        )
        for leaf_id, (name, requirement) in checks.items()
    )
    tree = Checkpoint(id="root", requirement="all", children=leaves)
    changed = task.model_copy(update={"checkpoints": tree})
    scores = {leaf_id: 0.0 if leaf_id.startswith("bad") else 10.0 for leaf_id in checks}
    return diagnose("t1", see(scores, task=changed, **seen))


@pytest.mark.parametrize(
    ("check", "requirement", "expected"),
    [
        ("xlsx_sheets", "There is a sheet per region.", FailureType.FORMATTING),
        ("xlsx_table", "The totals are right.", FailureType.CONTENT_SYNTHESIS),
        ("text_contains", "The contract's end date is named.", FailureType.DATA_EXTRACTION),
        ("text_contains", "The recommendation weighs cost.", FailureType.REASONING),
    ],
)
def test_the_type_is_told_by_the_check_and_the_requirement(
    see: See, trip_task: Task, check: str, requirement: str, expected: FailureType
):
    diagnosis = typed(
        see, trip_task, {"bad": (check, requirement), "good": ("headings", "It has headings.")}
    )

    assert diagnosis.type is expected


def test_the_type_that_cost_most_points_wins(see: See, trip_task: Task):
    table, sheet = ("xlsx_table", "The sums are right."), ("xlsx_sheets", "Sheets are there.")

    diagnosis = typed(see, trip_task, {"bad-1": sheet, "bad-2": table, "bad-3": table})

    assert diagnosis.type is FailureType.CONTENT_SYNTHESIS


def test_what_is_there_under_no_name_was_not_attempted_and_has_no_other_type(
    see: See, trip_task: Task
):
    sheets = {"bad-1": ("xlsx_sheets", "A sheet per region."), "bad-2": ("xlsx_table", "Sums.")}

    missing = typed(see, trip_task, sheets, files=["memo.docx"])
    idle = typed(see, trip_task, sheets, files=[], calls=[], answer="")

    assert (missing.stage, missing.type) == (FailureStage.HANDOFF, FailureType.NOT_ATTEMPTED)
    assert idle.type is FailureType.NOT_ATTEMPTED


@pytest.mark.parametrize(
    "seen",
    [
        {"files": ["Plan.xlsx", "memo.docx"]},
        {"unreadable": ["plan.xlsx"]},
        {"files": ["memo.docx"], "rejected": ["plan.xlsx is a link"]},
    ],
)
def test_what_arrived_spoilt_is_a_formatting_failure(see: See, trip_task: Task, seen: dict):
    tables = {"bad-1": ("xlsx_table", "Sums."), "bad-2": ("xlsx_table", "Means.")}
    assert typed(see, trip_task, tables, **seen).type is FailureType.FORMATTING


def test_what_did_not_arrive_is_a_formatting_failure_only_where_the_handoff_failed(
    see: See, trip_task: Task
):
    tables = {"bad-1": ("xlsx_table", "Sums."), "bad-2": ("xlsx_table", "Means.")}

    lost = typed(see, trip_task, tables, files=["Plan.xlsx", "memo.docx"])
    broken = typed(
        see,
        trip_task,
        tables,
        files=["Plan.xlsx", "memo.docx"],
        calls=[("XlsxFileGenerator", REFUSED)],
    )

    assert (lost.stage, lost.type) == (FailureStage.HANDOFF, FailureType.FORMATTING)
    assert (broken.stage, broken.type) == (FailureStage.EXECUTE, FailureType.CONTENT_SYNTHESIS)


@pytest.mark.parametrize(
    ("stage", "scores", "seen"),
    [
        ("handoff", NO_BUDGET, {"files": ["Plan.xlsx", "memo.docx"]}),
        ("refine", {"totals": 0.0, "facts": 0.0}, {}),
        ("reason", ONLY_HEADINGS, {}),
        ("execute", NO_BUDGET, {"files": ["memo.docx"], "ending": Ending.OUT_OF_TIME}),
    ],
)
def test_tool_calls_that_nobody_saw_are_not_held_against_a_program(
    see: See, stage: str, scores: dict, seen: dict
):
    diagnosis = diagnose("t1", see(scores, calls=[], has_unseen_calls=True, **seen))

    assert diagnosis.stage == stage
    assert "tool" not in diagnosis.evidence[0]


@pytest.mark.parametrize(
    ("tools", "kind"),
    [(("view_file",), FailureType.FORMATTING), (("ReadCSV",), FailureType.DATA_EXTRACTION)],
)
def test_a_look_that_is_missing_is_about_form(tools: tuple[str, ...], kind: FailureType):
    leaf = Checkpoint(id="a", requirement="r", verifier=ToolResultCheck(tools=tools))
    assert leaf_type(leaf) is kind


REFUSED_BY_JUDGE = Unscored.NO_VERDICT


@pytest.mark.parametrize(
    ("scores", "stage", "says"),
    [
        # The judged leaf is a sixth of the root.
        ({"tone": REFUSED_BY_JUDGE}, None, "root score 8.3 is above the threshold 7"),
        (
            {"tone": REFUSED_BY_JUDGE, "facts": REFUSED_BY_JUDGE},
            None,
            "what was scored is above the threshold 7, but not enough was",
        ),
        (
            dict.fromkeys(("tone", "facts", "headings", "totals")),
            None,
            "not decided: only 25% of the task was scored in this run",
        ),
        (ONLY_HEADINGS | {"tone": REFUSED_BY_JUDGE}, "reason", "only 1 of 4 scored leaves hold"),
    ],
)
def test_a_trial_that_is_not_known_to_have_failed_has_no_label(
    see: See, scores: dict, stage: str | None, says: str
):
    diagnosis = diagnose("t1", see(scores))

    assert diagnosis.stage == stage
    assert says in diagnosis.evidence[0]


def test_evidence_says_how_far_missing_verdicts_leave_the_score_open(see: See):
    evidence = diagnose("t1", see(ONLY_HEADINGS | {"tone": REFUSED_BY_JUDGE})).evidence

    assert evidence[1] == ("1 leaf got no verdict, which leaves the root score between 1.7 and 3.3")


def test_an_answer_that_was_not_given_is_no_wrong_extraction(see: See, trip_task: Task):
    leaf = Checkpoint(id="root", requirement="The date.", verifier=Check(name="answer_contains"))
    atomic = trip_task.model_copy(update={"deliverables": (), "checkpoints": leaf})
    silent = {"scores": {"root": 0.0}, "task": atomic, "files": (), "answer": ""}

    idle = diagnose("t1", see(**silent, calls=[]))
    looked = diagnose("t1", see(**silent, calls=[READ], ending=Ending.OUT_OF_TURNS))

    assert (idle.stage, idle.type) == ("not_attempted", "not_attempted")
    # Reading is a step toward an answer; the limit ended the work before it was given.
    assert (looked.stage, looked.type) == (FailureStage.EXECUTE, "not_attempted")
    assert looked.evidence[0] == "the trial ended out of turns without a final answer"
    assert "no final answer was given" in looked.evidence


@pytest.mark.parametrize(
    ("files", "calls", "stage", "says"),
    [
        ([], [READ, READ], "plan", "2 tool calls, none of them toward any file"),
        ([], [READ, ("python_execute", None)], "execute", "ended out of turns without any file"),
        (["clean.csv"], [READ], "reason", "only 0 of 1 scored leaves hold"),
    ],
)
def test_where_only_a_program_knows_the_files_any_file_may_be_meant(
    see: See, trip_task: Task, files: list[str], calls: list, stage: str, says: str
):
    leaf = Checkpoint(id="root", requirement="r", verifier=ScriptCheck(entry="main.py"))
    guests = InputFile(path="guests.csv", sha256="a" * 64, size_bytes=1)
    changes = {"deliverables": (), "checkpoints": leaf, "files": (guests,)}
    task = trip_task.model_copy(update=changes)
    # The input lies in the output folder, and the agent did not change it.
    there = {"task": task, "files": ["guests.csv", *files], "ending": Ending.OUT_OF_TURNS}

    found = diagnose("t1", see({"root": 0.0}, calls=calls, answer="", **there))

    assert found.stage == stage
    assert says in found.evidence[0]
    assert ("no file was left" in found.evidence) is (not files)
    assert (found.type == "not_attempted") is (not files)


def test_the_final_state_of_a_service_is_no_work_of_the_agents(see: See, trip_task: Task):
    database = PostgresqlService(name="shop")
    around = TaskEnvironment(services=(database,))
    served = trip_task.model_copy(update={"environment": around})
    state = [f"{FOLDER}/shop/tables.json"]

    idle = diagnose("t1", see(NOTHING, task=served, files=state, calls=[], answer=""))

    assert idle.stage is FailureStage.NOT_ATTEMPTED


def test_evidence_names_files_and_the_costliest_leaves(see: See):
    evidence = diagnose("t1", see(NO_BUDGET, files=["Plan.xlsx", "memo.docx"])).evidence

    assert "deliverable plan.xlsx is missing" in evidence
    assert "Plan.xlsx was delivered, of the type of a missing one" in evidence
    assert "leaf totals scored 0.0 of 10: The totals are right." in evidence


def test_an_atomic_task_that_was_answered_wrongly_after_its_tools_failed_is_execution(
    see: See, trip_task: Task
):
    leaf = Checkpoint(id="root", requirement="r", verifier=Check(name="answer_number"))
    atomic = trip_task.model_copy(update={"deliverables": (), "checkpoints": leaf})

    wrong = {"scores": {"root": 0.0}, "task": atomic, "files": (), "answer": "41"}
    failed = diagnose("t1", see(**wrong, calls=[("ReadPDF", REFUSED)]))
    worked = diagnose("t1", see(**wrong, calls=[("ReadPDF", None)]))

    assert failed.stage is FailureStage.EXECUTE
    assert worked.stage is FailureStage.REASON


def test_a_missing_file_that_cost_little_is_not_what_the_trial_died_of(see: See, trip_task: Task):
    leaves = tuple(
        Checkpoint(id=name, requirement="r", verifier=Check(name="xlsx_table", deliverable=file))
        for name, file in (("a", "plan.xlsx"), ("b", "memo.docx"), ("c", "memo.docx"))
    )
    tree = Checkpoint(id="root", requirement="all", children=leaves)
    task = trip_task.model_copy(update={"checkpoints": tree})

    diagnosis = diagnose("t1", see(dict.fromkeys("abc", 0.0), task=task, files=["memo.docx"]))

    assert diagnosis.stage is FailureStage.REASON
    assert diagnosis.levels.deliverable


def test_half_of_the_leaves_are_not_most(see: See, trip_task: Task):
    facts = {"bad": ("text_contains", "The date."), "ok": ("xlsx_cells", "The table was read.")}
    assert typed(see, trip_task, facts).stage is FailureStage.REASON


def test_where_no_rule_fits_the_stage_is_undetermined(see: See, trip_task: Task):
    form = {"bad1": ("xlsx_sheets", "r"), "bad2": ("xlsx_columns", "r"), "ok": ("xlsx_cells", "r")}
    found = typed(see, trip_task, form)
    assert (found.stage, found.type) == (FailureStage.UNDETERMINED, FailureType.FORMATTING)
    assert "no signal says at which stage" in found.evidence[0]
