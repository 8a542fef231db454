"""The services that the tools of one trial use: those of the run, and those of its task."""

import asyncio
from dataclasses import replace

from environments.search.corpus import Corpus, corpus_of_files
from environments.toolkit.services import ToolServices
from stages.execute.attempt import RunningAttempt
from taskdata.artifacts import ArtifactStore
from taskdata.schema.task import Task


async def services_for(attempt: RunningAttempt, task: Task) -> ToolServices:
    """Return the run's services as this trial uses them; a task's own search replaces the run's.

    Raises:
        Misuse: the documents that the task brings cannot be searched.
    """
    shared = attempt.shared
    services = shared.services.owned_by(attempt.due.payer)
    if task.environment is None or not task.environment.search:
        return services
    search = await asyncio.to_thread(_search_of, task, shared.worker.store.artifacts)
    return replace(services, search=search)


def _search_of(task: Task, artifacts: ArtifactStore) -> Corpus:
    files = task.environment.search if task.environment else ()
    content = {file.path: artifacts.read_bytes(file.sha256) for file in files}
    return corpus_of_files(content, f"search of task {task.id!r}")
