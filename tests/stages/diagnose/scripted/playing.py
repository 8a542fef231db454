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

from environments.models.keys import PAIRS_VARIABLE, pair_keys
from stages.execute import work as execute
from stages.prepare.work import first_trial
from stages.score import work as score
from taskdata.schema.agent import AgentSpec
from taskdata.schema.diagnosis import LABELS
from taskdata.schema.run import Run, RunConfig, RunStatus, Trial
from taskdata.schema.task import Task
from taskdata.store import Store, StoreAddress
from tests.stages.diagnose.export_trial import export
from tests.stages.diagnose.labelled import FOLDER
from tests.stages.diagnose.scripted.agents import Given, Reply, Script, behaviour, bundled
from tests.wire_server import WireServer, running_wire_server

_MOST_LINES = 3


@contextmanager
def stage_set() -> Iterator[tuple[Store, WireServer, Path]]:
    """Yield a new store, a provider that plays scripts, and a state folder."""
    logging.getLogger("stages").setLevel(logging.ERROR)
    os.environ.setdefault(PAIRS_VARIABLE, "")
    with tempfile.TemporaryDirectory() as home, running_wire_server() as wire:
        pair_keys({name: [wire.url] for name in ("openai", "anthropic", "compatible")})
        address = StoreAddress(
            database_url=f"sqlite:///{home}/nightshift.db", artifacts_url=f"file://{home}/artifacts"
        )
        store = Store.open(address)
        try:
            yield store, wire, Path(home)
        finally:
            store.close()


def play(script: Script, store: Store, wire: WireServer, home: Path) -> Trial:
    """Run the script's trial through execute and score; returns the trial."""
    given = script.task
    if isinstance(given, str):
        given = bundled(given)
    elif isinstance(given, Task):
        given = Given(given, {})
    has_model = ":" in script.agent
    agent = AgentSpec.parse(
        script.agent,
        base_url=wire.openai_url if has_model else None,
        budget=dict(script.budget),
        **script.settings,
    )
    run = Run(
        id=script.name,
        status=RunStatus.RUNNING,
        config=RunConfig.model_validate(
            {"bank": "transcripts", "agents": [agent], "page_pictures": False, **script.config}
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
    execute.do(store, run.id, 0, home)
    score.do(store, run.id, 0, home=home)
    return trial


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
    (found,) = [kind.value for kind, names in LABELS.items() if name in names]
    return found


def _places(text: str, lines: Sequence[str], script: Script) -> list[dict[str, Any]]:
    kind, _, name = text.partition(":")
    if kind in ("leaf", "deliverable"):
        return [{kind: name}]
    wanted = json.dumps(text, ensure_ascii=False)[1:-1]
    # What the agent was told before its first reply is never the evidence.
    first = next(n for n, line in enumerate(lines) if line.startswith('{"kind": "model"'))
    found = [n for n, line in enumerate(lines, start=1) if wanted in line and n > first]
    if not found:
        raise ValueError(f"{script.name}: no line of its transcript holds {text!r}")
    return [{"line": n} for n in found[-_MOST_LINES:]]
