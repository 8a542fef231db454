"""Let scripted agents work through the real stages, and write their trials with their labels."""

import json
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from environments.mcp.install import install, is_installed
from environments.mcp.servers import PackagedServer, server
from environments.models.keys import PAIRS_VARIABLE, pair_keys
from stages.execute import work as execute
from stages.prepare.work import first_trial
from stages.release.importing import import_bank
from stages.score import work as score
from taskdata.banks.found import find_bank
from taskdata.schema.agent import AgentSpec
from taskdata.schema.diagnosis import LABELS
from taskdata.schema.run import Run, RunConfig, RunStatus, Trial
from taskdata.schema.task import Task
from taskdata.store import Store, StoreAddress
from tests.stages.diagnose.export_trial import export
from tests.stages.diagnose.labelled import FOLDER
from tests.stages.diagnose.scripted.agents import Given, Reply, Script, behaviour, bundled
from tests.wire_server import WireServer, running_wire_server

POOL = Path(__file__).parents[3] / "pool"
_MOST_LINES = 3


@contextmanager
def stage_set() -> Iterator[tuple[Store, WireServer, Path]]:
    """Yield a new store, a provider that plays scripts, and a folder for the trials' files."""
    logging.disable(logging.WARNING)
    os.environ.setdefault(PAIRS_VARIABLE, "")
    os.environ.setdefault("OPENAI_API_KEY", "none")
    with tempfile.TemporaryDirectory() as folder, running_wire_server() as wire:
        pair_keys({name: [wire.url] for name in ("openai", "anthropic", "compatible")})
        address = StoreAddress(
            database_url=f"sqlite:///{folder}/nightshift.db",
            artifacts_url=f"file://{folder}/artifacts",
        )
        store = Store.open(address)
        try:
            yield store, wire, Path(folder)
        finally:
            store.close()


def play(script: Script, store: Store, wire: WireServer, home: Path) -> Trial:
    """Run the script's trial through execute and score; returns the trial."""
    given = _given(script, store, home)
    agent = _agent(script, given, wire, home)
    _install_servers(given.task, home)
    config = dict(script.config)
    if "tool_model" in config:
        config["tool_model_base_url"] = wire.openai_url
    run = Run(
        id=script.name,
        status=RunStatus.RUNNING,
        config=RunConfig.model_validate(
            {"bank": "transcripts", "agents": [agent], "page_pictures": False, **config}
        ),
        release_hash=store.add_release(script.name, (given.task,), given.files).hash,
        code_version="scripted",
        created_at=datetime.now(UTC),
    )
    store.add_run(run)
    trial = first_trial(run.id, agent.name, given.task.content_hash, given.task, 0)
    store.plan_trials([trial])
    wire.script.clear()
    wire.then(
        *(
            behaviour(reply, turn) if isinstance(reply, Reply) else reply
            for turn, reply in enumerate(script.replies, start=1)
        )
    )
    with script.breaks():
        execute.do(store, run.id, 0, home)
        score.do(store, run.id, 0, home=home)
    return trial


def _given(script: Script, store: Store, folder: Path) -> Given:
    if isinstance(script.task, Given):
        return script.task
    if not isinstance(script.task, str):
        return script.task(folder)
    bank, _, name = script.task.partition("/")
    if bank != "pool":
        return bundled(script.task)
    import_bank(store, "club", "toolathlon", POOL)
    (task,) = find_bank(store, "club", [f"toolathlon-{name}"]).tasks([f"toolathlon-{name}"])
    return Given(task, {})


def _agent(script: Script, given: Given, wire: WireServer, home: Path) -> AgentSpec:
    settings = dict(script.settings)
    if script.results is not None:
        folder = home / "results" / script.name
        for name, text in script.results.items():
            path = folder / given.task.id / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        settings |= {"label": "bought", "results": str(folder)}
    if ":" in script.agent:
        settings["base_url"] = wire.openai_url
    return AgentSpec.parse(script.agent, budget=dict(script.budget), **settings)


def _install_servers(task: Task, home: Path) -> None:
    names = task.environment.servers if task.environment else ()
    for known in (server(name, home) for name in names):
        if isinstance(known, PackagedServer) and not is_installed(known, home):
            install(known, home)


def write(script: Script, store: Store, trial: Trial, corpus: Path = FOLDER) -> Path:
    """Write the trial and its labels; returns its folder.

    Raises:
        ValueError: no line of the transcript holds a text that the script names as evidence.
    """
    folder = corpus / script.half / script.name
    export(store, trial.id, folder, script.longest)
    path = folder / "transcript.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    given: dict[str, Any] = {"made_by": "script", "about": script.about}
    if script.stage is not None:
        given["stage"] = script.stage
    if script.type is not None:
        given["type"] = script.type
    if script.levels is not None:
        names = {"leaf": "A", "composition": "B", "deliverable": "C"}
        given["levels"] = {name: letter in script.levels for name, letter in names.items()}
    if script.labels:
        given["labels"] = [
            {
                "taxonomy": _taxonomy(name),
                "name": name,
                "evidence": [place for text in texts for place in _places(text, lines, script)],
            }
            for name, texts in script.labels.items()
        ]
    if script.debatable:
        given["debatable"] = list(script.debatable)
    text = yaml.safe_dump(given, sort_keys=False, allow_unicode=True, width=100)
    (folder / "labels.yaml").write_text(text, encoding="utf-8")
    return folder


def _taxonomy(name: str) -> str:
    (found,) = {kind.value for kind, names in LABELS.items() if name in names}
    return found


def _places(text: str, lines: Sequence[str], script: Script) -> list[dict[str, Any]]:
    kind, _, name = text.partition(":")
    if kind in ("leaf", "deliverable"):
        return [{kind: name}]
    wanted = json.dumps(text, ensure_ascii=False)[1:-1]
    if not lines:
        return []
    # What the agent was told before its first reply is never the evidence.
    replies = (n for n, line in enumerate(lines) if line.startswith('{"kind": "model"'))
    first = next(replies, 0)
    found = [n for n, line in enumerate(lines, start=1) if wanted in line and n > first]
    if not found:
        raise ValueError(f"{script.name}: no line of its transcript holds {text!r}")
    return [{"line": n} for n in found[-_MOST_LINES:]]
