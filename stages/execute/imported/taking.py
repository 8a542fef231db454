"""Finds an agent's results, and reads the result for a task."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stages.execute.imported.folder import read_folder
from stages.execute.imported.lines import SUFFIX, read_lines
from stages.execute.imported.pack import read_pack
from stages.execute.imported.result import Result
from taskdata.errors import Misuse, NightshiftError
from taskdata.schema.agent import AgentSpec
from taskdata.schema.task import Task


def require_results(agent: AgentSpec) -> None:
    """Raise `Misuse` unless the agent has a label and existing results."""
    if agent.label is None:
        raise Misuse(
            "agent 'import': whose results are these? --import NAME=PATH, or `label` under "
            "[[run.agents]], names the system"
        )
    place = _place(agent)
    if not place.exists():
        raise Misuse(f"agent {agent.name!r}: there are no results at {place}")
    if not place.is_dir() and place.suffix not in (".json", SUFFIX):
        raise Misuse(
            f"agent {agent.name!r}: {place} is neither a folder with a folder per task nor an "
            "eval pack (.json) nor predictions of planning cases (.jsonl)"
        )


@contextmanager
def taken_in(agent: AgentSpec, task: Task, folder: Path) -> Iterator[Result]:
    """Yield the agent's result for the task; copies of its files last until the block ends.

    Args:
        agent: An agent of harness `import`.
        task: The task that was worked on.
        folder: Copies are made below this folder.

    Raises:
        NightshiftError: if there is no result for the task, which does not mean that the task
            failed.
        BadTaskData: if the result cannot be read.
    """
    place = _place(agent)
    with tempfile.TemporaryDirectory(prefix="import-", dir=folder) as copies:
        if place.is_dir():
            found = read_folder(place, task, Path(copies))
        elif place.suffix == SUFFIX:
            found = read_lines(place, task)
        else:
            root = Path(agent.results_root) if agent.results_root else place.parent
            found = read_pack(place, root, task, Path(copies))
        if found is None:
            # The same text for every task, so that a summary can group them.
            raise NightshiftError(
                f"{place} holds no result for this task; put it there and carry the run on with "
                "--resume"
            )
        yield found


def _place(agent: AgentSpec) -> Path:
    if agent.results is None:
        raise Misuse(f"agent {agent.name!r}: harness 'import' needs `results`, a folder or pack")
    return Path(agent.results)
