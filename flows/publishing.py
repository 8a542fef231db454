"""What a run shows to people: the dashboard, and artifacts in the Prefect UI."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.runtime import flow_run

from dashboards.visible_text import visible
from flows.agreement.cards import listed_judges
from flows.config import Settings
from flows.failures import failures_of
from flows.gate_docs import write_docs
from flows.history import record_night
from flows.notices.telling import notify_regression
from flows.serving.dashboards import dashboard_url
from flows.site import write_nights
from flows.summaries import headline, summary_of
from taskdata.garbage import collected_after
from taskdata.schema.failures import RunFailures
from taskdata.schema.gate import GateResult
from taskdata.schema.night import Morning
from taskdata.schema.run import RunStatus, StageReport, TrialResult
from taskdata.schema.summary import RunSummary
from taskdata.store import Store


def publish(settings: Settings, store: Store, run_id: str) -> StageReport:
    """Write the run's dashboard and the pages over all nights, and say where they are.

    A rescoring is no night: it has a dashboard alone.
    """
    with collected_after():
        return _published(settings, store, run_id)


def _published(settings: Settings, store: Store, run_id: str) -> StageReport:
    from stages.prepare.confirm import confirmation_id

    started = time.monotonic()
    # Read once: of a large run, reading them costs more than most of what is made of them.
    results = store.results(run_id)
    summary = _as_completed(summary_of(store, run_id, results))
    before = store.find_morning(run_id)
    was_told = before is not None and bool(before.confirmed_regressions)
    is_night = summary.run.rescores is None
    ended = summary.run.finished_at
    morning = record_night(store, run_id, ended, results) if is_night else None
    failures = failures_of(store, store.run(run_id), results)
    page = _write_dashboard(settings, store, summary, results, failures, morning)
    store.set_dashboard(run_id, str(page))
    if store.find_run(confirmation_id(run_id)) is not None:
        # Listed nowhere, but the morning leads to it.
        again = confirmation_id(run_id)
        repeated = store.results(again)
        failed = failures_of(store, store.run(again), repeated)
        _write_dashboard(settings, store, summary_of(store, again, repeated), repeated, failed)
    written = f"{page} ({page.stat().st_size / 1e6:.1f} MB)"
    if morning is not None:
        written += f", {write_nights(settings, store, [run_id], summary, failures).page}"
        if not was_told:
            notify_regression(morning)
    return StageReport(
        stage="publish",
        run_id=run_id,
        due=0,
        done=0,
        seconds=time.monotonic() - started,
        note=written,
    )


def _write_dashboard(
    settings: Settings,
    store: Store,
    summary: RunSummary,
    results: Sequence[TrialResult],
    failures: RunFailures,
    morning: Morning | None = None,
) -> Path:
    """Write a run's page, with the Data Docs of its gates beside it; return where it is."""
    from dashboards.run_folder import write_run_folder

    folder = settings.run_folder(summary.run.id)
    folder.mkdir(parents=True, exist_ok=True)
    data_docs = write_docs(settings, store, summary.gates, folder)
    cards = listed_judges(settings, store, summary.run.id)
    site = settings.site_folder
    return write_run_folder(
        folder, site, store, summary, data_docs, morning, results, cards, failures
    )


def _as_completed(summary: RunSummary) -> RunSummary:
    """Return the summary of a run whose last stage is this one as it will read when it ends."""
    if summary.run.status != RunStatus.RUNNING:
        return summary
    ended = {"status": RunStatus.COMPLETED.value, "finished_at": datetime.now(UTC)}
    return summary.model_copy(update={"run": summary.run.model_copy(update=ended)})


def stage_artifact(report: StageReport) -> None:
    """Show a stage's counts on its flow run."""
    if not flow_run.get_id():
        return
    counts = report.model_dump(exclude={"note"})
    rows = [{"what": name, "value": str(value)} for name, value in counts.items()]
    create_table_artifact(rows, key=_key("stage", report.stage), description=plain(report.note))


def gate_artifact(result: GateResult) -> None:
    """Show a gate's result on its flow run: every broken expectation with its rows."""
    if flow_run.get_id():
        create_markdown_artifact(gate_report(result), key=_key("gate", result.gate))


def gate_report(result: GateResult) -> str:
    """Return a gate's result as Markdown; what rows say is shown as it stands."""
    verdict = "holds" if result.success else "**does not hold**"
    lines = [
        f"# Gate {plain(result.gate)} {verdict}",
        f"{result.expectations} expectations over {result.rows} rows of {plain(result.run_id)}; "
        f"{len(result.quarantined)} rows are quarantined.",
    ]
    for failure in result.failures:
        lines.append(f"## {plain(failure.expectation)}")
        lines.append(f"{failure.unexpected_count} rows, level {failure.level.value}:")
        lines += [f"- {plain(row)}" for row in failure.rows]
    lines.append(f"Validation result: artifact `{result.validation_sha256}`.")
    return "\n\n".join(lines)


def night_artifact(store: Store, run_id: str) -> None:
    """Show the headline table and a link to the dashboard on the night's flow run."""
    if not flow_run.get_id():
        return
    summary = summary_of(store, run_id)
    create_table_artifact(headline(summary), key="headline", description=f"Run {run_id}")
    if summary.run.dashboard:
        where = dashboard_url(run_id) or f"file://{summary.run.dashboard}"
        create_link_artifact(where, link_text="Dashboard", key="dashboard")


@contextmanager
def progress_artifact(stage: str) -> Iterator[Callable[[float], None]]:
    """Yield a function that shows how far a stage is, in percent, on its flow run."""
    artifact: Any = create_progress_artifact(0.0, key=_key("progress", stage), description=stage)
    last = 0.0

    def tell(percent: float) -> None:
        nonlocal last
        if percent >= last + 5 or percent >= 100:
            last = percent
            update_progress_artifact(artifact, progress=percent)

    yield tell


def _key(*parts: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def plain(text: str) -> str:
    """Return text that a task or an agent wrote so that Markdown shows it as it stands.

    It is a span of code: everywhere else the Prefect UI makes links of bare addresses, however
    they are escaped.
    """
    line = " ".join(visible(text).split())
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    # With spaces around, for a span that begins or ends with a backtick; readers take them off.
    return f"{fence} {line} {fence}" if line else ""
