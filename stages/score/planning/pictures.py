"""The pictures of a planning case that its judge is shown: those that planners are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from environments.ports import Media
from stages.execute.dialogue.inputs import INPUT, MAX_FILES, StoredInput, input_kind, within_caps
from stages.score.judging.sight import Sight
from taskdata.artifacts import ArtifactStore
from taskdata.schema.input_file import InputFile
from taskdata.schema.task import Task


@dataclass(frozen=True)
class CasePictures:
    """The pictures among a case's files, as one judge sees them."""

    shown: tuple[Media, ...] = ()
    names: tuple[str, ...] = ()
    """Of those that are shown, in their order."""
    unseen: tuple[str, ...] = ()
    """Names of the others."""
    tokens: int = 0
    """Most of one question that those which are shown take."""


def case_pictures(task: Task, artifacts: ArtifactStore, sight: Sight) -> CasePictures:
    """Return the pictures of a planning case as the judge sees them, within the caps of planners.

    Raises:
        NightshiftError: The artifact store no longer has one.
    """
    named = _pictures(task)
    files = (
        StoredInput(file.path, file.size_bytes, partial(artifacts.read_bytes, file.sha256))
        for file in named
    )
    shown = within_caps(files)[: _room(sight)] if named and sight.sees else ()
    names = tuple(one.file.name.removeprefix(INPUT) for one in shown)
    return CasePictures(
        shown=tuple(one.media for one in shown),
        names=names,
        unseen=tuple(file.path for file in named if file.path not in names),
        tokens=len(shown) * sight.picture_tokens,
    )


def most_pictures(task: Task, sight: Sight) -> int:
    """Return how many pictures of a planning case the judge is shown at most."""
    return min(len(_pictures(task)), _room(sight), MAX_FILES) if sight.sees else 0


def _pictures(task: Task) -> Sequence[InputFile]:
    media = () if task.planning is None else task.planning.media
    known = {file.path: file for file in task.files}
    return [known[path] for path in media if path in known and input_kind(path) == "image"]


def _room(sight: Sight) -> int:
    """Return how many pictures half of a question has room for."""
    return sight.max_tokens // 2 // sight.picture_tokens
