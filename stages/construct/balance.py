"""The balance stage: requests new tasks for tools that too few tasks use.

GTA-2 augments under-represented tools against a long tail (GTA-2, section 3.3.4); the requested
tasks pass the same stages as any other candidate.
"""

import hashlib
import logging
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from quality.bank_statistics import bank_statistics, underrepresented
from stages.construct.assembling import assembled
from stages.construct.atomic.ways import choosable_tools
from stages.construct.material.base import offered_tools, stored_base
from stages.construct.start import task_slug
from taskdata.errors import BadTaskData
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    Origin,
    Refresh,
)
from taskdata.schema.run import StageReport
from taskdata.schema.statistics import BankStatistics
from taskdata.schema.task import InputFile, Task, Tier
from taskdata.store import Store

STAGE = "balance"
_logger = logging.getLogger(__name__)

_READS = {
    "ReadCSV": ".csv",
    "ReadXLSX": ".xlsx",
    "ReadDOCX": ".docx",
    "ReadPDF": ".pdf",
    "ReadPPTX": ".pptx",
}
"""Tools that make sense only if a file of that type is attached."""

_SURVIVING = frozenset({CandidateStatus.OPEN, CandidateStatus.APPROVED, CandidateStatus.RELEASED})


def do(store: Store, refresh_id: str) -> StageReport:
    """Request at most `max_augmentations` tasks, one per under-represented tool, rarest first.

    Counted are the tasks of the base and the refresh's surviving drafts. Tasks are requested once
    per refresh: another pass adds nothing and reports the current tool counts. `due` and `done`
    count the requested tasks.

    Raises:
        Misuse: if there is no such refresh or base.
    """
    started = time.monotonic()
    refresh = store.refresh(refresh_id)
    candidates = store.candidates(refresh_id)
    base = stored_base(store, refresh.config.base)
    statistics = bank_statistics([*base, *_drafted(store, candidates)])
    offered = {spec.name for spec in offered_tools(store, refresh.config)}
    choosable = [tool for tool in choosable_tools() if tool in offered]
    rare = underrepresented(statistics, choosable, refresh.config.tool_floor)
    asked = [c for c in candidates if c.origin is Origin.AUGMENTATION]
    if not asked:
        asked = _augmentations(store, refresh, candidates, base, rare)
        store.add_candidates(asked)
    return StageReport(
        stage=STAGE,
        run_id=refresh_id,
        due=len(asked),
        done=len(asked),
        seconds=time.monotonic() - started,
        note=_note(statistics, rare, asked, refresh.config.tool_floor),
    )


def _drafted(store: Store, candidates: Sequence[Candidate]) -> list[Task]:
    tasks = []
    for candidate in candidates:
        if candidate.status not in _SURVIVING or store.draft(candidate.id) is None:
            continue
        try:
            tasks.append(assembled(store, candidate))
        except BadTaskData as exc:
            # Between a rewrite and its new checkpoints a draft may be inconsistent.
            _logger.info("candidate %s is not counted: %s", candidate.id, exc)
    return tasks


def _augmentations(
    store: Store,
    refresh: Refresh,
    candidates: Sequence[Candidate],
    base: Sequence[Task],
    rare: Sequence[str],
) -> list[Candidate]:
    """Return a candidate for each of the rarest tools for which there is material."""
    seeds = {
        c.seed_id: store.seed(c.seed_id).query.attachments
        for c in candidates
        if c.seed_id is not None and c.status is not CandidateStatus.DELETED
    }
    uses = Counter[str]()
    found: list[Candidate] = []
    for tool in rare:
        if len(found) == refresh.config.max_augmentations:
            break
        fitting = [s for s, files in seeds.items() if _fits(tool, files)]
        seed_id = min(fitting, key=lambda s: (uses[s], s), default=None)
        exemplar = None
        if seed_id is None:
            workflows = [t for t in base if t.tier is Tier.WORKFLOW and _fits(tool, t.files)]
            ranked = sorted(t.content_hash for t in workflows)
            exemplar = ranked[len(found) % len(ranked)] if ranked else None
        if seed_id is None and exemplar is None:
            continue
        uses[seed_id or ""] += 1
        found.append(_candidate(refresh.id, tool, seed_id, exemplar))
    return found


def _fits(tool: str, files: Sequence[InputFile]) -> bool:
    suffix = _READS.get(tool)
    return suffix is None or any(PurePosixPath(f.path).suffix.lower() == suffix for f in files)


def _candidate(refresh_id: str, tool: str, seed_id: str | None, exemplar: str | None) -> Candidate:
    digest = hashlib.sha256(f"{refresh_id}\naugmentation\n{tool}".encode()).hexdigest()
    return Candidate(
        id=f"c{digest[:15]}",
        refresh_id=refresh_id,
        task_id=task_slug(f"augment {tool}", digest),
        tier=Tier.WORKFLOW,
        origin=Origin.AUGMENTATION,
        seed_id=seed_id,
        exemplar=exemplar,
        aim=f"a task that {tool} is naturally needed for",
        stage=Construction.GENERATE,
    )


def _note(
    statistics: BankStatistics, rare: Sequence[str], asked: Sequence[Candidate], floor: float
) -> str:
    """Return the histogram of the choosable tools and the resulting requests, for the record."""
    counts = sorted(
        ((statistics.tools.get(tool, 0), tool) for tool in choosable_tools()), reverse=True
    )
    histogram = ", ".join(f"{tool} {count}" for count, tool in counts)
    return (
        f"{len(rare)} tools in fewer than {floor:.0%} of {statistics.tasks} tasks; "
        f"tasks asked for: {len(asked)}; tasks per tool: {histogram}"
    )
