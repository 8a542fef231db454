"""The files that a task's program finds in its sandbox, all of them read-only."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from taskdata.artifacts import ArtifactStore
from taskdata.schema.input_file import InputFile
from taskdata.schema.run import Deliverable
from taskdata.schema.service import FOLDER as SERVICES
from taskdata.schema.task import Task
from taskdata.schema.transcript import Transcript

PROGRAMS = "programs"
DELIVERABLES = "deliverables"
WORKSPACE = "workspace"
GROUNDTRUTH = "groundtruth"
FOLDERS = (DELIVERABLES, WORKSPACE, GROUNDTRUTH, SERVICES)
"""Folders that are there even if nothing is in them."""
TRANSCRIPT = "transcript.json"
ANSWER = "answer.txt"

_GROUNDTRUTH_FOLDERS = ("groundtruth", "groundtruth_workspace")


def staged(
    task: Task,
    delivered: Iterable[Deliverable],
    answer: str,
    transcript: Transcript | None,
    artifacts: ArtifactStore,
) -> dict[str, bytes]:
    """Return the content of the input folder of a program's sandbox; blocks.

    The final workspace is the task's files with what the agent left over them, or what it left
    alone where it could change the task's files. The final state of the task's services has a
    folder of its own, which no file of an agent can be in.

    Raises:
        NightshiftError: the artifact store has no longer one of the files.
    """
    around = task.environment
    programs = around.evaluation if around else ()
    files = _read(PROGRAMS, task.folder if task.has_one_workspace else programs, artifacts)
    for path, content in _read("", around.groundtruth if around else (), artifacts).items():
        files[f"{GROUNDTRUTH}/{groundtruth_path(path)}"] = content
    state, own = dict[str, bytes](), dict[str, bytes]()
    for file in delivered:
        is_state = bool(task.services) and PurePosixPath(file.name).parts[0] == SERVICES
        (state if is_state else own)[file.name] = artifacts.read_bytes(file.sha256)
    inputs = {} if task.has_one_workspace else _read("", task.files, artifacts)
    # What an agent leaves may clash with the name of an input's folder, or the other way round.
    kept = {path: data for path, data in inputs.items() if not _clashes(path, own)}
    files |= {f"{WORKSPACE}/{path}": data for path, data in (kept | own).items()}
    files |= {f"{DELIVERABLES}/{path}": data for path, data in own.items()}
    files |= state
    files[ANSWER] = answer.encode("utf-8", "replace")
    files[TRANSCRIPT] = b"null" if transcript is None else transcript.model_dump_json().encode()
    return files


def groundtruth_path(path: str) -> str:
    """Return where a ground truth file belongs in a workspace."""
    first, _, rest = path.partition("/")
    return rest if first in _GROUNDTRUTH_FOLDERS and rest else path


def _read(folder: str, files: Iterable[InputFile], artifacts: ArtifactStore) -> dict[str, bytes]:
    start = f"{folder}/" if folder else ""
    return {f"{start}{file.path}": artifacts.read_bytes(file.sha256) for file in files}


def _clashes(path: str, others: Mapping[str, bytes]) -> bool:
    return any(other.startswith(f"{path}/") or path.startswith(f"{other}/") for other in others)
