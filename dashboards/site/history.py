"""What the pages need of many nights, gathered in one pass so that no night stays in memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeVar

from dashboards.theme import AgentStyle, agent_styles
from taskdata.schema.night import FailureCluster, Night, NightCell, NightSettings, NightTask

Number = TypeVar("Number", int, float)


@dataclass(slots=True)
class AgentNight:
    """One agent's first attempts in one night."""

    trials: int = 0
    scored: int = 0
    score_sum: float = 0.0
    decided: int = 0
    succeeded: int = 0
    errors: int = 0
    cost_usd: float | None = 0.0
    wall_s: float | None = 0.0
    turns_sum: float | None = 0.0
    tokens: int | None = 0

    @property
    def ended(self) -> int:
        """Trials that were not lost to infrastructure errors."""
        return self.trials - self.errors

    @property
    def score(self) -> float | None:
        """Mean root score, 0-10."""
        return self.score_sum / self.scored if self.scored else None

    @property
    def success(self) -> float | None:
        """Share of decided trials that succeeded, 0-1."""
        return self.succeeded / self.decided if self.decided else None

    def each(self, total: float | None) -> float | None:
        """Return a total per trial that ended; None where it is unknown."""
        return None if total is None or self.ended <= 0 else total / self.ended

    def add(self, cell: NightCell, result: "TaskResult") -> None:
        """Count one task in."""
        self.trials += result.trials
        self.scored += result.scored
        self.score_sum += (result.score or 0.0) * result.scored
        self.decided += result.decided
        self.succeeded += result.succeeded
        self.errors += cell.errors
        ended = result.trials - cell.errors
        self.cost_usd = _plus(self.cost_usd, cell.cost_usd)
        self.wall_s = _plus(self.wall_s, cell.wall_s)
        self.tokens = _plus(self.tokens, cell.tokens)
        turns = 0.0 if ended <= 0 else None if cell.turns is None else cell.turns * ended
        self.turns_sum = _plus(self.turns_sum, turns)


class TaskResult(NamedTuple):
    """One agent on one task in one night."""

    night: int
    """Place of the night in `History.nights`."""
    agent: str
    score: float | None
    """Mean over repetitions, 0-10."""
    scored: int
    decided: int
    succeeded: int
    trials: int
    errors: int


@dataclass(slots=True)
class TaskHistory:
    """A task over the nights that had it."""

    task: NightTask
    """As the last of them had it."""
    results: list[TaskResult] = field(default_factory=list)
    since: int = 0
    """The first night from which on the task is as it is now."""
    changed: list[int] = field(default_factory=list)
    """Nights in which the task was another than the night before."""


@dataclass(frozen=True, slots=True)
class NightRow:
    """A night without its cells."""

    run_id: str
    created_at: datetime
    status: str
    settings: NightSettings
    controls: tuple[str, ...]
    tasks: int
    clusters: tuple[FailureCluster, ...]
    error_causes: Mapping[str, int]
    gates: Mapping[str, bool]
    cost_usd: float | None
    wall_s: float | None
    confirms: str | None
    agents: Mapping[str, AgentNight]

    @property
    def trials(self) -> int:
        """First attempts of all agents."""
        return sum(agent.trials for agent in self.agents.values())

    @property
    def errors(self) -> int:
        """Trials lost to infrastructure errors."""
        return sum(agent.errors for agent in self.agents.values())


@dataclass(frozen=True, slots=True)
class History:
    """All nights, oldest first; a night that only confirms another is apart."""

    nights: list[NightRow]
    confirming: list[NightRow]
    tasks: Mapping[str, TaskHistory]
    latest: Night | None
    styles: Mapping[str, AgentStyle]
    """Those that compete, then the controls, each in the order of their first night: no agent
    loses its colour to a newcomer."""
    controls: frozenset[str]

    @property
    def competing(self) -> list[str]:
        """Agents that are no controls."""
        return [agent for agent in self.styles if agent not in self.controls]

    def row(self, run_id: str) -> NightRow | None:
        """Return the night of that run."""
        return next((n for n in (*self.nights, *self.confirming) if n.run_id == run_id), None)


def gather(nights: Iterable[Night]) -> History:
    """Return the history of the nights, which must come oldest first."""
    rows: list[NightRow] = []
    confirming: list[NightRow] = []
    tasks: dict[str, TaskHistory] = {}
    agents: dict[str, None] = {}
    controls: set[str] = set()
    latest = None
    for night in nights:
        if night.confirms is not None:
            confirming.append(_row(night, {}))
            continue
        own = _count_in(night, len(rows), tasks)
        agents |= dict.fromkeys([*night.settings.agents, *own])
        controls |= set(night.controls)
        rows.append(_row(night, own))
        latest = night
    ordered = sorted(agents, key=lambda agent: agent in controls)
    styles = agent_styles(ordered, controls)
    return History(rows, confirming, tasks, latest, styles, frozenset(controls))


def _count_in(night: Night, place: int, tasks: dict[str, TaskHistory]) -> dict[str, AgentNight]:
    for task in night.tasks:
        known = tasks.get(task.task_id)
        if known is None:
            tasks[task.task_id] = TaskHistory(task, since=place)
            continue
        if known.task.task_hash != task.task_hash:
            known.since = place
            known.changed.append(place)
        known.task = task
    agents: dict[str, AgentNight] = {}
    for cell in night.cells:
        result = _result(cell, place)
        agents.setdefault(cell.agent, AgentNight()).add(cell, result)
        if cell.task_id in tasks:
            tasks[cell.task_id].results.append(result)
    return agents


def _result(cell: NightCell, place: int) -> TaskResult:
    scores = [score for score in cell.scores if score is not None]
    decided = [success for success in cell.successes if success is not None]
    return TaskResult(
        night=place,
        agent=cell.agent,
        score=sum(scores) / len(scores) if scores else None,
        scored=len(scores),
        decided=len(decided),
        succeeded=sum(decided),
        trials=len(cell.scores),
        errors=cell.errors,
    )


def _row(night: Night, agents: Mapping[str, AgentNight]) -> NightRow:
    return NightRow(
        run_id=night.run_id,
        created_at=night.created_at,
        status=night.status,
        settings=night.settings,
        controls=night.controls,
        tasks=len(night.tasks),
        clusters=night.clusters,
        error_causes=night.error_causes,
        gates=night.gates,
        cost_usd=night.cost_usd,
        wall_s=night.wall_s,
        confirms=night.confirms,
        agents=agents,
    )


def _plus(total: Number | None, more: Number | None) -> Number | None:
    return None if total is None or more is None else total + more
