"""All stages that ask a model, one after another, until nothing is due that could move on."""

from environments.models.registry import model_client
from stages.construct import checkpoints, classify, generate, rewrite, validate
from stages.construct.work import Connect, due
from taskdata.schema.construct import Construction
from taskdata.schema.run import StageReport
from taskdata.store import Store


def construct(
    store: Store, refresh_id: str, connect: Connect = model_client
) -> tuple[StageReport, ...]:
    """Bring every open candidate of the refresh as far as the prove stage, or out of the flow.

    Rewriting and validating take turns, for a violation sends a candidate back; `max_rewrites`
    bounds that. What our side failed stays due: call again. Raises as `work.walk`.

    Returns:
        The report of each pass, in order; a stage for which nothing was due has none.
    """
    reports: list[StageReport] = []
    for stage in (generate, classify):
        reports.append(stage.do(store, refresh_id, connect))
    reports += rewrite_until_clean(store, refresh_id, connect)
    reports.append(checkpoints.do(store, refresh_id, connect))
    return tuple(report for report in reports if report.due)


def rewrite_until_clean(
    store: Store, refresh_id: str, connect: Connect = model_client
) -> tuple[StageReport, ...]:
    """Rewrite and validate in turn until neither is due, or a whole turn moved nobody."""
    reports: list[StageReport] = []
    while any(due(store, refresh_id, s) for s in (Construction.REWRITE, Construction.VALIDATE)):
        turn = [stage.do(store, refresh_id, connect) for stage in (rewrite, validate)]
        reports += (report for report in turn if report.due)
        if not any(report.done for report in turn):
            break
    return tuple(reports)
