"""The dashboard in a real browser, opened from a file with nobody to ask for anything."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dashboards.build import build
from dashboards.pages.page import PAGE_BYTES
from dashboards.run_folder import write_run_folder
from flows.failures import failures_of
from quality.summary import summarise
from taskdata.schema.diagnosis import Diagnosis, FailureLevels
from taskdata.schema.run import Trial
from taskdata.schema.scores import TrialScore
from tests.e2e.made_up_trials import outcome_of, rendered, silence, tree, views_of

pytestmark = pytest.mark.browser

SMALL = "react:local/small"
ATTACK = (
    "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    '<svg onload=window.pwned=1><a href="javascript:window.pwned=1">click</a>'
)
BAR = """all => all.map((one) => one.getBoundingClientRect()).filter((box) => box.width > 20)
    .map((box) => [box.x + 9, box.y + box.height / 2])[0]"""
"""Where one of Plotly's bars is that is not empty."""
REASON = "out.json: sum is 4, expected 5"


@pytest.fixture
def record(store, plan_trial) -> Callable[..., Trial]:
    """Record a finished trial whose every text is `text`, with a score and its deliverables."""

    def recorded(
        run, task, agent, score, text, reason=REASON, round_=0, files=None, turns=1
    ) -> Trial:
        trial = plan_trial(run, task, agent, round_=round_, feedback=text)
        files = files or dict.fromkeys(views_of(text), b"x")
        store.record_outcome(outcome_of(trial, text, store, files, turns))
        scored = TrialScore(trial_id=trial.id, root=tree(score, reason), scorer_version="1")
        store.record_score(scored, rendered(text, store))
        return trial

    return recorded


@pytest.fixture
def tab(browser) -> Iterator[SimpleNamespace]:
    """A browser tab that remembers every complaint, dialog and request."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, offline=True)
    seen = SimpleNamespace(page=page, complaints=[], requests=[])
    page.on("console", lambda m: seen.complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))

    def dismiss(dialog) -> None:
        seen.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.on("request", lambda request: seen.requests.append(request.url))
    yield seen
    page.close()


@pytest.fixture
def opened(store, tab, tmp_path) -> Callable[..., object]:
    """Build the run's dashboard into a folder with spaces and open it."""

    def open_page(run):
        summary = summarise(store.run(run.id), store.results(run.id), store.tasks_of_run(run.id))
        folder = tmp_path / "a night's page"
        folder.mkdir()
        path = folder / "dashboard.html"
        found = failures_of(store, store.run(run.id))
        path.write_text(build(store, summary, run_failures=found), encoding="utf-8")
        tab.page.goto(path.as_uri())
        return tab.page

    return open_page


@pytest.fixture
def plain_run(new_task, new_run, record) -> SimpleNamespace:
    tasks = [new_task("first"), new_task("second")]
    run = new_run(*tasks, agents=("nop", SMALL))
    trials = [record(run, t, a, s, "fine") for t in tasks for a, s in (("nop", 0), (SMALL, 4))]
    again = record(run, tasks[0], SMALL, 9, "fine", round_=1)
    return SimpleNamespace(run=run, trials=trials, again=again)


def requests_beyond_the_page(tab) -> list[str]:
    return [url for url in tab.requests[1:] if not url.startswith(("data:", "blob:"))]


def test_a_page_of_the_site_loads_plotly_and_files_from_beside_it(tab, store, tmp_path, plain_run):
    run = plain_run.run
    summary = summarise(store.run(run.id), store.results(run.id), store.tasks_of_run(run.id))
    path = write_run_folder(
        tmp_path / "a home" / "runs" / run.id, tmp_path / "site", store, summary
    )
    page = tab.page
    page.goto(path.as_uri() + f"#trial-{plain_run.trials[1].id}")
    page.wait_for_selector("#trial .file")
    with page.expect_download() as started:
        page.locator("#trial button.download").first.click()
    assert started.value.path().read_bytes() == b"x"
    page.goto(path.as_uri() + "#overview")
    page.wait_for_selector("[data-figure=headline] .main-svg")
    with page.expect_download() as started:
        page.get_by_role("button", name="CSV").first.click()
    assert started.value.suggested_filename == "dashboard-headline.csv"
    assert SMALL in Path(started.value.path()).read_text("utf-8")
    loaded = [url.rpartition("/")[2] for url in requests_beyond_the_page(tab)]
    assert [name for name in loaded if name == "plotly.js"] == ["plotly.js"]
    assert all(url.startswith(tmp_path.as_uri()) for url in requests_beyond_the_page(tab))
    assert tab.complaints == []
    refused_markup(page)


def refused_markup(page) -> None:
    """Put markup into the page as somebody would who got past all escaping; none of it runs."""
    page.evaluate(
        """() => document.body.insertAdjacentHTML('beforeend',
            '<img src="data:," onerror="window.pwned=1"><svg onload="window.pwned=1"></svg>'
            + '<iframe srcdoc="&lt;script&gt;parent.pwned=1&lt;/script&gt;"></iframe>'
            + '<a id="trap" href="javascript:window.pwned=1">click</a>')"""
    )
    page.evaluate("document.getElementById('trap').click()")
    page.wait_for_timeout(500)
    assert page.evaluate("window.pwned") is None


def test_the_page_opens_from_a_file_and_draws_its_figures(opened, tab, plain_run):
    page = opened(plain_run.run)
    page.wait_for_selector("[data-figure=headline] .main-svg")
    for figure in page.query_selector_all("[data-figure]"):
        figure.scroll_into_view_if_needed()
    page.wait_for_function(
        "() => [...document.querySelectorAll('[data-figure]')]"
        ".every(figure => figure.querySelector('.main-svg'))"
    )
    assert tab.complaints == []
    assert requests_beyond_the_page(tab) == []


def test_nothing_moves_when_figures_are_drawn(opened, plain_run):
    page = opened(plain_run.run)
    page.wait_for_selector("[data-figure=headline] .main-svg")
    shifts = page.evaluate(
        """() => new Promise(resolve => new PerformanceObserver(list =>
            resolve(list.getEntries().reduce((sum, entry) => sum + entry.value, 0))
        ).observe({type: 'layout-shift', buffered: true}) || setTimeout(() => resolve(0), 500))"""
    )
    assert shifts < 0.02


def test_the_page_fits_its_window(opened, tab, plain_run):
    page = opened(plain_run.run)
    page.wait_for_selector("[data-figure=headline] .main-svg")
    for width in (1600, 1280, 800):
        tab.page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"window.innerWidth === {width}")
        page.wait_for_function(f"document.documentElement.scrollWidth <= {width}")


def test_a_reader_drills_into_a_trial_and_comes_back(opened, tab, plain_run):
    page = opened(plain_run.run)
    trial = plain_run.trials[1]
    row = page.locator(f"table.trials a[href='#trial-{trial.id}']")
    row.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#trial h1")
    article = page.locator("#trial")
    assert REASON in article.inner_text()
    assert "check:json_values@1" in article.inner_text()
    assert article.locator(".event.tool").count() == 1
    assert "Please put the sum" in article.inner_text()
    assert page.locator("#overview").is_hidden()
    article.get_by_text("The next attempt").click()
    page.wait_for_selector("#trial >> text=The attempt before")
    page.go_back()
    page.go_back()
    page.wait_for_selector("#overview", state="visible")
    assert row.evaluate("link => link === document.activeElement")
    assert tab.complaints == []


def test_an_address_with_a_trial_opens_that_trial(opened, tab, plain_run):
    page = opened(plain_run.run)
    page.goto(page.url + f"#trial-{plain_run.again.id}")
    page.reload()
    page.wait_for_selector("#trial h1")
    assert "Feedback on the attempt before" in page.locator("#trial").inner_text()
    page.locator("nav >> text=Failures").click()
    page.wait_for_selector("#overview", state="visible")
    page.wait_for_selector("[data-figure=failures] .main-svg")


def test_a_trial_that_is_not_on_the_page_is_said_to_be_missing(opened, plain_run):
    page = opened(plain_run.run)
    page.goto(page.url + "#trial-nowhere")
    page.wait_for_selector("#trial >> text=nightshift show nowhere --transcript")


def test_the_table_is_filtered_and_sorted(opened, plain_run):
    page = opened(plain_run.run)
    visible = page.locator("table.trials tbody tr:not([hidden])")
    assert visible.count() == 5
    page.locator("[data-filter=agent]").select_option(SMALL)
    assert visible.count() == 3
    page.locator("[data-filter=round]").select_option("1")
    assert visible.count() == 1
    assert page.locator("#matching").inner_text() == "1 of 5 trials"
    page.locator("[data-filter=agent]").select_option("")
    page.locator("[data-filter=round]").select_option("")
    page.locator("[data-filter=text]").fill("nop SECOND")
    assert visible.count() == 1
    page.locator("[data-filter=text]").fill("")
    page.locator("table.trials button", has_text="Score").click()
    scores = [float(t.split()[-1]) for t in page.locator("td.score").all_inner_texts()]
    assert scores == sorted(scores)
    assert scores[0] < scores[-1]


def test_a_cause_and_a_figure_list_their_trials_and_the_list_stays(opened, tab, store, plain_run):
    failed = [trial for trial in plain_run.trials if trial.agent == SMALL]
    for trial in failed:
        levels = FailureLevels(leaf=True, composition=False, deliverable=False)
        fields = {"stage": "reason", "type": "data_extraction", "levels": levels}
        store.record_diagnosis(
            Diagnosis(trial_id=trial.id, evidence=(), labeller="rules@3", **fields)
        )
    page = opened(plain_run.run)
    shown = page.locator("table.trials tbody tr:not([hidden])")
    cause = page.locator("#failures table.causes td.count a")
    cause.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#narrowed", state="visible")
    assert shown.count() == 2
    assert page.evaluate("document.activeElement.id") == "narrowed"
    said = page.locator("#narrowed").inner_text()
    assert said.startswith("2 trials: The JSON file has wrong or missing values. ")
    shown.first.get_by_role("link").first.click()
    page.locator("#trial a.back").click()
    assert shown.count() == 2
    page.get_by_role("button", name="Show all trials").click()
    assert shown.count() == 5
    share = page.locator("#failures td.share a[href*='stage=reason']")
    assert share.first.inner_text() == "100.00 %"
    share.first.click()
    page.wait_for_selector("#narrowed >> text=failed at reason")
    assert shown.count() == 2
    page.get_by_role("button", name="Show all trials").click()
    page.locator("[data-figure=failures]").scroll_into_view_if_needed()
    page.wait_for_selector("[data-figure=failures] .main-svg")
    left, top = page.locator("[data-figure=failures] .point path").evaluate_all(BAR)
    page.mouse.move(left, top)
    page.mouse.click(left, top)
    page.wait_for_selector("#narrowed >> text=agent")
    assert tab.complaints == []


def test_what_an_agent_wrote_is_shown_and_never_run(opened, tab, new_task, new_run, record):
    task = new_task("first", title=ATTACK, query=ATTACK)
    agent = "react:local/<img/src=x/onerror=window.pwned=1>"
    run = new_run(task, agents=(agent,))
    trial = record(run, task, agent, 4, ATTACK, reason=ATTACK)
    again = record(run, task, agent, 5, ATTACK, reason=ATTACK, round_=1)
    page = opened(run)
    page.wait_for_selector("[data-figure=headline] .main-svg")
    page.locator("[data-figure=headline] .point").first.hover(force=True)
    for trial_id in (trial.id, again.id):
        page.goto(page.url.split("#")[0] + f"#trial-{trial_id}")
        page.wait_for_selector(f"#trial >> text={trial_id}")
        assert page.locator("#trial").inner_text().count("onerror=window.pwned=1") > 10
        page.wait_for_timeout(300)
        links = page.locator("#trial a").evaluate_all("all => all.map(a => a.hash)")
        assert all(link.startswith(("#trial", "#task")) for link in links)
    assert page.evaluate("window.pwned") is None
    assert [c for c in tab.complaints if "dialog" in c or "Refused" in c] == []
    assert requests_beyond_the_page(tab) == []


def test_a_deliverable_is_downloaded_under_a_harmless_name_and_never_opened(opened, plain_run):
    page = opened(plain_run.run)
    page.goto(page.url + f"#trial-{plain_run.trials[1].id}")
    page.wait_for_selector("#trial .file")
    buttons = page.locator("#trial button.download")
    names = []
    for number in range(buttons.count()):
        with page.expect_download() as started:
            buttons.nth(number).click()
        assert started.value.path().read_bytes() == b"x"
        names.append(started.value.suggested_filename)
    assert sorted(names) == [
        "_img src=x onerror=window.pwned=1_.txt",
        "image.png",
        "out.json",
        "page.html",
    ]
    assert len(page.context.pages) == 1
    assert page.url.startswith("file:")


def test_a_recording_is_played_from_bytes_of_a_fixed_type(opened, store, new_task, new_run, record):
    task = new_task("first")
    run = new_run(task, agents=(SMALL,))
    trial = record(
        run, task, SMALL, 9, "fine", files={"voice.wav": silence(), "film.mp4": b"<script>"}
    )
    page = opened(run)
    page.goto(page.url + f"#trial-{trial.id}")
    page.wait_for_function("() => document.querySelector('#trial audio')?.readyState > 0")
    assert page.locator("#trial audio").evaluate("player => player.duration") == 1
    page.wait_for_selector("#trial >> text=This browser cannot play the recording.")


def test_a_transcript_folds_by_numbered_turns_and_is_searched(
    opened, tab, new_task, new_run, record
):
    task = new_task("first")
    run = new_run(task, agents=(SMALL,))
    trial = record(run, task, SMALL, 9, "fine", turns=6)
    page = opened(run)
    page.goto(page.url + f"#trial-{trial.id}")
    page.wait_for_selector("#trial details.turn")
    turns = page.locator("#trial details.turn")
    assert turns.count() == 7
    assert turns.locator("summary b").all_inner_texts()[:2] == ["Before the first turn", "Turn 1"]
    assert page.locator("#trial details.turn[open]").count() == 0
    page.locator("#trial input[type=search]").fill("FILE-4")
    assert page.locator("#trial details.turn:not([hidden])").count() == 1
    assert "Turn 5" in page.locator("#trial details.turn[open]").inner_text()
    assert page.locator("#trial output").inner_text() == "1 found in 1 of 7 parts"
    assert page.evaluate("CSS.highlights.get('found').size") == 1
    page.get_by_role("button", name="Open all").click()
    page.locator("#trial input[type=search]").fill("")
    assert page.locator("#trial details.turn:not([hidden])").count() == 7
    assert tab.complaints == []


def test_trials_of_one_task_stand_side_by_side(opened, tab, plain_run):
    page = opened(plain_run.run)
    page.get_by_role("link", name="All agents on first, side by side").first.click()
    page.wait_for_selector("table.compare")
    heads = page.locator("table.compare > thead th").all_inner_texts()
    assert [SMALL in heads[1], "nop" in heads[2]] == [True, True]
    row = page.locator("table.compare tr", has_text="The sum is right.")
    assert ["4.00" in text for text in row.locator("td").all_inner_texts()] == [True, False]
    assert page.locator("table.compare .file").count() == 8
    page.locator("#trial .filters select").select_option("1")
    page.wait_for_selector("table.compare > thead th:nth-child(3)", state="detached")
    page.locator("table.compare > thead a").click()
    page.wait_for_selector("#trial >> text=Feedback on the attempt before")
    assert tab.complaints == []


def test_code_that_got_into_the_page_would_be_refused(opened, plain_run):
    """Behind the escaping stands the policy: neither handlers nor new scripts run."""
    page = opened(plain_run.run)
    refused_markup(page)
    page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.pwned=1';
            document.body.append(script);
        }"""
    )
    page.wait_for_timeout(500)
    assert page.evaluate("window.pwned") is None


@pytest.mark.e2e
def test_the_dashboard_of_a_real_night_shows_a_trial_from_query_to_reason(night, command, tab):
    (run,) = command.read(night.home, "runs")["runs"]
    path = Path(run["dashboard"])
    assert path.stat().st_size < PAGE_BYTES
    trials = command.read(night.home, "show")["trials"]
    best = next(
        t["trial"]
        for t in trials
        if t["trial"]["agent"] == "reference" and t["trial"]["tier"] == "workflow"
    )
    page = tab.page
    page.goto(path.as_uri())
    page.wait_for_selector("[data-figure=headline] .main-svg")
    assert run["id"] in page.locator("h1").inner_text()
    assert page.locator("table.trials tbody tr").count() == len(trials)
    page.locator(f"table.trials a[href='#trial-{best['id']}']").click()
    page.wait_for_selector("#trial .file")
    assert page.locator("#trial .leaf .reason").count() >= 3
    assert page.locator("#trial .event.tool").count() >= 1
    assert tab.complaints == []
    beyond = {Path(url).name for url in requests_beyond_the_page(tab) if "/files/" not in url}
    assert beyond == {"plotly.js"}
