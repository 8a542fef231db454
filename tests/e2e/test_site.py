"""The pages over many nights in a real browser, opened from files: nothing that others wrote runs,
and what a figure shows can be had as a table, a CSV file and a picture, by keyboard alone."""

import csv
import hashlib
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dashboards.site.write import write_site
from taskdata.schema.estimate import Estimate
from taskdata.schema.night import (
    ClusterChange,
    ErrorChange,
    FailureCluster,
    Morning,
    Night,
    NightCell,
    NightSettings,
    NightTask,
    NightTool,
    ScoreChange,
)
from taskdata.schema.summary import (
    AgentSummary,
    GainOverNone,
    RefinementGain,
    Regressions,
    RunHeader,
    RunSummary,
    WholeBank,
)

pytestmark = pytest.mark.browser

ATTACK = (
    "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    '<a href="javascript:window.pwned=1">x</a>\u202egnp.exe'
)
FORMULA = '=HYPERLINK("http://evil.example","total")'
AGENTS = (f"react:{ATTACK}", FORMULA, "+plus", "-minus", "@at")
PAGES = (
    "index.html",
    "trends.html",
    "leaderboard.html",
    "failures.html",
    "tasks.html",
    "nights.html",
)


def hostile_night(place: int) -> Night:
    """A night in which everything that others may name carries an attack."""
    bank = f"{ATTACK}@1"
    tasks = tuple(
        NightTask(
            task_id=f"{ATTACK}{number}",
            task_hash=hashlib.sha256(b"task").hexdigest(),
            title=ATTACK,
            tier="workflow",
            category=ATTACK,
            capabilities=(ATTACK, f"2{ATTACK}", f"3{ATTACK}"),
            deliverable_types=(ATTACK,),
            leaves=3,
        )
        for number in range(2)
    )
    cells = tuple(
        NightCell(
            agent=agent,
            task_id=task.task_id,
            trial_ids=(ATTACK,),
            scores=(float(5 + place + rank),),
            successes=(rank > 1,),
        )
        for rank, agent in enumerate(AGENTS)
        for task in tasks
    )
    return Night(
        run_id=f"{place}{ATTACK}",
        created_at=datetime(2026, 3, 1 + place, 2, tzinfo=UTC),
        finished_at=datetime(2026, 3, 1 + place, 2, tzinfo=UTC) + timedelta(hours=1),
        status=ATTACK,
        settings=NightSettings(
            bank=bank,
            release_hash=hashlib.sha256(b"release").hexdigest(),
            judge=ATTACK,
            threshold=7,
            min_coverage=0.5,
            sandbox=ATTACK,
            repetitions=1,
            refinement_rounds=0,
            code_version=ATTACK,
            agents=dict.fromkeys(AGENTS, "0" * 64),
        ),
        tasks=tasks,
        cells=cells,
        clusters=(cluster(),),
        tools=tuple(
            NightTool(
                agent=agent,
                tool=ATTACK,
                category=ATTACK,
                trials=1,
                calls=3,
                errors={ATTACK: 1, "refused": 1},
            )
            for agent in AGENTS
        ),
        error_causes={ATTACK: 1},
        gates={ATTACK: False},
    )


def cluster() -> FailureCluster:
    return FailureCluster(
        key=ATTACK,
        title=ATTACK,
        stage=ATTACK,
        type=ATTACK,
        trials=1,
        agents=(AGENTS[0],),
        tasks=(ATTACK,),
        example=ATTACK,
    )


def hostile_morning(night: Night, before: Night) -> Morning:
    changes = [
        ScoreChange(
            agent=agent,
            scope=scope,
            tasks=2,
            before=5,
            after=6,
            difference=Estimate(mean=1, ci95=(0.5, 1.5), n=2),
            p_value=0.01,
            verdict="confirmed",
            confirmed_by=ATTACK,
            after_trials=(ATTACK,),
        )
        for agent in AGENTS
        for scope in ("all", f"category {ATTACK}", f"task {ATTACK}")
    ]
    return Morning(
        run_id=night.run_id,
        baseline=(before.run_id,),
        differs={ATTACK: (ATTACK, ATTACK)},
        changes=tuple(changes),
        clusters=(ClusterChange(cluster=cluster(), change="new", first_seen=ATTACK, nights=1),),
        errors=(ErrorChange(cause=ATTACK, before=0, after=1),),
        false_alarm_rate=0.05,
        notes=(ATTACK,),
    )


def summary_of(night: Night) -> RunSummary:
    settings = night.settings
    share = Estimate(mean=0.5, ci95=(0.4, 0.6), n=2)
    agents = [
        AgentSummary(
            agent=agent,
            trials=2,
            scored=2,
            errors=0,
            pending=0,
            root_score=Estimate(mean=6, ci95=(5, 7), n=2),
            root_sr=0.5,
            root_sr_ci95=(0.4, 0.6),
            root_sr_at={"7": 0.5},
            pass_at_k={"1": share, "2": share},
            pass_hat_k={"1": share, "2": share},
            leaf_sr=0.5,
            tool_sr=0.5,
            coverage=1,
            capability_sr={},
            category={},
            deliverable_type={},
            tier={},
            cost_usd=1,
            wall_s=1,
            turns=1,
            tokens=1,
            score_per_usd=1,
            failures={"stage": {ATTACK: 1}, "type": {ATTACK: 1}, "level": {ATTACK: 1}},
        )
        for agent in AGENTS
    ]
    gain = RefinementGain(
        agent=AGENTS[0],
        round=1,
        arm=ATTACK,
        trials=2,
        attempts=2,
        errors=0,
        mean_before=5,
        mean_after=6,
        relative=0.2,
        success_before=share,
        success_after=share,
        gain=share,
        over_none=GainOverNone(difference=share, p_value=0.5, p_holm=0.5),
        cost_usd=1,
        cost_per_point_usd=1,
        no_cost_per_point=None,
        regressions=Regressions(worse=0, leaves=2, share=share),
        whole_bank=WholeBank(
            trials=2,
            refined=2,
            first=5,
            after=share,
            success_first=share,
            success_after=share,
            gain=share,
        ),
    )
    header = RunHeader(
        id=night.run_id,
        status=night.status,
        bank=settings.bank,
        release_hash=settings.release_hash,
        code_version=settings.code_version,
        created_at=night.created_at,
        finished_at=night.finished_at,
        threshold=7,
        judge=settings.judge,
        sandbox=settings.sandbox,
        repetitions=2,
        refinement_rounds=1,
        tasks=2,
    )
    return RunSummary(run=header, agents=tuple(agents), refinement=(gain,))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of two nights in which everything is an attack."""
    folder = tmp_path_factory.mktemp("home") / "site"
    nights = [hostile_night(0), hostile_night(1)]
    morning = hostile_morning(nights[1], nights[0])
    write_site(folder, nights, {morning.run_id: morning}, summary_of(nights[1]))
    return folder


@pytest.fixture
def tab(browser) -> Iterator[object]:
    """A page of the browser that remembers what it asked for and what went wrong."""
    with browser.new_page() as page:
        page.set_default_timeout(120_000)  # a busy machine takes that long to read Plotly
        page.problems, page.asked = [], []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda said: page.problems.append(said.text))
        page.on("request", lambda request: page.asked.append(request.url))
        yield page


def shown(tab, path: Path) -> None:
    """Open a page and draw every figure of it, wherever it is."""
    tab.goto(path.as_uri())
    for place in range(tab.locator("[data-figure]").count()):
        figure = tab.locator("[data-figure]").nth(place)
        figure.scroll_into_view_if_needed()
        figure.locator("svg.main-svg").first.wait_for()


def test_nothing_that_others_wrote_runs_or_loads(tab, site):
    pages = [*(site / name for name in PAGES), *(site / "tasks").iterdir()]
    for path in pages:
        shown(tab, path)
        for button in tab.get_by_role("button", name="Table").all():
            button.click()
        assert tab.evaluate("window.pwned") is None, path
        assert tab.locator("main img, main a[href^='javascript']").count() == 0, path
        assert "\u202e" not in tab.locator("body").inner_text(), path
    assert tab.problems == []
    assert {url.split(":")[0] for url in tab.asked} <= {"file", "data", "blob"}


def test_a_csv_file_has_no_formula_and_every_number(tab, site):
    shown(tab, site / "trends.html")
    csv_button = tab.get_by_role("button", name="CSV").first
    csv_button.focus()
    with tab.expect_download() as download:
        tab.keyboard.press("Enter")
    assert download.value.suggested_filename == "trends-score.csv"
    head, *rows = csv.reader(io.StringIO(Path(download.value.path()).read_text("utf-8")))
    assert not [name for name in head if name[:1] in "=+-@"]
    assert [name for name in head if name[:1] == "'"] == [f"'{agent}" for agent in AGENTS[1:]]
    assert [row[3:] for row in rows] == [["5", "6", "7", "8", "9"], ["6", "7", "8", "9", "10"]]


def test_a_figure_is_a_picture_and_a_table_by_keyboard_alone(tab, site):
    shown(tab, site / "trends.html")
    tab.get_by_role("button", name="PNG").first.focus()
    with tab.expect_download() as download:
        tab.keyboard.press("Enter")
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    table = tab.get_by_role("button", name="Table").first
    table.focus()
    tab.keyboard.press("Space")
    assert table.get_attribute("aria-expanded") == "true"
    tab.keyboard.press("Tab")  # CSV
    tab.keyboard.press("Tab")  # PNG
    tab.keyboard.press("Tab")  # the table, which scrolls
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.getAttribute('href')").startswith("nights/")


def test_figures_are_drawn_for_paper_and_again_for_the_screen(tab, site):
    shown(tab, site / "failures.html")
    width = "Array.from(document.querySelectorAll('.main-svg'), (svg) => svg.clientWidth)"
    wide = tab.evaluate(width)
    assert max(wide) > 700
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert set(tab.evaluate(width)) == {700}
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    tab.wait_for_function(f"Math.max(...{width}) > 700")


def test_a_click_on_a_point_opens_its_night(tab, site):
    shown(tab, site / "trends.html")
    tab.locator("[data-figure=score] .point").last.click(force=True)
    tab.wait_for_url("**/nights/*.html")
    assert tab.get_by_role("heading", level=1).inner_text().startswith("The night of 2026-03-02")


def test_two_agents_are_chosen_for_one_night(tab, site):
    shown(tab, next((site / "tasks").iterdir()))
    form = tab.locator("[data-side-by-side]")
    form.locator("select[name=left]").select_option("+plus")
    form.locator("select[name=right]").select_option("@at")
    assert form.get_by_role("link").get_attribute("href").endswith("?%2Bplus&%40at")
