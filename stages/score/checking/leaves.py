"""Runs the checks of one trial, each within its limits, whatever was delivered."""

import asyncio
import signal
from collections.abc import Iterable, Sequence

from stages.score.checking.exchange import CheckLimits, CheckReply, CheckRequest, LeafCheck
from stages.score.checking.process import CheckProcess, ProcessEnded, check_process, warm_up
from stages.score.evidence import TrialEvidence
from stages.score.found_files import best_of, files_of
from stages.score.library import no_points
from stages.score.matching import storable
from taskdata.errors import BadTaskData, ChecksFailed
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.scores import LeafScore

LIMITS = CheckLimits()

_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)
"""Signals that a check's own input can cause (a crash); other signals come from outside."""
_ATTEMPTS = 2
_MOST_RETIRED = 16
"""How many processes in a row may be found to have ended by themselves."""


async def check_leaves(
    leaves: Iterable[Checkpoint], evidence: TrialEvidence, limits: CheckLimits = LIMITS
) -> dict[str, LeafScore]:
    """Return the scores of the leaves with a check, by leaf.

    A check that exceeds its limits scores 0, and so does one that crashes its process twice. A
    trial has a process of its own, so no other trial waits for its checks.

    Raises:
        BadTaskData: a check of the task is not valid.
        ChecksFailed: the process cannot be started, or was lost.
    """
    files: dict[str, tuple[str, ...]] = {}
    checks = []
    for leaf in leaves:
        if isinstance(leaf.verifier, Check):
            files[leaf.id] = files_of(leaf.verifier, evidence.views)
            checks += _for_each(leaf.id, leaf.verifier, files[leaf.id])
    run = _TrialRun(checks, evidence, limits)
    while request := run.next_request():
        try:
            with check_process(limits.memory_bytes) as process:
                await _asked(process, request, run)
        except ProcessEnded as ended:
            run.ended(ended.code)
    for leaf_id, names in files.items():
        if names:
            scores = [run.scores.pop(_part(leaf_id, name)) for name in names]
            run.scores[leaf_id] = best_of(leaf_id, scores, names)
    return run.scores


def _for_each(leaf_id: str, check: Check, names: Sequence[str]) -> list[LeafCheck]:
    """Return the check as it is, or once for each of the files."""
    if not names:
        return [LeafCheck(leaf_id=leaf_id, check=check)]
    each = ((name, check.model_copy(update={"deliverable": name})) for name in names)
    return [LeafCheck(leaf_id=_part(leaf_id, name), check=one) for name, one in each]


def _part(leaf_id: str, name: str) -> str:
    return f"{leaf_id}/{name}"


def prepare_to_check() -> None:
    """Start the process that the first trial will need."""
    warm_up(LIMITS.memory_bytes)


async def _asked(process: CheckProcess, request: CheckRequest, run: "_TrialRun") -> None:
    asking = asyncio.create_task(asyncio.to_thread(run.ask, process, request))
    try:
        await asyncio.shield(asking)
    except asyncio.CancelledError:
        # A thread cannot be cancelled; this one ends once its process is dead and cannot reply.
        process.kill()
        await asyncio.wait({asking})
        raise


class _TrialRun:
    """The checks of one trial: which are done, and how to react when a process has ended."""

    def __init__(
        self, checks: Sequence[LeafCheck], evidence: TrialEvidence, limits: CheckLimits
    ) -> None:
        self.scores: dict[str, LeafScore] = {}
        # One deliverable after the other, so that the process holds only one at a time.
        first = {leaf.check.deliverable: place for place, leaf in reversed([*enumerate(checks)])}
        self._waiting = sorted(checks, key=lambda leaf: first[leaf.check.deliverable])
        self._evidence = evidence
        self._limits = limits
        self._left = limits.trial_seconds
        self._attempts = 0
        self._retired = 0

    def next_request(self) -> CheckRequest | None:
        if not self._waiting:
            return None
        name = self._waiting[0].check.deliverable
        views = self._evidence.views
        return CheckRequest(
            checks=tuple(leaf for leaf in self._waiting if leaf.check.deliverable == name),
            views={name: views[name]} if name is not None and name in views else {},
            delivered=self._evidence.delivered,
            final_answer=storable(self._evidence.final_answer),
            check_seconds=self._limits.check_seconds,
            trial_seconds=self._left,
        )

    def ask(self, process: CheckProcess, request: CheckRequest) -> None:
        for reply in process.replies(request, self._limits.wall_seconds):
            self._take(reply)

    def _take(self, reply: CheckReply) -> None:
        if reply.score is None:
            raise BadTaskData(reply.refused)
        self._left -= reply.cpu_seconds
        self._next(reply.score)

    def ended(self, code: int) -> None:
        """Record that a process has ended during the first waiting check."""
        if code == -signal.SIGPROF:
            self._left -= self._limits.check_seconds
            seconds = f"{self._limits.check_seconds:g} s"
            self._give_up(f"stopped: the check took more than {seconds} of CPU time")
            return
        if code == 0 and self._retired < _MOST_RETIRED:
            # The process holds much memory, so it ended after its last trial; on a busy machine it
            # was still listed as idle. The check was not started.
            self._retired += 1
            return
        # The process may have been lost while idle, before the check was started.
        self._attempts += 1
        if self._attempts < _ATTEMPTS:
            return
        if -code not in _CRASHES:
            raise ChecksFailed(f"the process that runs checks ended with exit code {code}")
        self._give_up(f"the check broke off: {signal.Signals(-code).name}")

    def _give_up(self, reason: str) -> None:
        leaf = self._waiting[0]
        self._next(no_points(leaf.leaf_id, leaf.check, reason))

    def _next(self, score: LeafScore) -> None:
        self.scores[score.leaf_id] = score
        self._attempts = 0
        del self._waiting[0]
