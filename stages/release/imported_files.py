"""What the files of imported tasks hold: personal data, orders to the model, requests for harm."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from stages.intake.attached_text import may_have_text
from stages.intake.protection import Inspected, inspected
from taskdata.artifacts import ArtifactStore
from taskdata.errors import BadTaskData
from taskdata.schema.safety import SafetyRules
from taskdata.schema.task import InputFile, Task


class ImportedFiles:
    """Reads the files of the tasks of one import, each once."""

    def __init__(self, artifacts: ArtifactStore, rules: SafetyRules) -> None:
        self._artifacts, self._rules = artifacts, rules
        self._read: dict[tuple[str, str], Inspected] = {}

    def inspected(
        self, task: Task, found: Mapping[str, Path]
    ) -> Iterator[tuple[InputFile, Inspected]]:
        """Yield every file of a task that has text, with what the text holds.

        Args:
            task: The task, whose files include those that the agent does not see.
            found: Files that came with the task, by sha256; others may be in the artifact store.

        Raises:
            BadTaskData: if a file has changed since it was read first.
        """
        for file in dict.fromkeys(task.stored_files):
            if not may_have_text(file.path, file.size_bytes):
                continue
            key = (file.sha256, file.path)
            if key not in self._read:
                data = self._bytes(file, found.get(file.sha256))
                if data is None:
                    continue
                self._read[key] = inspected(file.path, data, self._rules)
            yield file, self._read[key]

    def _bytes(self, file: InputFile, path: Path | None) -> bytes | None:
        if path is None:
            known = file.sha256 in self._artifacts
            return self._artifacts.read_bytes(file.sha256) if known else None
        data = path.read_bytes()
        if sha256(data).hexdigest() != file.sha256:
            raise BadTaskData(f"{path} changed while it was imported; try again")
        return data
