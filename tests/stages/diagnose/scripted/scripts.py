"""All scripted agents."""

from tests.stages.diagnose.scripted import (
    atomic,
    deliverables,
    long_runs,
    outside,
    parameters,
    successes,
    tool_calls,
    verification,
)

SCRIPTS = [
    *tool_calls.SCRIPTS,
    *parameters.SCRIPTS,
    *verification.SCRIPTS,
    *long_runs.SCRIPTS,
    *atomic.SCRIPTS,
    *deliverables.SCRIPTS,
    *outside.SCRIPTS,
    *successes.SCRIPTS,
]
