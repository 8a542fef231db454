"""Write the bundled bank of planning cases: `python -m stages.construct.planning.bundled`.

The cases are made from the reference solutions of the starter bank and from `sources/`, in which
people wrote the words that a refresh asks a model for. With `--record` the reference solutions are
played anew first.
"""

import asyncio
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from stages.construct.planning.cases.making import Source, make
from stages.construct.planning.cases.rules import faults_of, repeated
from stages.construct.planning.supplied import TRAJECTORIES, Supplied, read_supplied
from stages.construct.planning.trajectory import Trajectory, as_lines, of_solution
from stages.construct.planning.variations import deal
from stages.construct.planning.written import PlanForm
from stages.construct.proof.recording import record_chain
from taskdata.banks.cases import as_files
from taskdata.banks.loader import Bank, load_bank
from taskdata.errors import BadTaskData
from taskdata.schema.construct import CaseCounts
from taskdata.schema.task import Task

SOURCE_BANK = "starter"
FOLDER = Path(__file__).resolve().parents[3] / "taskdata/banks/starter-planning"
_SANDBOX = "bubblewrap"


def bundled_files() -> dict[str, str]:
    """Return the files of the bank by name, as they are made from their sources.

    Raises:
        BadTaskData: if a case breaks a rule; names it.
    """
    supplied = read_supplied(FOLDER / "sources")
    cases = tuple(supplied_cases(load_bank(SOURCE_BANK).tasks, supplied, CaseCounts()))
    for case in cases:
        if faults := faults_of(case):
            raise BadTaskData(f"case {case.id!r}: {faults[0]}")
    if twice := repeated(cases):
        later, earlier = next(iter(twice.items()))
        raise BadTaskData(f"case {later!r} asks what {earlier!r} asks")
    steps = {task_id: one.steps for task_id, one in supplied.trajectories.items()}
    return as_files(cases, steps, SOURCE_BANK)


def supplied_cases(tasks: Iterable[Task], supplied: Supplied, counts: CaseCounts) -> Iterator[Task]:
    """Yield the cases that are made of what people wrote, without any model.

    Raises:
        BadTaskData: if what was written does not fit; names the task.
    """
    by_id = {task.id: task for task in tasks if task.id in supplied.trajectories}
    for task in by_id.values():
        _require_same(task, supplied.trajectories)
    lengths = {task_id: len(supplied.trajectories[task_id].steps) for task_id in by_id}
    domains = {task_id: task.category.value for task_id, task in by_id.items()}
    for variation in deal(lengths, domains, counts, supplied.has):
        task_id = variation.task_id
        plan = supplied.answer(task_id, "plan", PlanForm)
        source = Source(
            task=by_id[task_id],
            trajectory=supplied.trajectories[task_id],
            sentences=plan.steps if plan else (),
            reviewer=supplied.reviewer,
        )
        try:
            yield make(variation, source, supplied.answers.get((task_id, variation.question)))
        except BadTaskData as exc:
            raise BadTaskData(f"case {variation.case_id!r}: {exc}") from exc


def _require_same(task: Task, trajectories: Mapping[str, Trajectory]) -> None:
    if trajectories[task.id].task_hash != task.content_hash:
        raise BadTaskData(
            f"task {task.id!r} has changed since its reference was played; record it again "
            "(python -m stages.construct.planning.bundled --record)"
        )


def recorded(bank: Bank) -> str:
    """Return the trajectories of the bank's reference solutions, played in a sandbox."""
    provider, found = sandbox_provider(_SANDBOX), list[Trajectory]()
    with reaped(), working_folder() as folder:
        for task in bank.tasks:
            files = {file.path: bank.files[file.sha256] for file in task.files}
            recording = asyncio.run(record_chain(task, files, provider, folder))
            if recording.faults:
                raise BadTaskData(f"task {task.id!r}: {recording.faults[0]}")
            found.append(of_solution(task, recording.solution))
    return as_lines(found)


def main() -> None:
    """Write the bank's files."""
    if "--record" in sys.argv[1:]:
        played = recorded(load_bank(SOURCE_BANK))
        (FOLDER / "sources" / TRAJECTORIES).write_text(played, encoding="utf-8")
    for name, text in bundled_files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
