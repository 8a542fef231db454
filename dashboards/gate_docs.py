"""Data Docs of gates, as files beside the page that links to them."""

import logging
from collections.abc import Iterable
from pathlib import Path

from taskdata.artifacts import ArtifactStore
from taskdata.errors import NightshiftError
from taskdata.schema.gate import GateResult

_logger = logging.getLogger(__name__)

_FOLDER = "gates"


def write_gate_docs(
    artifacts: ArtifactStore, gates: Iterable[GateResult], folder: Path
) -> frozenset[str]:
    """Write the Data Docs of the gates to `gates/<gate>.html` below the page's folder.

    Returns:
        The gates whose Data Docs are there. One whose artifact is lost is left out, with a
        warning: it is not worth the page.

    Raises:
        StoreUnavailable: if the artifact store cannot be read.
    """
    written = set()
    for result in gates:
        if result.docs_sha256 is None:
            continue
        target = folder / _FOLDER / f"{result.gate}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            artifacts.copy_to(result.docs_sha256, target)
        except NightshiftError as exc:
            if exc.transient:
                raise
            _logger.warning("gate %s of %s: %s", result.gate, result.run_id, exc)
        else:
            written.add(result.gate)
    return frozenset(written)
