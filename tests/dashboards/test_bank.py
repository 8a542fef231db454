"""The page of a release: everything in its place, small, and deaf to what a seed or model wrote."""

import json
from datetime import UTC, datetime

import pytest
from bs4 import BeautifulSoup

from dashboards.bank import BANK_BYTES, build_bank
from dashboards.pages.page import packed_plotly
from dashboards.visible_text import visible
from taskdata.schema.agent import ModelSpec
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    Origin,
    Refresh,
    RefreshConfig,
    RefreshStatus,
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
from taskdata.schema.release import Lineage, ReferenceKind, ReleaseNotes, TaskChange
from taskdata.schema.requirement import ExplicitRequirement
from taskdata.schema.review import ChecklistItem, ItemAgreement, ItemAnswer, ReviewAgreement
from taskdata.schema.rewriting import Increase, RewriteMagnitude, RewritingTable, SourceOutcomes
from taskdata.schema.run import StageReport
from taskdata.schema.statistics import BankStatistics, Spread
from taskdata.schema.task import Tier
from taskdata.schema.withdrawal import Withdrawal

NIGHT = datetime(2026, 3, 1, 22, tzinfo=UTC)
POISON = (
    "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    "**bold** [x](javascript:window.pwned=1) {{7*7}} \u202egnp &lt;b&gt;%{x}"
)


@pytest.fixture
def refresh(store) -> Refresh:
    """A refresh whose candidates came to every kind of end."""
    refresh = Refresh(
        id="refresh-1",
        status=RefreshStatus.RUNNING,
        config=RefreshConfig(model=ModelSpec(provider="openai", model="gpt-5.2")),
        code_version="test",
        created_at=NIGHT,
    )
    store.add_refresh(refresh)
    for number, (stage, status, reason) in enumerate(
        [
            (Construction.REVIEW, CandidateStatus.RELEASED, "office@2"),
            (Construction.CLASSIFY, CandidateStatus.DELETED, "asks for a private account"),
            (Construction.PROVE, CandidateStatus.QUARANTINED, POISON),
            (Construction.REVIEW, CandidateStatus.OPEN, ""),
            (Construction.GENERATE, CandidateStatus.OPEN, ""),
        ]
    ):
        add_candidate(store, number, stage, status, reason)
    store.record_refresh_stage(
        StageReport(stage="generate", run_id="refresh-1", due=5, done=5, seconds=61)
    )
    return refresh


def add_candidate(store, number: int, stage: Construction, status: CandidateStatus, reason: str):
    candidate = Candidate(
        id=f"c{number}",
        refresh_id="refresh-1",
        task_id=f"made-{number}",
        tier=Tier.WORKFLOW,
        origin=Origin.SEED,
        stage=stage,
        status=status,
        reason=reason,
    )
    store.add_candidates([candidate])


@pytest.fixture
def new_notes(store, new_task):
    """Make the notes of a release of one task; what is not given is that of a bundled bank."""

    def make(title: str = "Sum two numbers", **known: object) -> ReleaseNotes:
        task = new_task("sum-two", title=title)
        release = store.add_release("office", [task], {})
        entry = Lineage(
            task_id=task.id, task_hash=task.content_hash, proof="unproven", origin="base"
        )
        fields = {
            "release_hash": release.hash,
            "bank": "office",
            "version": 2,
            "snapshot_sha256": "a" * 64,
            "statistics": BankStatistics(
                tasks=1,
                tools={"python_execute": 1},
                categories={"data_analysis": 1, "creative_design": 0},
                difficulties={"short": 0, "medium": 0, "long": 1},
                sources={"internal": 1},
                checkable_share=1.0,
                leaves=Spread(total=3, least=3, median=3, most=3),
                minutes=Spread(total=20, least=20, median=20, most=20),
                steps=Spread(total=7, least=1, median=3.5, most=6),
            ),
            "lineage": (entry,),
            "created_at": NIGHT,
        }
        return ReleaseNotes.model_validate(fields | known)

    return make


@pytest.fixture
def made_notes(new_notes, refresh) -> ReleaseNotes:
    """The notes of a release that a refresh made."""
    notes = new_notes(previous_hash="b" * 64, refresh_id=refresh.id)
    made = {
        "proof": "proven",
        "origin": "seed",
        "seed_id": "5eed5eed5eed5eed",
        "seed_source": "reddit",
        "candidate_id": "c0",
        "refresh_id": refresh.id,
        "prompts": ("generate@1", "classify@2"),
        "models": ("gpt-5.2-2026",),
        "reviewer": "kirsten",
        "reference": ReferenceKind.STRONGER_MODEL,
    }
    changes = (
        TaskChange(task_id="new", kind="added", why="seed in refresh-1"),
        TaskChange(task_id="old", kind="removed", why="no longer there"),
        TaskChange(task_id="sum-two", kind="changed", fields=("title", "human_minutes")),
    )
    lineage = (notes.lineage[0].model_copy(update=made),)
    return notes.model_copy(update={"lineage": lineage, "changes": changes})


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


def outcomes(source: str, **counts: int) -> SourceOutcomes:
    names = set(SourceOutcomes.model_fields) - {"source"}
    return SourceOutcomes.model_validate(dict.fromkeys(names, 0) | counts | {"source": source})


def table_of(*sources: str) -> RewritingTable:
    counts = {"initial": 9, "augmentation": 3, "refinement": 2, "passed": 4, "final": 7}
    return RewritingTable(
        sources=tuple(outcomes(source, **counts) for source in sources),
        total=outcomes("all", **counts | {"unclassified": 1}),
        magnitudes=tuple(
            RewriteMagnitude(
                source=source,
                kind="augmentation",
                tasks=3,
                constraints=Increase(mean=1.5, percent=37.5),
                deliverable_requirements=Increase(mean=-0.25, percent=-12),
                tools=Increase(mean=2, percent=None),
            )
            for source in (*sources, None)
        ),
    )


def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup(page, "html.parser")


def cells(page: str, region: str) -> list[list[str]]:
    rows = soup(page).select(f'[aria-label="{region}"] tr')
    return [[c.get_text(" ", strip=True) for c in row.find_all(["th", "td"])] for row in rows][1:]


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


def test_no_poison_becomes_markup(store, made_notes, new_notes):
    """The poisoned page has exactly the kinds of elements and the scripts that a clean one has."""
    clean = soup(build_bank(store, made_notes, table_of("reddit")))
    dirty = new_notes(title=POISON).model_copy(
        update={
            "refresh_id": "refresh-1",
            "changes": tuple(c.model_copy(update={"why": POISON}) for c in made_notes.changes),
            "statistics": BankStatistics(tasks=1, sources={POISON: 1}, tools={POISON: 1}),
        }
    )
    names = ("origin", "seed_id", "seed_source", "candidate_id", "reviewer")
    entry = dirty.lineage[0].model_copy(
        update=dict.fromkeys(names, POISON) | {"prompts": (POISON,), "models": (POISON,)}
    )
    dirty = dirty.model_copy(update={"lineage": (entry,)})
    html = build_bank(store, dirty, table_of(POISON))
    page = soup(html)
    assert {e.name for e in page.find_all(True)} <= {e.name for e in clean.find_all(True)}
    assert _scripts(page) == _scripts(clean)
    assert page.find("meta", attrs={"http-equiv": "Content-Security-Policy"}) == clean.find(
        "meta", attrs={"http-equiv": "Content-Security-Policy"}
    )
    for element in page.find_all(True):
        assert not [name for name in element.attrs if name.startswith("on")]
    assert {a["href"][:1] for a in page.find_all("a")} == {"#"}
    assert page.select_one("#lineage th small").get_text() == visible(POISON)
    assert page.select_one("#changes td.long").get_text() == visible(POISON)
    assert cells(html, "Outcomes by source")[0][0] == visible(POISON)
    assert "\u202e" not in html


def _scripts(page: BeautifulSoup) -> list[str]:
    return [script.string for script in page.find_all("script") if not script.get("type")]


def test_no_source_is_markup_in_a_figure(store, new_notes, data_of):
    statistics = BankStatistics(tasks=1, sources={"<b>%{x}</b>": 1})
    figures = data_of(build_bank(store, new_notes(statistics=statistics)), "figures")
    (name,) = figures["sources"]["layout"]["yaxis"]["ticktext"]
    assert name == "&lt;b&gt;%{x}&lt;/b&gt; "
    assert figures["sources"]["data"][0]["customdata"] == [["&lt;b&gt;%{x}&lt;/b&gt;", 1]]


def test_nothing_is_loaded_from_anywhere(store, made_notes):
    page = soup(build_bank(store, made_notes))
    for element in page.find_all(True):
        for name in ("src", "href", "srcset", "data", "action", "poster", "background"):
            if name in element.attrs:
                assert element[name].startswith("#") or element[name] == "data:,"


def test_a_large_bank_shows_its_first_rows_and_says_so(store, made_notes):
    lineage = made_notes.lineage * 10_000
    changes = tuple(
        TaskChange(task_id=f"task-{i}", kind="added", why="came with import") for i in range(10_000)
    )
    counts = {f"source {i}": 1 for i in range(30)}
    notes = made_notes.model_copy(
        update={
            "lineage": lineage,
            "changes": changes,
            "statistics": BankStatistics(tasks=10_000, sources=counts),
        }
    )
    html = build_bank(store, notes, plotly="../plotly.js")
    page = soup(html)
    assert len(html.encode()) <= BANK_BYTES
    assert len(cells(html, "Lineage of the tasks")) == 1_000
    assert "The first 1,000 of 10,000 tasks." in page.find(id="lineage").get_text()
    assert "The first 1,000 of 10,000 changes." in page.find(id="changes").get_text()
    assert "The 20 most frequent of 30." in page.find(id="statistics").get_text()


def test_long_texts_cost_rows_and_never_the_limit(store, made_notes):
    changes = tuple(
        TaskChange(task_id=f"task-{i}", kind="added", why="\u202e" * 500) for i in range(2_000)
    )
    html = build_bank(store, made_notes.model_copy(update={"changes": changes}))
    assert len(html.encode()) <= BANK_BYTES + len(packed_plotly())
    assert "The first 100 of 2,000 changes." in soup(html).find(id="changes").get_text()
    assert cells(html, "Changelog")[0][2] == "⟨U+202E⟩" * 400 + "…"


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
    assert _scripts(page) == _scripts(clean)
    assert page.find("img") is None


def test_the_page_of_a_hundred_tasks_takes_less_than_a_megabyte(store, made_notes):
    lineage = believed(made_notes, "word " * 100).lineage * 100
    changes = made_notes.changes * 34
    notes = made_notes.model_copy(update={"lineage": lineage, "changes": changes})
    html = build_bank(store, notes, plotly="../plotly.js")
    assert len(html.encode()) <= BANK_BYTES
    assert "The first" not in html
