"""The page of a release: everything in its place, small, and deaf to what a seed or model wrote."""

import json

from bs4 import BeautifulSoup

from dashboards.bank import BANK_BYTES, build_bank
from dashboards.visible_text import visible
from taskdata.schema.construct import (
    ReviewDecision,
)
from taskdata.schema.estimate import Estimate
from taskdata.schema.evidence import (
    Adversaries,
    CheatPaid,
    SafetyFinding,
    TaskEvidence,
)
from taskdata.schema.gate import GateFailure, GateLevel, GateResult
from taskdata.schema.quarantine import QuarantineDecision
from taskdata.schema.release import ReferenceKind, ReleaseNotes
from taskdata.schema.requirement import ExplicitRequirement
from taskdata.schema.review import ChecklistItem, ItemAgreement, ItemAnswer, ReviewAgreement
from taskdata.schema.withdrawal import Withdrawal
from tests.dashboards.bank.pages import NIGHT, POISON, cells, outcomes, scripts, soup, table_of


def test_the_page_states_difficulty_by_minutes_leaves_and_steps(store, new_notes):
    page = BeautifulSoup(build_bank(store, new_notes()), "html.parser")
    facts = {dt.get_text(): dt.find_next("dd").get_text() for dt in page.select("dl.facts dt")}
    assert facts["Minutes for a person"] == "20 to 20, median 20"
    assert facts["Leaves per task"] == "3 to 3, median 3"
    assert facts["Steps of a reference"] == "1 to 6, median 3.5"


def test_the_page_says_how_many_references_of_each_kind_there_are(store, new_notes):
    notes = new_notes()
    known = notes.lineage[0].model_copy(update={"reference": ReferenceKind.TWICE})
    page = BeautifulSoup(
        build_bank(store, notes.model_copy(update={"lineage": (known,)})), "html.parser"
    )
    (row,) = page.select("table.references tbody tr")
    assert [cell.text for cell in row.find_all(["th", "td"])] == [ReferenceKind.TWICE.reason, "1"]
    assert "twice" in [cell.text for cell in page.select("table.tasks tbody td")]


def test_the_page_is_one_document_with_everything_in_its_place(store, made_notes):
    page = soup(build_bank(store, made_notes, table_of("reddit")))
    assert [len(page.find_all(tag)) for tag in ("html", "head", "body", "main", "h1")] == [1] * 5
    ids = [element["id"] for element in page.find_all(id=True)]
    assert len(ids) == len(set(ids))
    links = [link["href"] for link in page.select("nav a")]
    sections = ["changes", "statistics", "construction", "gates", "evidence", "safety", "lineage"]
    assert links == [f"#{name}" for name in sections]
    for link in links:
        assert page.find(id=link[1:]) is not None
    drawn = {element["data-figure"] for element in page.find_all(attrs={"data-figure": True})}
    assert drawn == set(json.loads(page.find(id="figures").string))
    assert "timings" in drawn


def test_the_header_names_the_release_and_the_one_before(store, made_notes):
    header = soup(build_bank(store, made_notes)).header.get_text(" ", strip=True)
    for fact in ("office@2", "1, 1 proven", made_notes.release_hash[:16], "b" * 16, "refresh-1"):
        assert fact in header


def test_changes_begin_with_what_is_gone(store, made_notes):
    page = build_bank(store, made_notes)
    assert cells(page, "Changelog") == [
        ["old", "removed", "", "no longer there"],
        ["sum-two", "changed", "title, human minutes", ""],
        ["new", "added", "", "seed in refresh-1"],
    ]
    assert "1 task added, 1 changed, 1 removed." in soup(page).find(id="changes").get_text()


def test_the_lineage_names_seed_reviewer_models_and_prompts(store, made_notes):
    ((task, category, *difficulty, proof, reference, origin, reviewer, made),) = cells(
        build_bank(store, made_notes), "Lineage of the tasks"
    )
    assert task == "sum-two Sum two numbers"
    assert difficulty == ["20", "3", "–"]
    assert (category, proof, reviewer) == ("data analysis", "proven", "kirsten")
    assert (reference, origin) == ("stronger model", "seed reddit 5eed5eed5eed5eed")
    assert made == "gpt-5.2-2026 generate@1, classify@2"


def test_candidates_are_counted_and_those_not_let_through_have_reasons(store, made_notes):
    page = build_bank(store, made_notes)
    lead = soup(page).find(id="construction").p.get_text()
    for count in ("1 released", "1 deleted", "1 waiting for review", "1 at generate"):
        assert count in lead
    assert cells(page, "Candidates that were not let through") == [
        ["made-1", "seed", "deleted", "classify", "asks for a private account"],
        ["made-2", "seed", "quarantined", "prove", visible(POISON)],
    ]


def test_rewriting_is_told_by_source_and_in_all(store, made_notes):
    page = build_bank(store, made_notes, table_of("reddit"))
    assert cells(page, "Outcomes by source") == [
        ["reddit", "9", "3", "2", "0", "4", "0", "7"],
        ["All sources", "9", "3", "2", "0", "4", "1", "7"],
    ]
    added = ["augmentation", "3", "+1.50 +38\u00a0%", "−0.25 −12\u00a0%", "+2.00 –"]
    assert cells(page, "What rewriting added") == [["reddit", *added], ["All sources", *added]]


def test_unclassified_candidates_have_a_column_only_where_there_are_some(store, made_notes):
    table = table_of("reddit")
    table = table.model_copy(update={"total": outcomes("all", initial=9)})
    rows = cells(build_bank(store, made_notes, table), "Outcomes by source")
    assert rows == [["reddit", "9", "3", "2", "0", "4", "7"], ["All sources", "9", *"00000"]]


def test_gates_show_quarantine_levels_and_link_to_the_data_docs_beside(store, made_notes):
    broken = GateFailure(
        expectation="a text hides nothing",
        level=GateLevel.QUARANTINE,
        unexpected_count=2,
        rows=("made-2", "made-7"),
    )
    known = {"run_id": "refresh-1", "success": True, "rows": 9, "expectations": 4}
    store.record_bank_gate(
        GateResult(gate="seeds", quarantined=("made-2", "made-7"), failures=(broken,), **known)
    )
    store.record_bank_gate(GateResult(gate="bank", **known))
    page = build_bank(store, made_notes, data_docs={"seeds"})
    assert cells(page, "Gates") == [
        ["seeds", "held", "9", "2", "4", "open"],
        ["bank", "held", "9", "0", "4", "–"],
    ]
    assert soup(page).select_one("#gates a")["href"] == "gates/seeds.html"
    said = soup(page).select_one("#gates .notice").get_text(" ", strip=True)
    assert said == "Gate seeds quarantine a text hides nothing: 2 rows made-2 made-7"
    assert soup(build_bank(store, made_notes)).select("#gates a") == []


def test_a_release_without_a_refresh_tells_of_no_candidates(store, new_notes):
    page = soup(build_bank(store, new_notes()))
    assert page.find(id="construction") is None
    assert "the first release" in page.header.get_text()
    assert "No gate is on record." in page.find(id="gates").get_text()
    assert "Nothing differs" in page.find(id="changes").get_text()


def test_tasks_that_were_withdrawn_since_stand_first_with_their_reason(store, made_notes):
    assert soup(build_bank(store, made_notes)).find(id="withdrawn") is None
    (entry,) = made_notes.lineage
    tombstone = Withdrawal(
        task_hash=entry.task_hash,
        task_id=entry.task_id,
        bank="office",
        reason=POISON,
        withdrawn_at=NIGHT,
    )
    store.add_withdrawals([tombstone])
    page = build_bank(store, made_notes)
    ((task, _, reason),) = cells(page, "Withdrawn tasks")
    assert (task, reason) == ("sum-two", visible(POISON))
    assert [link["href"] for link in soup(page).select("nav a")][:2] == ["#withdrawn", "#changes"]


def test_an_overridden_rule_is_shown_with_its_reason_whatever_that_says(store, made_notes):
    decision = QuarantineDecision(
        item="c0",
        kind="override",
        rule="tools_named",
        found=POISON,
        reason=POISON,
        by="ada",
        at=NIGHT,
    )
    lineage = (made_notes.lineage[0].model_copy(update={"decisions": (decision,)}),)
    page = build_bank(store, made_notes.model_copy(update={"lineage": lineage}))
    (line,) = cells(page, "Overridden rules and edits")
    assert line[:3] == ["sum-two", "override", "tools_named"]
    assert line[3].startswith("</script><script>window.pwned=1</script>")
    assert "ada" in line[4]
    assert soup(page).find("img", src="x") is None
    assert "1 task with a rule that a person let pass" in soup(page).header.get_text(
        " ", strip=True
    )
    assert "Overridden" not in build_bank(store, made_notes)


def evidence_of(text: str, reviews: int = 2) -> TaskEvidence:
    """Evidence of every kind, in which every text of others is `text`."""
    answers = tuple(
        ItemAnswer(item=item, answer="unsure" if item == "realistic" else "yes", note=text[:300])
        for item in ChecklistItem
    )
    return TaskEvidence(
        adversaries=Adversaries(
            cheats=(
                CheatPaid(name="everything dumped", score=1.25),
                CheatPaid(name=text[:80], score=2.5),
                CheatPaid(name="skeleton", score=None),
            ),
            faults=4,
            noticed=3,
            unnoticed=(text,),
        ),
        coverage=(
            ExplicitRequirement(kind="file", quote="out.json", leaves=("sum",)),
            ExplicitRequirement(kind="name", quote=text[:60], leaves=()),
        ),
        safety=(
            SafetyFinding(rule="personal_data", where="draft", found="iban", became="masked"),
            SafetyFinding(rule="harm", where="gate seeds", found=text, became="overridden"),
        ),
        reviews=tuple(
            ReviewDecision(
                candidate_id="c0",
                decision="approve",
                reviewer=f"reviewer {number}",
                comment=text,
                checklist=answers,
                at=NIGHT,
            )
            for number in range(reviews)
        ),
    )


AGREEMENT = ReviewAgreement(
    reviewers=("ada", "bob"),
    tasks=9,
    items=tuple(
        ItemAgreement(
            item=item,
            tasks=9,
            agreed=8,
            pairs=9,
            kappa=Estimate(mean=mean, ci95=None if mean is None else (0.2, 0.9), n=9),
        )
        for item, mean in (("verdict", 0.55), ("rubric_right", None))
    ),
)


def believed(notes: ReleaseNotes, text: str = "plain words") -> ReleaseNotes:
    lineage = (notes.lineage[0].model_copy(update={"evidence": evidence_of(text)}),)
    return notes.model_copy(update={"lineage": lineage, "agreement": AGREEMENT})


def test_the_page_shows_cheats_coverage_safety_and_reviewers(store, made_notes):
    page = build_bank(store, believed(made_notes))
    assert cells(page, "Evidence by task") == [
        [
            "sum-two",
            "proven stronger model",
            "2.50 plain words",
            "3 of 4 not: plain words",
            "1 of 2 not: plain words",
            "personal data, harm masked, overridden",
            "reviewer 0, reviewer 1",
        ]
    ]
    assert [row[1:4] for row in cells(page, "Safety findings")] == [
        ["personal data", "masked", "draft"],
        ["harm", "overridden", "gate seeds"],
    ]
    assert cells(page, "Agreement of reviewers") == [
        ["verdict", "9", "8 of 9", "0.55 0.20 to 0.90"],
        ["rubric right", "9", "8 of 9", "undefined"],
    ]
    verdicts = cells(page, "Verdicts of reviewers")
    assert [row[1].split(" 2026")[0] for row in verdicts] == ["reviewer 0", "reviewer 1"]
    assert verdicts[0][2:4][0] == "approve"
    assert verdicts[0][3].startswith("yes to 5 of 6; realistic: unsure (plain words)")
    links = [link["href"] for link in soup(page).select("nav a")]
    assert links[-4:] == ["#evidence", "#safety", "#reviewers", "#lineage"]


def test_what_is_not_known_of_a_task_is_said(store, new_notes):
    page = build_bank(store, new_notes())
    unknown = ["not tried", "not tried", "not looked for", "not searched", "none"]
    assert cells(page, "Evidence by task") == [["sum-two", "unproven", *unknown]]
    said = soup(page).find(id="safety").get_text(" ", strip=True)
    assert "No task was searched" in said


def test_a_task_that_pays_a_cheat_too_much_stands_out(store, new_notes):
    notes = new_notes()
    paid = Adversaries(cheats=(CheatPaid(name="everything dumped", score=3.5),))
    evidence = TaskEvidence(adversaries=paid, coverage=(), is_searched=True)
    lineage = (notes.lineage[0].model_copy(update={"evidence": evidence}),)
    page = build_bank(store, notes.model_copy(update={"lineage": lineage}))
    known = ["3.50 everything dumped", "not tried", "none found", "nothing found", "none"]
    assert cells(page, "Evidence by task") == [["sum-two", "unproven", *known]]
    assert "1 task pays one more than 3" in soup(page).find(id="evidence").get_text()
    assert soup(page).select_one("#evidence td.bad").get_text().startswith("3.50")
    assert "in 1 of 1 task" in soup(page).find(id="safety").get_text()


def test_no_evidence_becomes_markup(store, made_notes):
    clean = soup(build_bank(store, believed(made_notes)))
    page = soup(build_bank(store, believed(made_notes, POISON)))
    assert {e.name for e in page.find_all(True)} == {e.name for e in clean.find_all(True)}
    assert scripts(page) == scripts(clean)
    assert page.find("img") is None


def test_the_page_of_a_hundred_tasks_takes_less_than_a_megabyte(store, made_notes):
    lineage = believed(made_notes, "word " * 100).lineage * 100
    changes = made_notes.changes * 34
    notes = made_notes.model_copy(update={"lineage": lineage, "changes": changes})
    html = build_bank(store, notes, plotly="../plotly.js")
    assert len(html.encode()) <= BANK_BYTES
    assert "The first" not in html
