"""All scripted agents."""

from tests.stages.diagnose.scripted import (
    atomic,
    deliverables,
    long_runs,
    outside,
    parameters,
    perception,
    successes,
    tool_calls,
    unfinished,
    verification,
)

SCRIPTS = [
    *tool_calls.SCRIPTS,
    *parameters.SCRIPTS,
    *verification.SCRIPTS,
    *long_runs.SCRIPTS,
    *unfinished.SCRIPTS,
    *atomic.SCRIPTS,
    *deliverables.SCRIPTS,
    *outside.SCRIPTS,
    *perception.SCRIPTS,
    *successes.SCRIPTS,
]
