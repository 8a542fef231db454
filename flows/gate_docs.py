"""Writing the Data Docs of gates beside a page, with what the gates found before."""

from collections.abc import Sequence
from pathlib import Path

from flows.config import Settings
from taskdata.schema.gate import GatePass, GateResult
from taskdata.store import Store


def write_docs(
    settings: Settings, store: Store, gates: Sequence[GateResult], folder: Path
) -> frozenset[str]:
    """Write them below the page's folder; return the gates whose Data Docs are there."""
    from dashboards.gate_docs import write_gate_docs

    history = {result.gate: store.gate_history(result.gate) for result in gates}
    pages = {
        done.subject: page
        for passes in history.values()
        for done in passes
        if (page := _page(settings, done)) is not None
    }
    return write_gate_docs(store.artifacts, gates, folder, history, pages)


def _page(settings: Settings, done: GatePass) -> Path | None:
    """Return where the page of a pass's run or release is, or will be."""
    if done.is_run:
        return settings.run_folder(done.subject) / "dashboard.html"
    if done.release is None:
        return None
    bank, _, version = done.release.rpartition("@")
    return settings.bank_folder(bank) / version / "index.html"
