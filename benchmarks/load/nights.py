"""Sixty nights that never were: agents with skills, tasks with difficulties, and known mishaps.

One agent loses two points in one category on the last night, the bank has a new release in the
middle, and in one night a provider was down. Nothing here is a measurement of any model.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from statistics import fmean

from taskdata.schema.estimate import Estimate
from taskdata.schema.night import (
    ClusterChange,
    FailureCluster,
    Morning,
    Night,
    NightCell,
    NightSettings,
    NightTask,
    NightTool,
    ScoreChange,
)
from taskdata.schema.summary import AgentComparison, AgentSummary, RunHeader, RunSummary
from taskdata.schema.task import Capability, Category, DeliverableType

_MODELS = ("openai/gpt-sim", "anthropic/claude-sim", "local/small-sim", "mistral/large-sim")
_HARNESSES = ("react", "function_calling", "command")
_CAUSES = (
    ("execute", "data_extraction", "A table was read without its last rows."),
    ("reason", "reasoning", "The total was added up over the wrong column."),
    ("handoff", "formatting", "The report was left under another name than was asked for."),
    ("plan", "content_synthesis", "A required section was planned and never written."),
    ("refine", "formatting", "The page overflowed and was not looked at."),
    ("execute", "data_extraction", "A tool was called with an argument it does not know."),
)
_FELL = 2.0
_SUCCESS = 7.0

_TOOLS = (
    ("python_execute", "logic", 240, ("refused", "limit")),
    ("ReadXLSX", "operation", 130, ("bad_arguments",)),
    ("OCR", "perception", 60, ("refused", "bad_arguments")),
    ("Plot", "creativity", 30, ()),
    ("open_browser", None, 12, ("unknown_tool",)),
)
"""Name, category, calls in a night, and why some of them give no result."""


@dataclass(frozen=True)
class Simulation:
    """How large the history is."""

    nights: int = 60
    tasks: int = 70
    agents: int = 6
    repetitions: int = 4
    seed: int = 7

    @cached_property
    def names(self) -> Sequence[str]:
        """Return the agents, the two controls last."""
        names = [f"{harness}:{model}" for model in _MODELS for harness in _HARNESSES]
        return [*names[: self.agents], "reference", "nop"]

    @property
    def trials(self) -> int:
        """First attempts of one night."""
        return self.tasks * len(self.names) * self.repetitions

    def history(self) -> Iterator[Night]:
        """Yield the nights, oldest first."""
        for place in range(self.nights):
            yield self.night(place)

    def night(self, place: int) -> Night:
        """Return one night; always the same."""
        draw = random.Random(f"{self.seed}/{place}")
        later = place >= self.nights // 2
        tasks = [self.task(number, later) for number in range(self.tasks)]
        down = place == self.nights - 12
        cells = [
            self._cell(place, agent, task, number, draw, down)
            for agent in self.names
            for number, task in enumerate(tasks)
        ]
        lost = sum(cell.errors for cell in cells)
        started = datetime(2026, 9, 21, 2, tzinfo=UTC) + timedelta(days=place)
        costs = [cell.cost_usd or 0.0 for cell in cells]
        return Night(
            run_id=run_id(place),
            created_at=started,
            finished_at=started + timedelta(hours=3),
            status="completed",
            settings=self._settings(later),
            controls=("reference", "nop"),
            tasks=tuple(tasks),
            cells=tuple(cells),
            clusters=self._clusters(cells, draw, place),
            tools=self._tools(draw),
            error_causes={"provider: 503 Service Unavailable": lost} if lost else {},
            gates={"tasks": True, "scores": not down},
            cost_usd=sum(costs),
            wall_s=3 * 3600 + draw.uniform(-600, 600),
        )

    def _tools(self, draw: random.Random) -> tuple[NightTool, ...]:
        return tuple(
            NightTool(
                agent=agent,
                tool=tool,
                category=category,
                trials=20,
                calls=calls,
                errors={kind: draw.randrange(1, calls) // 3 for kind in kinds},
            )
            for agent in self.names
            if agent not in ("reference", "nop")
            for tool, category, calls, kinds in _TOOLS
        )

    def task(self, number: int, later: bool = True) -> NightTask:
        """Return a task; every tenth is another one in the later release."""
        draw = random.Random(f"{self.seed}/task/{number}")
        categories, types = list(Category), list(DeliverableType)
        version = "2" if later and number % 10 == 0 else "1"
        return NightTask(
            task_id=f"simulated-task-{number:04d}",
            task_hash=hashlib.sha256(f"{number}/{version}".encode()).hexdigest(),
            title=f"Simulated task {number}: report on a region's quarter",
            tier="atomic" if number % 4 == 0 else "workflow",
            category=categories[number % len(categories)].value,
            capabilities=tuple(c.value for c in draw.sample(list(Capability), 1 + number % 3)),
            deliverable_types=(types[draw.randrange(min(6, len(types)))].value,),
            leaves=draw.choice((3, 5, 8, 12, 17, 24)),
        )

    def _settings(self, later: bool) -> NightSettings:
        bank = "simulated@2" if later else "simulated@1"
        return NightSettings(
            bank=bank,
            release_hash=hashlib.sha256(bank.encode()).hexdigest(),
            judge="openai/judge-sim",
            threshold=_SUCCESS,
            min_coverage=0.5,
            sandbox="bubblewrap",
            repetitions=self.repetitions,
            refinement_rounds=0,
            code_version="0.1.0",
            agents={name: hashlib.sha256(name.encode()).hexdigest() for name in self.names},
        )

    def _cell(
        self,
        place: int,
        agent: str,
        task: NightTask,
        number: int,
        draw: random.Random,
        down: bool,
    ) -> NightCell:
        lost = down and "openai" in agent
        scores = [
            None if lost and draw.random() < 0.7 else self._score(place, agent, number, draw)
            for _ in range(self.repetitions)
        ]
        rank, ended = self.names.index(agent), len(scores) - scores.count(None)
        price = 0.0 if agent in ("reference", "nop") else 0.01 * (1 + rank % 4)
        return NightCell(
            agent=agent,
            task_id=task.task_id,
            trial_ids=tuple(
                "t" + hashlib.sha256(f"{place}/{agent}/{number}/{n}".encode()).hexdigest()[:15]
                for n in range(self.repetitions)
            ),
            scores=tuple(scores),
            successes=tuple(None if score is None else score > _SUCCESS for score in scores),
            errors=sum(score is None for score in scores),
            cost_usd=price * ended * draw.uniform(0.8, 1.2),
            wall_s=ended * draw.uniform(20, 40) * (1 + rank % 3),
            turns=4 + rank + draw.uniform(-1, 1),
            tokens=round(ended * 4_000 * draw.uniform(0.8, 1.2)),
        )

    def _score(self, place: int, agent: str, number: int, draw: random.Random) -> float:
        if agent == "reference":
            return 6.5 if number == 3 else 10.0
        if agent == "nop":
            return 0.0
        rank = self.names.index(agent)
        hard = random.Random(f"{self.seed}/hard/{number}").gauss(0, 2)
        skill = 8.2 - 0.7 * rank
        if number == 3:
            hard = 9.0
        if place == self.nights - 1 and rank == 0 and number % len(Category) == 0:
            skill -= _FELL
        return round(min(10.0, max(0.0, draw.gauss(skill - hard, 1.0))), 2)

    def _clusters(
        self, cells: Sequence[NightCell], draw: random.Random, place: int
    ) -> tuple[FailureCluster, ...]:
        failed = [
            (cell, trial)
            for cell in cells
            if cell.agent not in ("reference", "nop")
            for trial, success in zip(cell.trial_ids, cell.successes, strict=True)
            if success is False
        ]
        known = _CAUSES if place == self.nights - 1 else _CAUSES[:-1]
        own: dict[int, list[tuple[NightCell, str]]] = {}
        for found in failed:
            own.setdefault(min(int(draw.expovariate(0.7)), len(known) - 1), []).append(found)
        return tuple(
            FailureCluster(
                key=str(cause),
                title=known[cause][2],
                stage=known[cause][0],
                type=known[cause][1],
                trials=len(trials),
                agents=tuple(dict.fromkeys(cell.agent for cell, _ in trials)),
                tasks=tuple(dict.fromkeys(cell.task_id for cell, _ in trials)),
                example=trials[0][1],
            )
            for cause, trials in sorted(own.items())
        )


def run_id(place: int) -> str:
    """Return the id of a night."""
    return f"simulated-{place:03d}"


def morning(before: Night, night: Night) -> Morning:
    """Return what the night means against the one before; intervals are of the normal kind."""
    changes = [
        change
        for agent in night.settings.agents
        if agent not in night.controls
        for scope in ("all", *sorted({f"category {task.category}" for task in night.tasks}))
        if (change := _change(before, night, agent, scope))
    ]
    same = before.settings.release_hash == night.settings.release_hash
    old = {cluster.key: cluster for cluster in before.clusters}
    new = {cluster.key: cluster for cluster in night.clusters}
    clusters = [
        ClusterChange(
            cluster=new.get(key) or old[key],
            change="new" if key not in old else "gone" if key not in new else "lasting",
            first_seen=night.run_id if key not in old else run_id(0),
            nights=1 if key not in old else 12,
            trials_before=old[key].trials if key in old else 0,
        )
        for key in sorted(old | new)
    ]
    return Morning(
        run_id=night.run_id,
        baseline=(before.run_id,) if same else (),
        differs={} if same else {"bank": (before.settings.bank, night.settings.bank)},
        changes=tuple(changes) if same else (),
        clusters=tuple(clusters),
        noise_floor=0.35,
        false_alarm_rate=0.05,
        notes=() if same else ("No earlier night ran this release of the bank.",),
    )


def _change(before: Night, night: Night, agent: str, scope: str) -> ScoreChange | None:
    names = {t.task_id for t in night.tasks if scope in ("all", f"category {t.category}")}
    then, now = _means(before, agent, names), _means(night, agent, names)
    common = sorted(then.keys() & now.keys())
    if len(common) < 2:
        return None
    gaps = [now[task] - then[task] for task in common]
    mean = fmean(gaps)
    spread = 1.96 * (fmean((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    fell = abs(mean) > 0.35 and not -spread < mean < spread and abs(mean) > 2 * spread
    return ScoreChange(
        agent=agent,
        scope=scope,
        tasks=len(common),
        before=fmean(then[task] for task in common),
        after=fmean(now[task] for task in common),
        difference=Estimate(mean=mean, ci95=(mean - spread, mean + spread), n=len(common)),
        p_value=0.0004 if fell else 0.4,
        verdict="suspected" if fell else "none",
    )


def _means(night: Night, agent: str, tasks: set[str]) -> Mapping[str, float]:
    return {
        cell.task_id: fmean(scores)
        for cell in night.cells
        if cell.agent == agent and cell.task_id in tasks
        if (scores := [score for score in cell.scores if score is not None])
    }


def summary(night: Night) -> RunSummary:
    """Return the night's numbers as far as the leaderboard shows them."""
    agents = tuple(_agent(night, name) for name in night.settings.agents)
    competing = [name for name in night.settings.agents if name not in night.controls]
    header = RunHeader(
        id=night.run_id,
        status=night.status,
        bank=night.settings.bank,
        release_hash=night.settings.release_hash,
        code_version="0.1.0",
        created_at=night.created_at,
        finished_at=night.finished_at,
        threshold=night.settings.threshold,
        judge=night.settings.judge,
        sandbox=night.settings.sandbox,
        repetitions=night.settings.repetitions,
        refinement_rounds=0,
        tasks=len(night.tasks),
    )
    pairs = [(a, b) for place, a in enumerate(competing) for b in competing[place + 1 :]]
    comparisons = tuple(_comparison(night, a, b) for a, b in pairs)
    return RunSummary(run=header, agents=agents, refinement=(), comparisons=comparisons)


def _comparison(night: Night, first: str, second: str) -> AgentComparison:
    tasks = {task.task_id for task in night.tasks}
    one, two = _means(night, first, tasks), _means(night, second, tasks)
    common = sorted(one.keys() & two.keys())
    gaps = [two[task] - one[task] for task in common]
    mean = fmean(gaps)
    spread = 1.96 * (fmean((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    difference = Estimate(mean=mean, ci95=(mean - spread, mean + spread), n=len(gaps))
    return AgentComparison(
        first=first, second=second, tasks=len(gaps), difference=difference, p_value=0.01
    )


def _agent(night: Night, name: str) -> AgentSummary:
    cells = [cell for cell in night.cells if cell.agent == name]
    scores = [score for cell in cells for score in cell.scores if score is not None]
    successes = [success for cell in cells for success in cell.successes if success is not None]
    mean, share = fmean(scores), fmean(successes)
    repetitions = night.settings.repetitions
    passes = {str(k): share ** (1 / k) for k in range(1, repetitions + 1)}
    return AgentSummary(
        agent=name,
        is_control=name in night.controls,
        trials=sum(len(cell.scores) for cell in cells),
        scored=len(scores),
        errors=sum(cell.errors for cell in cells),
        pending=0,
        root_score=Estimate(
            mean=mean, ci95=(max(0, mean - 0.4), min(10, mean + 0.4)), n=len(scores)
        ),
        root_sr=share,
        root_sr_ci95=(max(0, share - 0.08), min(1, share + 0.08)),
        root_sr_at={str(k): fmean([score > k for score in scores]) for k in (5, 6, 7, 8, 9)},
        pass_at_k={k: Estimate(mean=s, ci95=None) for k, s in passes.items()},
        pass_hat_k={k: Estimate(mean=share ** int(k), ci95=None) for k in passes},
        leaf_sr=share,
        tool_sr=0.97,
        coverage=1.0,
        capability_sr={},
        category={},
        deliverable_type={},
        tier={},
        cost_usd=sum(cell.cost_usd or 0.0 for cell in cells),
        wall_s=sum(cell.wall_s or 0.0 for cell in cells),
        turns=fmean(cell.turns or 0.0 for cell in cells),
        tokens=sum(cell.tokens or 0 for cell in cells),
        score_per_usd=None,
        failures={
            "stage": {"plan": 4, "execute": 9, "reason": 6, "refine": 1, "handoff": 2},
            "type": {"data_extraction": 7, "reasoning": 6, "formatting": 3},
            "level": {"A": 12, "B": 8, "C": 4},
        },
    )
