"""Fixtures shared by every room, and the rule that CI may not skip engine tests."""

import gc
import importlib.util
import io
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

from environments.models.keys import PAIRS_VARIABLE, pair_keys
from stages.prepare.work import first_trial
from taskdata.private_files import private_folder
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.construct import (
    Candidate,
    Construction,
    ConstructionStep,
    Origin,
    Refresh,
    RefreshConfig,
    RefreshStatus,
    TaskDraft,
)
from taskdata.schema.run import Run, RunConfig, RunStatus, StageReport, Trial
from taskdata.schema.task import Capability, Category, DeliverableSpec, DeliverableType, Task, Tier
from taskdata.store import Store, StoreAddress

# A Rich console fixes its size, colours and terminal when its module is imported, so the terminal
# of the person who runs the tests must be gone before that.
for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(_name, None)

# How fast examples are made says something of the machine, nothing of the code.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")

pytest_plugins = ["tests.postgres"]

ENGINES = ("docker", "postgres", "browser", "node", "office")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """With NIGHTSHIFT_REQUIRE_ENGINES=1 a test that skips for want of an engine has failed."""
    report = yield
    wanted = os.environ.get("NIGHTSHIFT_REQUIRE_ENGINES") == "1"
    # These wait for `make soak`, not for an engine; see `soak.py`.
    wanted = wanted and "runs in `make soak`" not in str(report.longrepr)
    if report.skipped and wanted and any(item.get_closest_marker(m) for m in ENGINES):
        report.outcome = "failed"
        report.longrepr = f"skipped where the engine is required: {report.longrepr}"
    return report


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a test after the beginning of what it is given: some of that has millions of letters."""
    return f"{val[:60]!r}..." if isinstance(val, str | bytes) and len(val) > 200 else None


ONE_AFTER_THE_OTHER = {
    "test_night.py": "night",
    "test_dashboard.py": "night",
    "test_docs.py": "night",
    "test_crash.py": "night",
}
"""End-to-end files that share a costly fixture stay in one process."""

LONG = ("night", "test_starter_proof.py", "test_chaos.py", "test_production.py")
"""Groups and files of minutes each: begun last, they would leave the other processes idle."""


# Modules and tests stay until the end: searching them for garbage while they are made takes a
# quarter of the time of collecting them, and each later search would go through them again.
gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Search for garbage from here on, among what tests make alone."""
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-xdist deal files in our order, not those with the most tests first."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in the same hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep each file in one process where `make test` runs several: its fixtures are made once."""
    rank: dict[pytest.Item, int] = {}
    for item in items:
        end_to_end = item.get_closest_marker("e2e")
        group = ONE_AFTER_THE_OTHER.get(item.path.name) if end_to_end else None
        item.add_marker(pytest.mark.xdist_group(group or str(item.path)))
        long = group or item.path.name
        rank[item] = LONG.index(long) if long in LONG else len(LONG) + (end_to_end is None)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank[item])


def _load_module(path: Path) -> ModuleType:
    if path.stem not in sys.modules:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[path.stem])
    return sys.modules[path.stem]


@pytest.fixture(scope="session")
def load_module() -> Callable[[Path], ModuleType]:
    """Import a file beside the tests once; no folder of theirs is a package."""
    return _load_module


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A scripted model provider on this machine, which may get keys; see `wire_server.py`."""
    with _load_module(Path(__file__).with_name("wire_server.py")).running_wire_server() as server:
        monkeypatch.setenv(PAIRS_VARIABLE, "")
        pair_keys({name: [server.url] for name in ("openai", "anthropic", "compatible")})
        yield server


@pytest.fixture(scope="session")
def construct() -> Callable[..., tuple[StageReport, ...]]:
    """Go through all stages that ask a model; see `rounds.py`."""
    return _load_module(Path(__file__).with_name("rounds.py")).construct


@pytest.fixture
def new_zip() -> Callable[..., bytes]:
    """Make a ZIP archive of the files given by name; returns its bytes."""

    def make(method: int = zipfile.ZIP_DEFLATED, **files: bytes) -> bytes:
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", method) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return target.getvalue()

    return make


@pytest.fixture
def store_address(tmp_path: Path) -> StoreAddress:
    return StoreAddress(
        database_url=f"sqlite:///{tmp_path}/night shift.db",
        artifacts_url=f"file://{tmp_path}/artifacts",
    )


@pytest.fixture(scope="session")
def migrated_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file of our newest schema, without rows, to copy.

    To migrate anew for each of a thousand tests would take a tenth of their time.
    """
    folder = tmp_path_factory.mktemp("migrated")
    address = StoreAddress(
        database_url=f"sqlite:///{folder}/nightshift.db", artifacts_url=f"file://{folder}/artifacts"
    )
    Store.open(address).close()
    return folder / "nightshift.db"


@pytest.fixture(scope="session")
def open_store(migrated_database: Path) -> Callable[[StoreAddress], Store]:
    """Open a store; a database in a file that is not there yet has its tables at once."""

    def opened(address: StoreAddress) -> Store:
        kind, _, path = address.database_url.partition(":///")
        if kind == "sqlite" and not Path(path).exists():
            if not Path(path).parent.exists():
                private_folder(Path(path).parent)
            shutil.copy(migrated_database, path)
        return Store.open(address)

    return opened


@pytest.fixture
def store(store_address: StoreAddress, open_store: Callable[[StoreAddress], Store]):
    store = open_store(store_address)
    yield store
    store.close()


@pytest.fixture
def kept_file(store: Store) -> Callable[[str], Path]:
    """Find the file that holds the bytes of a hash, to harm it."""

    def find(sha256: str) -> Path:
        (path,) = Path(store.artifacts.url.removeprefix("file://")).rglob(sha256)
        return path

    return find


def make_task(task_id: str = "sum-two", **changes: object) -> Task:
    """A small valid task: one JSON deliverable with three checked values."""
    leaves = tuple(
        Checkpoint(
            id=name,
            requirement=f"The {name} is right.",
            verifier=Check(
                name="json_values", deliverable="out.json", args={"values": {name: number}}
            ),
        )
        for name, number in (("sum", 5), ("difference", 1), ("product", 6))
    )
    fields: dict[str, object] = {
        "id": task_id,
        "tier": Tier.WORKFLOW,
        "category": Category.DATA_ANALYSIS,
        "capabilities": (Capability.LOGIC,),
        "title": "Sum two numbers",
        "query": "Please put the sum, difference and product of 3 and 2 into out.json.",
        "tools": ("python_execute", "write_file", "finish"),
        "deliverables": (DeliverableSpec(name="out.json", type=DeliverableType.JSON),),
        "checkpoints": Checkpoint(id="root", requirement="The file is right.", children=leaves),
    }
    return Task.model_validate(fields | changes)


def make_answer_task(task_id: str = "sum-two", **changes: object) -> Task:
    """The same without a file to write: whatever an agent answers first may be its last reply."""
    check = Check(name="answer_contains", args={"all": [["5"]]})
    fields: dict[str, object] = {
        "query": "Please put the sum, difference and product of 3 and 2 into your answer.",
        "deliverables": (),
        "checkpoints": Checkpoint(id="sum", requirement="The sum is right.", verifier=check),
    }
    return make_task(task_id, **(fields | changes))


@pytest.fixture
def task() -> Task:
    return make_task()


@pytest.fixture
def new_task():
    """The factory behind `task`, for tests that vary it."""
    return make_task


@pytest.fixture
def new_answer_task():
    """The factory of tasks that ask for an answer alone."""
    return make_answer_task


@pytest.fixture
def new_run(store: Store):
    """Make a run over tasks of one's own; returns it as stored."""

    def make(*tasks: Task, agents: tuple[str | AgentSpec, ...] = ("nop",), **config: object) -> Run:
        specs = [a if isinstance(a, AgentSpec) else AgentSpec.parse(a) for a in agents]
        release = store.add_release("test", tasks or (make_task(),), {})
        run = Run(
            id=f"run-{len(store.runs())}",
            status=RunStatus.RUNNING,
            config=RunConfig.model_validate({"bank": "test", "agents": specs, **config}),
            release_hash=release.hash,
            code_version="test",
            created_at=datetime.now(UTC),
        )
        store.add_run(run)
        return run

    return make


@pytest.fixture
def plan_trial(store: Store):
    """Plan a trial on a task of a run, of `nop` by default; returns it."""

    def plan(
        run: Run,
        task: Task,
        agent: str = "nop",
        repetition: int = 0,
        round_: int = 0,
        feedback: str | None = None,
        arm: str = "checkpoint",
    ) -> Trial:
        trial = first_trial(run.id, agent, task.content_hash, task, repetition)
        if round_:
            own, parent = (
                Trial.make_id(run.id, agent, task.id, repetition, number, arm if number else "")
                for number in (round_, round_ - 1)
            )
            refined = {
                "id": own,
                "round": round_,
                "arm": arm,
                "parent_trial_id": parent,
                "feedback": feedback,
            }
            trial = trial.model_copy(update=refined)
        store.plan_trials([trial])
        return trial

    return plan


@pytest.fixture
def new_refresh(store: Store):
    """Store the refresh `r1`; what its configuration says may vary."""

    def make(status: RefreshStatus = RefreshStatus.RUNNING, **config: object) -> Refresh:
        fields = {"base": None, "model": ModelSpec(provider="openai", model="gpt-5.2")}
        refresh = Refresh(
            id="r1",
            status=status,
            config=RefreshConfig.model_validate(fields | config),
            code_version="test",
            created_at=datetime.now(UTC),
        )
        store.add_refresh(refresh)
        return refresh

    return make


@pytest.fixture
def new_candidate(store: Store):
    """Store a candidate of the refresh `r1`, drafted as the task, that has come to a stage."""

    def make(task: Task, stage: Construction, **changes: object) -> Candidate:
        fields = {
            "id": f"c-{task.id}",
            "refresh_id": "r1",
            "task_id": task.id,
            "tier": task.tier,
            "origin": Origin.SEED,
            "stage": Construction.GENERATE,
        }
        candidate = Candidate.model_validate(fields | changes)
        store.add_candidates([candidate])
        draft = {name: getattr(task, name) for name in TaskDraft.model_fields if name != "files"}
        step = ConstructionStep(
            candidate_id=candidate.id,
            stage=Construction.GENERATE,
            attempt=1,
            verdict="drafted",
            draft=TaskDraft.model_validate(draft),
            prompt_version="generate@1",
            model_id="gpt-5.2-2026",
            code_version="test",
            at=datetime.now(UTC),
        )
        store.record_step(step, stage=stage)
        return store.candidate(candidate.id)

    return make
