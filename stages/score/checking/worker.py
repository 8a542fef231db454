"""The process that runs checks: `python -m stages.score.checking.worker MEMORY_BYTES`.

It reads requests from standard input and answers each check with a line, in order. A CPU timer
kills it, by the signal SIGPROF, during a check that takes too long, because Python code cannot
interrupt a regular expression. The process ends with its input.
"""

import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import BinaryIO

from stages.score.checking.exchange import CheckReply, CheckRequest, LeafCheck
from stages.score.evidence import TrialEvidence
from stages.score.library import no_points, run_check
from taskdata.errors import BadTaskData

_LARGE = 0.25
"""Share of the allowed memory above which a new process is used for the next trial."""


def main() -> int:
    """Answer requests until there are no more; returns the exit code."""
    memory_bytes = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A terminal interrupts all processes in its group; the scoring process decides for this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)
        while line := sys.stdin.buffer.readline():
            _answer(CheckRequest.model_validate_json(line), replies)
            del line
            if _peak_bytes() > _LARGE * memory_bytes:
                break
    return 0


def _peak_bytes() -> int:
    """Return the most memory that this process has had.

    `ru_maxrss` cannot say that: a new process takes it over from the one that started it.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) * 1024


def _answer(request: CheckRequest, replies: BinaryIO) -> None:
    evidence, left = request.evidence, request.trial_seconds
    for leaf in request.checks:
        if left > 0:
            reply = _timed(leaf, evidence, request.check_seconds)
        else:
            reason = "not run: the checks of this trial have used the CPU time they may take"
            reply = CheckReply(score=no_points(leaf.leaf_id, leaf.check, reason))
        left -= reply.cpu_seconds
        replies.write(reply.model_dump_json().encode() + b"\n")
        replies.flush()


def _timed(leaf: LeafCheck, evidence: TrialEvidence, seconds: float) -> CheckReply:
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    score, refused = None, ""
    try:
        score = run_check(leaf.leaf_id, leaf.check, evidence)
    except BadTaskData as exc:
        refused = str(exc)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return CheckReply(score=score, refused=refused, cpu_seconds=time.process_time() - began)


if __name__ == "__main__":
    sys.exit(main())
