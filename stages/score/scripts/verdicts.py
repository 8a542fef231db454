"""What a task's program says about a trial: a verdict for each leaf, or that it did not work."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environments.ports import Completed
from environments.sandbox.endings import why_stopped
from environments.scripts.launch import FAILED, MISSING, NEEDS
from stages.score.check import Verdict
from stages.score.matching import storable
from taskdata.schema.checkpoint import ScriptCheck

RESULT = "result.json"
MAX_RESULT_BYTES = 1 << 20
_MAX_OUTPUT = 2_000
"""Characters of a program's output that are kept as evidence: its last ones."""
_Number = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class ScriptBroken(Exception):
    """The program gave no verdict; the text says why."""


class ScriptLacks(ScriptBroken):
    """The program needs what is not in its sandbox, whatever the agent left."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")

    score: _Number
    reason: str = ""


class _Result(BaseModel):
    """`result.json`: one score for all leaves of the program, or one for each."""

    model_config = ConfigDict(extra="ignore")

    score: _Number | None = None
    reason: str = ""
    leaves: dict[str, _Part] = Field(default_factory=dict)


class ScriptDoubted(ScriptBroken):
    """The program gave a verdict but lacked something here, so the verdict may be wrong."""

    def __init__(self, reason: str, verdict: Verdict) -> None:
        super().__init__(reason)
        self.verdict = verdict


@dataclass(frozen=True)
class ScriptRun:
    """How a program ended and what it left."""

    completed: Completed
    result: bytes | None
    """The content of `result.json`, None if there is no such file."""


def read_verdicts(
    script: ScriptCheck, leaf_ids: Sequence[str], run: ScriptRun
) -> Mapping[str, Verdict]:
    """Return the verdict on each leaf that the program scores.

    Raises:
        ScriptBroken: The program was stopped, failed, or said nothing that is a verdict.
    """
    done = run.completed
    output = said_by(done)
    if stopped := why_stopped(done):
        raise ScriptBroken(told(f"{script.entry} was stopped: {stopped}", output))
    if done.exit_code == MISSING:
        reason = "the program needs a file that the agent did not leave"
        return dict.fromkeys(leaf_ids, Verdict(0.0, told(reason, output)))
    if done.exit_code == NEEDS and script.entry.endswith(".py"):
        *said, lacking = output.splitlines() or ["it needs what is not here"]
        raise ScriptLacks(told(f"{script.entry} cannot work here: {lacking}", "\n".join(said)))
    if script.verdict == "exit_code":
        if done.exit_code not in (0, FAILED if script.entry.endswith(".py") else 1):
            raise _broken(script, done, output)
        has_passed = done.exit_code == 0
        reason = f"{script.entry} {'passes' if has_passed else 'does not pass'}"
        return dict.fromkeys(leaf_ids, Verdict(10.0 * has_passed, told(reason, output)))
    if done.exit_code != 0:
        raise _broken(script, done, output)
    if script.verdict == "last_line":
        return dict.fromkeys(leaf_ids, _of_last_line(script, done, output))
    return {leaf_id: _of_file(script, leaf_id, run, output) for leaf_id in leaf_ids}


def _broken(script: ScriptCheck, done: Completed, output: str) -> ScriptBroken:
    return ScriptBroken(told(f"{script.entry} ended with exit code {done.exit_code}", output))


def _of_last_line(script: ScriptCheck, done: Completed, output: str) -> Verdict:
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    last = lines[-1].strip() if lines else ""
    try:
        score = float(last)
    except ValueError:
        score = math.nan
    if not 0 <= score <= script.full_score:
        fault = f"the last line of {script.entry} is no number from 0 to {script.full_score:g}"
        raise ScriptBroken(told(fault, output))
    return _verdict(script, score, "", output)


def _of_file(script: ScriptCheck, leaf_id: str, run: ScriptRun, output: str) -> Verdict:
    if run.result is None:
        raise ScriptBroken(told(f"{script.entry} left no {RESULT}", output))
    try:
        result = _Result.model_validate(json.loads(run.result))
    except (ValueError, RecursionError) as exc:
        fault = _fault(exc)
        raise ScriptBroken(told(f"{RESULT} of {script.entry}: {fault}", output)) from exc
    part = result.leaves.get(leaf_id)
    score = result.score if part is None else part.score
    if score is None or score > script.full_score:
        fault = f"has no score from 0 to {script.full_score:g} for {leaf_id!r}"
        raise ScriptBroken(told(f"{RESULT} of {script.entry} {fault}", output))
    return _verdict(script, score, result.reason if part is None else part.reason, output)


def _fault(exc: Exception) -> str:
    if not isinstance(exc, ValidationError):
        return "no JSON"
    first = exc.errors(include_url=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _verdict(script: ScriptCheck, score: float, reason: str, output: str) -> Verdict:
    said = reason or f"{script.entry} gives {score:g} of {script.full_score:g}"
    return Verdict(10.0 * score / script.full_score, told(said, output))


def said_by(done: Completed) -> str:
    """Return what a program wrote, as text that can be stored."""
    both = (part.decode("utf-8", "replace").strip() for part in (done.stdout, done.stderr))
    return storable("\n".join(filter(None, both)))


def told(reason: str, output: str) -> str:
    """Return a reason with the end of the program's output below it, both cut."""
    reason = storable(reason)[:_MAX_OUTPUT]
    if not output:
        return reason
    return f"{reason}\n{output if len(output) <= _MAX_OUTPUT else '…' + output[-_MAX_OUTPUT:]}"
