"""All scripted agents."""

from tests.stages.diagnose.scripted import atomic, successes, tool_calls

SCRIPTS = [*tool_calls.SCRIPTS, *atomic.SCRIPTS, *successes.SCRIPTS]
