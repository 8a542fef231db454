"""Tasks of a pool: a folder each with its state, its programs and what they compare (section 3).

Nothing of what a task brings is run here; the paths of its programs are those in its folder.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from taskdata.errors import BadTaskData
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
from taskdata.formats.toolathlon.pool import CONFIG, SHARED, Pool, found_pool, our_name
from taskdata.formats.toolathlon.pool_servers import PoolServers
from taskdata.places import UNSTORABLE, is_unstorable
from taskdata.schema.checkpoint import Checkpoint, ScriptCheck
from taskdata.schema.environment import INITIAL
from taskdata.schema.pool_server import PoolServer
from taskdata.schema.service import PostgresqlService, Service
from taskdata.schema.task import (
    Capability,
    InputFile,
    Provenance,
    Resources,
    Task,
    TaskEnvironment,
    Tier,
)

QUERY = "docs/task.md"
EVALUATION = "evaluation/main.py"
SERVERS_NEEDED = "needed_mcp_servers"
_FIELDS = {SERVERS_NEEDED, "needed_local_tools"}
_SYSTEM_PROMPT = "docs/agent_system_prompt.md"
_PLACEHOLDERS = {
    "!!<<<<||||workspace_dir||||>>>>!!": "/workspace/output",
    "!!<<<<||||workspace_dir_rela||||>>>>!!": "output",
    "!!<<<<||||current_working_dir||||>>>>!!": "/workspace",
    # The pool's own loop puts this before the names of tools that are not a server's.
    "local-claim_done": "claim_done",
}
_BYTECODE = "__pycache__"
_DEBRIS = (".gitkeep", ".DS_Store")
_APPLE_DOUBLE = "._"
"""What macOS writes beside the files of an archive."""
_IMPORTS_SHARED = re.compile(rb"^[ \t]*(?:from|import)[ \t]+utils\b", re.MULTILINE)
_IMPORTS_DATABASE = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(?:psycopg2?|asyncpg|pg8000|sqlalchemy)\b", re.MULTILINE
)
_DATABASE = PostgresqlService(
    # The names that the pool's servers and programs have in them.
    name="database",
    database="toolathlon_gym",
    user="eigent",
    password="camel",  # noqa: S106 - published with the pool, and of a server of each trial's own
)
_MAX_TURNS = 100
"""The limit of turns in the pool's own agent loop."""
_FOLDERS = {
    "arxiv_local": "arxiv_local_storage",
    "memory": "memory",
    "playwright_with_chunk": ".playwright_output",
}
"""Folders that the pool's own agent loop makes in the workspace for servers."""
_MAX_TEXT = 1 << 20
_MAX_FILES = 2_000
"""Files that a workspace may hold in the end, its initial ones included."""


def read(source: Source) -> Iterator[Imported]:
    """Yield the tasks of a pool, in order of their names.

    Raises:
        Misuse: if there is no task in it.
    """
    pool = found_pool(source.path)
    source.ignored.update(pool.faults)
    servers = PoolServers(pool, source.scratch)

    def make(raw: RawRow, notes: RowNotes) -> Made:
        return _Reader(source, pool, servers, raw.value, notes).made()

    rows = (RawRow(n, folder.name, folder) for n, folder in enumerate(pool.folders, start=1))
    return each(source, source.path.resolve().name, rows, make)


class _Reader:
    """Reads one task folder."""

    def __init__(
        self, source: Source, pool: Pool, servers: PoolServers, root: Path, notes: RowNotes
    ) -> None:
        self.source, self.pool, self.servers = source, pool, servers
        self.root, self.notes = root, notes
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
        services = self._services(config, around)
        asks = self._imports_database(around.get("evaluation", ()))
        query = self._text(QUERY)
        for path in self.folder.below("docs", "docs"):
            if path != QUERY:
                self.notes.keep(path, self._text(path))
        self.notes.keep("folder", self.root.name)
        self._keep_servers(config)
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
            checkpoints=_evaluated([service.name for service in services] if asks else []),
            resources=Resources(max_files=_MAX_FILES),
            provenance=Provenance(
                source=self.source.format, license=self.source.licence_of(self.notes)
            ),
            environment=TaskEnvironment(
                servers=tuple(our_name(name) for name in _names(config, SERVERS_NEEDED)),
                one_workspace=True,
                services=services,
                system_prompt=self._system_prompt(),
                folders=self._folders(config, inputs),
                max_turns=_MAX_TURNS,
                pool_servers=self._pool_servers(config),
                **around,
            ),
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

    def _keep_servers(self, config: Mapping[str, Any]) -> None:
        """Keep how the pool starts the servers that the task needs."""
        needed = _names(config, SERVERS_NEEDED)
        kept = {n: self.pool.servers[n].params for n in needed if n in self.pool.servers}
        if kept:
            dumped = {name: params.model_dump(mode="json") for name, params in kept.items()}
            self.notes.keep("servers", dumped)

    def _pool_servers(self, config: Mapping[str, Any]) -> tuple[PoolServer, ...]:
        """Return the task's servers that the pool brings; the import reports refused ones."""
        found = []
        for name in dict.fromkeys(_names(config, SERVERS_NEEDED)):
            server = self.servers.named(name)
            if server is None:
                continue
            if server.source is None:
                self.notes.ignored[f"server {name} of the pool: {server.refused}"] += 1
            else:
                self.places[server.source.sha256] = self.servers.archive(server)
            found.append(server)
        return tuple(found)

    def _services(
        self, config: Mapping[str, Any], around: Mapping[str, Iterable[InputFile]]
    ) -> tuple[Service, ...]:
        """Return the pool's database where the task's servers or programs work on it."""
        dump, root = self.pool.dump, self.pool.root
        if dump is None or root is None:
            return ()
        programs = [file for part in around.values() for file in part]
        served = self.pool.database_servers.intersection(_names(config, SERVERS_NEEDED))
        if not served and not self._imports_database(programs):
            return ()
        self.places[dump.sha256] = root / dump.path
        return (_DATABASE.model_copy(update={"files": (dump,)}),)

    def _imports_database(self, files: Iterable[InputFile]) -> bool:
        return any(
            _IMPORTS_DATABASE.search(self.places[file.sha256].read_bytes())
            for file in files
            if file.path.endswith(".py")
        )

    def _system_prompt(self) -> str:
        """Return the task's system prompt, with the folders of our sandboxes filled in."""
        text = self._text(_SYSTEM_PROMPT) if (self.root / _SYSTEM_PROMPT).exists() else ""
        for placeholder, value in _PLACEHOLDERS.items():
            text = text.replace(placeholder, value)
        return text.strip()

    def _folders(self, config: Mapping[str, Any], inputs: Iterable[InputFile]) -> tuple[str, ...]:
        """Return the folders that the task's servers need and its files do not contain."""
        brought = {file.path.partition("/")[0] for file in inputs}
        needed = _names(config, SERVERS_NEEDED)
        folders = (_FOLDERS[name] for name in needed if name in _FOLDERS)
        return tuple(folder for folder in folders if folder not in brought)

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
            if debris := _debris(path):
                self.notes.ignored[debris] += 1
                continue
            file, place = self.folder.find(path, path)
            self.places[file.sha256] = place
            if top == INITIAL and inner:
                inputs.append(file.model_copy(update={"path": inner}))
            elif top == "groundtruth_workspace":
                around["groundtruth"].append(file)
            else:
                around["evaluation" if top == "evaluation" else "preprocess"].append(file)
        if not any(file.path == EVALUATION for file in around["evaluation"]):
            raise refusal(EVALUATION, "is missing: nothing says whether the task is solved")
        self._add_shared(around)
        return tuple(inputs), {part: tuple(files) for part, files in around.items()}

    def _add_shared(self, around: dict[str, list[InputFile]]) -> None:
        """Add the pool's own package to programs that import it."""
        for part in ("preprocess", "evaluation"):
            places = [self.places[f.sha256] for f in around[part] if f.path.endswith(".py")]
            if not any(_IMPORTS_SHARED.search(place.read_bytes()) for place in places):
                continue
            for path in self.pool.shared():
                file, place = Folder(self.pool.root or self.root).find(SHARED, path)
                self.places[file.sha256] = place
                around[part].append(file)


def _names(config: Mapping[str, Any], name: str) -> tuple[str, ...]:
    given = config.get(name) or []
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise refusal(f"{CONFIG}: {name}", "must be a list of names", given)
    return tuple(given)


def _debris(path: str) -> str | None:
    """Return the kind of a file that tools left and no task means, None for any other file."""
    *folders, name = path.split("/")
    if _BYTECODE in folders:
        return _BYTECODE
    if any(part.startswith(_APPLE_DOUBLE) for part in (*folders, name)):
        return f"{_APPLE_DOUBLE}*"
    return name if name in _DEBRIS else None


def _evaluated(services: Sequence[str]) -> Checkpoint:
    """Return the tree of a task: its one leaf is the task's own evaluation over these services."""
    evaluation = Checkpoint(
        id="evaluation",
        requirement="The task's own evaluation passes.",
        verifier=ScriptCheck(entry=EVALUATION, services=tuple(services)),
    )
    return Checkpoint(
        id="root",
        requirement="The state that the task asks for has been reached.",
        children=(evaluation,),
    )
