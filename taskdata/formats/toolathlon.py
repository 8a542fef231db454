"""Toolathlon: a folder per task with its state, its programs and what they compare (section 3).

Nothing of what a task brings is run here; the paths of its programs are those in its folder.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.documents import small_document
from taskdata.formats.files import Folder
from taskdata.formats.rows import (
    Imported,
    Made,
    RawRow,
    RowNotes,
    Source,
    each,
    readable,
    refusal,
    slug,
    title_of,
)
from taskdata.places import UNSTORABLE, is_unstorable
from taskdata.schema.checkpoint import Checkpoint, ScriptCheck
from taskdata.schema.task import (
    Capability,
    InputFile,
    Provenance,
    Task,
    TaskEnvironment,
    Tier,
)

CONFIG = "task_config.json"
QUERY = "docs/task.md"
EVALUATION = "evaluation/main.py"
_WORKSPACE = "initial_workspace"
_FIELDS = {"needed_mcp_servers", "needed_local_tools"}
_BYTECODE = "__pycache__"
_MAX_TEXT = 1 << 20


def read(source: Source) -> Iterator[Imported]:
    """Yield the tasks of a folder of task folders, in order of their names.

    Raises:
        Misuse: if there is no task in it.
    """
    folders = _task_folders(source.path)

    def make(raw: RawRow, notes: RowNotes) -> Made:
        return _Reader(source, raw.value, notes).made()

    rows = (RawRow(n, folder.name, folder) for n, folder in enumerate(folders, start=1))
    return each(source, source.path.resolve().name, rows, make)


def _task_folders(path: Path) -> list[Path]:
    if (path / CONFIG).is_file():
        return [path]
    folders = sorted(p.parent for p in path.glob(f"*/{CONFIG}")) if path.is_dir() else []
    if not folders:
        raise Misuse(f"{path}: expected a folder of task folders, each with {CONFIG}")
    return folders


class _Reader:
    """Reads one task folder."""

    def __init__(self, source: Source, root: Path, notes: RowNotes) -> None:
        self.source, self.root, self.notes = source, root, notes
        self.folder = Folder(root)
        self.places: dict[str, Path] = {}

    def made(self) -> Made:
        """Return the task and its files by sha256."""
        if self.root.is_symlink():
            raise refusal(None, "a task folder must not be a link", self.root.name)
        if readable(self.root.name) != self.root.name:
            raise refusal(None, "the name of the folder is no Unicode text", self.root.name)
        config = self._config()
        inputs, around = self._files()
        query = self._text(QUERY)
        for path in self.folder.below("docs", "docs"):
            if path != QUERY:
                self.notes.keep(path, self._text(path))
        self.notes.keep("folder", self.root.name)
        self.notes.keep_rest(config, _FIELDS)
        self.notes.assumed.update(("title", "human_minutes", "capabilities"))
        task = Task(
            id=slug(f"{self.source.format}-{self.root.name}"),
            tier=Tier.WORKFLOW,
            category=self.source.category_of(self.notes),
            capabilities=(Capability.OPERATION,),
            title=title_of(query),
            query=query,
            files=inputs,
            tools=self._tools(config),
            checkpoints=Checkpoint(
                id="root",
                requirement="The state that the task asks for has been reached.",
                children=(
                    Checkpoint(
                        id="evaluation",
                        requirement="The task's own evaluation passes.",
                        verifier=ScriptCheck(entry=EVALUATION),
                    ),
                ),
            ),
            provenance=Provenance(source=self.source.format, license="not stated"),
            environment=TaskEnvironment(servers=_names(config, "needed_mcp_servers"), **around),
            extras=self.source.extras(self.notes),
        )
        return task, self.places

    def _config(self) -> Mapping[str, Any]:
        self.folder.find(CONFIG, CONFIG)
        try:
            config = small_document(self.root / CONFIG)
        except BadTaskData as exc:
            raise refusal(CONFIG, str(exc)) from exc
        if not isinstance(config, Mapping):
            raise refusal(CONFIG, "must be a mapping", config)
        return config

    def _tools(self, config: Mapping[str, Any]) -> tuple[str, ...]:
        tools = _names(config, "needed_local_tools")
        if not tools:
            self.notes.assumed["tools"] += 1
        return tools or ("finish",)

    def _text(self, path: str) -> str:
        file, place = self.folder.find(path, path)
        if file.size_bytes > _MAX_TEXT:
            raise refusal(path, f"larger than {_MAX_TEXT >> 20} MB")
        try:
            text = place.read_text(encoding="utf-8")
        except UnicodeDecodeError as exc:
            raise refusal(path, f"not UTF-8 at byte {exc.start}") from exc
        if is_unstorable(text):
            raise refusal(path, UNSTORABLE, text)
        return text

    def _files(self) -> tuple[tuple[InputFile, ...], dict[str, tuple[InputFile, ...]]]:
        """Return the input files, and the hidden ones by their part of the environment.

        What belongs to no part in particular may be wanted by the preprocessing and goes with it.
        """
        inputs: list[InputFile] = []
        around: dict[str, list[InputFile]] = {"preprocess": [], "evaluation": [], "groundtruth": []}
        for path in self.folder.below("files", "."):
            top, _, inner = path.partition("/")
            if top == "docs" or path == CONFIG:
                continue
            if _BYTECODE in path.split("/"):
                self.notes.ignored[_BYTECODE] += 1
                continue
            file, place = self.folder.find(path, path)
            self.places[file.sha256] = place
            if top == _WORKSPACE and inner:
                inputs.append(file.model_copy(update={"path": inner}))
            elif top == "groundtruth_workspace":
                around["groundtruth"].append(file)
            else:
                around["evaluation" if top == "evaluation" else "preprocess"].append(file)
        if not any(file.path == EVALUATION for file in around["evaluation"]):
            raise refusal(EVALUATION, "is missing: nothing says whether the task is solved")
        return tuple(inputs), {part: tuple(files) for part, files in around.items()}


def _names(config: Mapping[str, Any], name: str) -> tuple[str, ...]:
    given = config.get(name) or []
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise refusal(f"{CONFIG}: {name}", "must be a list of names", given)
    return tuple(given)
