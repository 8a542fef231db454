"""Settings: the only reader of `nightshift.toml`, and of the variables that overrule it.

Beside them the environment is read where something is needed: keys, tokens, a provider's account
and base URL, which no setting may hold, for settings are stored with a run; `PREFECT_API_URL`,
which is Prefect's own; what a child process is given; `NIGHTSHIFT_PRICES`; and, as these settings
have put them there, `NIGHTSHIFT_HOME` and which servers get which keys.
"""

import ipaddress
import math
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from environments.models.keys import pair_endpoints, pair_keys
from flows.notices.settings import Notifications
from flows.serving.schedule import TimeZone
from quality.limits import GateLimits
from taskdata.banks.loader import describe
from taskdata.errors import Misuse
from taskdata.private_files import tighten
from taskdata.schema.agent import PLANNER, AgentSpec, Budget, ModelSpec
from taskdata.schema.agreement import Minima
from taskdata.schema.base import Value
from taskdata.schema.construct import RefreshConfig
from taskdata.schema.retention import Age, KeepRule
from taskdata.schema.run import RunConfig
from taskdata.schema.safety import SafetyRules
from taskdata.store import StoreAddress

_PREFECT_KEEPS = "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD"

DEFAULT_AGENTS = ("reference", "nop", "react:local/qwen2.5-coder-0.5b")

LOCAL_BUDGET = Budget(max_turns=2, max_reply_tokens=160, max_tokens=12_000, max_seconds=240)
"""For models on this machine's CPU: a whole default run must end within minutes."""

LOCAL_PLANNING_BUDGET = LOCAL_BUDGET.model_copy(
    update={"max_reply_tokens": 700, "max_tokens": 24_000, "max_seconds": 600}
)
"""For the same as planners: a reply is a whole plan, and the time is enough for two of them."""


class StageDeadlines(Value):
    """When a stage that works on trials ends, whatever is still to be done; from its beginning."""

    execute: float = Field(default=8 * 3600.0, gt=0)
    score: float = Field(default=4 * 3600.0, gt=0)
    diagnose: float = Field(default=2 * 3600.0, gt=0)
    """Of the labeller; rules take seconds."""


class DaskTls(Value):
    """The certificates with which a night speaks to a Dask scheduler of the user's."""

    ca_file: Path
    """Whose certificates are believed."""
    cert: Path
    key: Path


class Retention(KeepRule):
    """Which runs stay, and when a served installation removes the others."""

    schedule: str = "0 12 * * *"
    """Cron expression, in `schedule_timezone`, of the prune of a served installation, which there
    is where `older_than` or `keep` is set."""
    prefect: Age = Field(default=timedelta(days=30), gt=timedelta(hours=1))
    """How long the local Prefect server keeps flow runs that have ended, with their logs."""


class NightRules(Value):
    """What a night does beside its stages."""

    confirm: int = Field(default=0, ge=0, le=64)
    """How often what stands out is run again, to be confirmed or refuted; 0: it is not."""


class Settings(BaseSettings):
    """Where things are; `NIGHTSHIFT_...` in the environment wins over `nightshift.toml`."""

    model_config = SettingsConfigDict(
        env_prefix="NIGHTSHIFT_", toml_file="nightshift.toml", extra="forbid"
    )

    home: Path = Path(".nightshift")
    """State of this installation: database, artifacts, dashboards, Prefect's own files."""
    database_url: str | None = None
    artifacts_url: str | None = None
    prefect_port: int = Field(default=4711, ge=1, le=65535)
    """Port of the local Prefect server; another free one is taken where it is occupied."""
    dashboard_port: int = Field(default=4713, ge=1, le=65535)
    """Port at which dashboards are served; another free one is taken where it is occupied."""
    dashboard_host: str = "127.0.0.1"
    """Address at which `serve` listens for dashboards beside your own Prefect server; a container
    has `0.0.0.0`, and publishes the port on the loopback address of its host."""
    dask_scheduler: str | None = None
    """Address of a Dask scheduler; None: a local cluster for the length of a stage."""
    dask_tls: DaskTls | None = None
    """The `[dask_tls]` table, for that scheduler; None: as Dask's own configuration says."""
    dask_unencrypted: bool = False
    """Whether a scheduler without TLS is allowed; anybody who can connect to it can run code on it.
    """
    schedule: str = "0 2 * * *"
    """Cron expression of the nightly deployment."""
    schedule_timezone: TimeZone = "UTC"
    """What the schedule's hours are of."""
    nights_at_once: int = Field(default=1, ge=1)
    """How many flow runs of the deployment `nightly` may run at once."""
    refreshes_at_once: int = Field(default=1, ge=1)
    """How many flow runs of the deployment `refresh` may run at once."""
    when_busy: Literal["wait", "skip"] = "wait"
    """What becomes of a night or refresh beyond these: it runs later, or is cancelled."""
    notifications: Notifications = Notifications()
    """The `[notifications]` table: who is told when something went wrong or waits."""
    refresh_on_arrival: bool = True
    """Whether a served installation refreshes the bank of `[refresh]` when seeds arrive."""
    stage_seconds: StageDeadlines = StageDeadlines()
    """The `[stage_seconds]` table; `inf` is no deadline."""
    retention: Retention = Retention()
    """The `[retention]` table: which runs stay, and when the others go."""
    night_seconds: float = Field(default=math.inf, gt=0)
    """When a whole night ends: no stage that costs money begins later, or goes on."""
    missed_nights: Literal["skip", "latest"] = "skip"
    """What becomes of nights that were due while nothing was served: the latest may run once."""
    key_hosts: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The `[key_hosts]` table: servers, by provider, that get its key beside its own."""
    agreement: Minima = Minima()
    """The `[agreement]` table: what a judge must reach against people, or a run says so."""
    safety: SafetyRules = SafetyRules()
    """The `[safety]` table: what becomes of personal data and of harm in seeds and drafts."""
    night: NightRules = NightRules()
    """The `[night]` table."""
    gates: GateLimits = GateLimits()
    """The `[gates]` table: the limits of every gate."""
    judge: dict[str, Any] = Field(default_factory=dict)
    """The `[judge]` table: what the judge of a run takes and how much it is shown."""
    run: dict[str, Any] = Field(default_factory=dict)
    """The `[run]` table: defaults of every run."""
    refresh: dict[str, Any] = Field(default_factory=dict)
    """The `[refresh]` table: defaults of every refresh of a bank."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments first, then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @property
    def address(self) -> StoreAddress:
        """Where the store is."""
        home = self.home.resolve()
        return StoreAddress(
            database_url=self.database_url or f"sqlite:///{home}/nightshift.db",
            artifacts_url=self.artifacts_url or f"file://{home}/artifacts",
        )

    def run_folder(self, run_id: str) -> Path:
        """Return the folder of a run's published files."""
        return self.home.resolve() / "runs" / run_id

    @property
    def site_folder(self) -> Path:
        """Return the folder of the pages over all nights."""
        return self.home.resolve() / "site"

    @property
    def judges_folder(self) -> Path:
        """Return the folder of the cards of judges, as pages."""
        return self.home.resolve() / "judges"

    @property
    def inbox(self) -> Path:
        """The folder into which seed files are dropped."""
        return self.home.resolve() / "inbox"

    def bank_folder(self, bank: str) -> Path:
        """Return the folder of a bank's published releases."""
        return self.home.resolve() / "banks" / bank


def load_settings() -> Settings:
    """Return the settings of this process.

    Rooms below, and worker processes, find the state's folder where the environment says, also
    when it was `nightshift.toml` that said it.

    Raises:
        Misuse: if the environment or `nightshift.toml` does not fit; names the field.
    """
    settings = _found_settings()
    if settings.dask_scheduler is not None:
        _require_encrypted(settings, settings.dask_scheduler)
        _require_within_reach(settings, settings.dask_scheduler)
    os.environ["NIGHTSHIFT_HOME"] = str(settings.home.resolve())
    # Prefect reads its settings from the environment, when it is imported.
    kept_seconds = str(int(settings.retention.prefect.total_seconds()))
    os.environ.setdefault(_PREFECT_KEEPS, kept_seconds)
    tighten(settings.home)
    pair_keys(settings.key_hosts)
    pair_endpoints(_endpoints(settings))
    return settings


def _endpoints(settings: Settings) -> Iterator[tuple[ModelSpec, str | None]]:
    """Yield the models that the settings name, each with its base URL, which pairs the two."""
    config = _if_valid(run_config, settings)
    if isinstance(config, RunConfig):
        yield from ((agent.model, agent.base_url) for agent in config.agents if agent.model)
        for name in ("tool_model", "image_model", "video_model"):
            model = getattr(config, name)
            if model is not None:
                yield model, getattr(config, f"{name}_base_url")
        yield from ((judge.model, judge.base_url) for judge in config.every_judge)
        if config.labeller is not None:
            yield config.labeller, config.labeller_base_url
    refresh = _if_valid(refresh_config, settings)
    if isinstance(refresh, RefreshConfig):
        yield from refresh.models


def _if_valid(read: Callable[[Settings], Value], settings: Settings) -> Value | None:
    try:
        return read(settings)
    except Misuse:
        return None  # who wants it is told what is wrong with it, and nobody else is kept up


def _found_settings() -> Settings:
    try:
        return Settings()
    except ValidationError as exc:
        raise Misuse(f"settings (environment or nightshift.toml): {describe(exc)}") from exc
    except SettingsError as exc:
        raise Misuse(
            f"environment: {exc}; a table is JSON there, as in "
            """NIGHTSHIFT_STAGE_SECONDS='{"execute": 3600}'"""
        ) from exc
    except ValueError as exc:
        raise Misuse(f"nightshift.toml: {exc}") from exc


def _require_encrypted(settings: Settings, scheduler: str) -> None:
    """Raise `Misuse` for a scheduler without TLS, unless the settings allow that."""
    if settings.dask_unencrypted or scheduler.startswith("tls://"):
        return
    raise Misuse(
        f"dask_scheduler {scheduler}: whoever reaches it can run code on it: use tls://HOST:PORT "
        "with certificates in [dask_tls], or, in a network that nobody else reaches, "
        "dask_unencrypted = true"
    )


def _require_within_reach(settings: Settings, scheduler: str) -> None:
    """Refuse a store that workers of that scheduler could not open, unless all is in one place."""
    if _is_loopback(scheduler):
        return
    wanted = f"workers of dask_scheduler {scheduler} may be on other machines"
    if settings.address.database_url.startswith("sqlite"):
        raise Misuse(f"{wanted}: set database_url to a PostgreSQL server's")
    if settings.artifacts_url is None:
        raise Misuse(
            f"{wanted}: set artifacts_url, such as s3://BUCKET/FOLDER or file:// and a folder "
            "that all of them share"
        )


def _is_loopback(address: str) -> bool:
    """Whether only this machine can be meant by an address such as `tcp://127.0.0.1:8786`."""
    try:
        host = urlsplit(address if "://" in address else f"tcp://{address}").hostname
    except ValueError:
        host = None
    if not host:
        raise Misuse(f"dask_scheduler {address!r}: expected such as tcp://HOST:8786")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def run_config(settings: Settings, **changes: Any) -> RunConfig:
    """Return the configuration of a new run: defaults, then `[run]`, then `changes`.

    Agents are given by name, or as a table with `name` and settings; the label of one of the
    tables under `[run]` stands for it. None leaves a default.

    Raises:
        Misuse: if it does not fit; names the field.
    """
    fields: dict[str, Any] = {"agents": DEFAULT_AGENTS, "judging": settings.judge} | settings.run
    given = {key: value for key, value in changes.items() if value is not None}
    fields |= given
    if given.keys() & {"judge", "judges"}:
        fields |= _judges(settings, given)
    try:
        labelled = _labelled(settings.run.get("agents", ()))
        items = (labelled.get(i, i) if isinstance(i, str) else i for i in fields["agents"])
        fields["agents"] = tuple(_placed(_agent(item)) for item in items)
        return RunConfig.model_validate(fields)
    except ValidationError as exc:
        raise Misuse(f"run configuration: {describe(exc)}") from exc


def _judges(settings: Settings, given: dict[str, Any]) -> dict[str, Any]:
    """Return the judges that were named, in place of those of `[run]`, which know endpoints."""
    tables = [one for one in settings.run.get("judges", ()) if isinstance(one, dict)]
    known = {one.get("model"): one for one in tables}
    named = given.get("judges") or given["judge"]
    listed = named if isinstance(named, list | tuple) else [named]
    judges = [known.get(one, one) if isinstance(one, str) else one for one in listed]
    if len(judges) != 1:
        return {"judge": None, "judges": tuple(judges)}
    if isinstance(judges[0], dict):
        alone = {"judge": judges[0]["model"], "judge_base_url": judges[0].get("base_url")}
        return alone | {"judges": ()}
    return {"judge": judges[0], "judges": ()}


PLAN_DEFAULTS = {"bank": "planning", "base": None}
"""Of a refresh that makes planning cases: it builds on no bank of tasks."""


def refresh_config(settings: Settings, **changes: Any) -> RefreshConfig:
    """Return the configuration of a new refresh: defaults, then `[refresh]`, then `changes`.

    The model may be given by name; None leaves a default.

    Raises:
        Misuse: if it does not fit or names no model; names the field.
    """
    fields = settings.refresh | {key: value for key, value in changes.items() if value is not None}
    fields.setdefault("safety", settings.safety)
    if fields.get("plan_cases") is not None:
        # What the table says of bank and base is meant for tasks.
        fields |= {name: changes.get(name) or default for name, default in PLAN_DEFAULTS.items()}
    elif "model" not in fields:
        raise Misuse(
            "a refresh needs a model that writes tasks: --model provider/model, or `model` under "
            "[refresh] in nightshift.toml"
        )
    if isinstance(fields.get("model"), str):
        fields["model"] = ModelSpec.parse(fields["model"])
    try:
        return RefreshConfig.model_validate(fields)
    except ValidationError as exc:
        raise Misuse(f"refresh configuration: {describe(exc)}") from exc


def bank_refreshed_on_arrival(settings: Settings) -> str | None:
    """Return the bank that is refreshed when seeds arrive.

    None: `refresh_on_arrival` is off, or `[refresh]` does not say how a bank is refreshed.
    """
    config = _if_valid(refresh_config, settings) if settings.refresh_on_arrival else None
    return config.bank if isinstance(config, RefreshConfig) else None


def _labelled(items: Iterable[Any]) -> dict[str, Any]:
    return {item["label"]: item for item in items if isinstance(item, dict) and "label" in item}


def _agent(item: Any) -> AgentSpec:
    if isinstance(item, AgentSpec):
        return item
    if isinstance(item, dict):
        if "name" not in item:
            return AgentSpec.model_validate(item)
        settings = {key: value for key, value in item.items() if key != "name"}
        agent = AgentSpec.parse(str(item["name"]), **settings)
        return agent if "budget" in settings else _with_local_defaults(agent)
    return _with_local_defaults(AgentSpec.parse(str(item)))


def _placed(agent: AgentSpec) -> AgentSpec:
    """Return the agent with absolute paths: its trials run in other processes, or later."""
    paths = {
        "results": agent.results,
        "results_root": agent.results_root,
        "program": agent.program,
    }
    found = {name: str(Path(path).resolve()) for name, path in paths.items() if path is not None}
    return agent.model_copy(update=found) if found else agent


def _with_local_defaults(agent: AgentSpec) -> AgentSpec:
    if not _is_local(agent):
        return agent
    # Greedy, so that a run on the same machine can be repeated; a program asks as it will.
    temperature = None if agent.command else 0.0
    budget = LOCAL_PLANNING_BUDGET if agent.harness == PLANNER else LOCAL_BUDGET
    return agent.model_copy(update={"budget": budget, "temperature": temperature})


def as_planner(agent: AgentSpec) -> AgentSpec:
    """Return the agent for planning cases, as `in_plan_mode` does, which says what it raises.

    A local model that becomes a planner gets the budget of one in place of the default budget of
    local models: an agent that has this default has no budget of its own.
    """
    from stages.execute.harness import in_plan_mode

    planner = in_plan_mode(agent)
    if planner is agent or not _is_local(agent) or agent.budget != LOCAL_BUDGET:
        return planner
    return planner.model_copy(update={"budget": LOCAL_PLANNING_BUDGET})


def _is_local(agent: AgentSpec) -> bool:
    return agent.model is not None and agent.model.provider == "local"
