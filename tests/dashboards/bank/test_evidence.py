"""The page of a release shows why its tasks can be believed, whatever the evidence says."""

from dashboards.bank import BANK_BYTES, build_bank
from taskdata.schema.construct import ReviewDecision
from taskdata.schema.estimate import Estimate
from taskdata.schema.evidence import Adversaries, CheatPaid, SafetyFinding, TaskEvidence
from taskdata.schema.release import ReleaseNotes
from taskdata.schema.requirement import ExplicitRequirement
from taskdata.schema.review import ChecklistItem, ItemAgreement, ItemAnswer, ReviewAgreement
from tests.dashboards.bank.pages import NIGHT, POISON, cells, scripts, soup


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
    assert cells(page, "Cheats and coverage") == [
        ["sum-two", "3", "2.50 plain words", "3 of 4 not: plain words", "1 of 2", "plain words"]
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
