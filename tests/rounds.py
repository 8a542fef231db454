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

    What our side failed stays due: call again.

    Returns:
        The report of each pass, in order; a stage for which nothing was due has none.
    """
    reports = [stage.do(store, refresh_id, connect) for stage in (generate, classify)]
    while any(due(store, refresh_id, s) for s in (Construction.REWRITE, Construction.VALIDATE)):
        turn = [stage.do(store, refresh_id, connect) for stage in (rewrite, validate)]
        reports += turn
        if not any(report.done for report in turn):
            break
    reports.append(checkpoints.do(store, refresh_id, connect))
    return tuple(report for report in reports if report.due)
