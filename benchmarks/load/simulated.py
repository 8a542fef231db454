"""Simulated nights: agents with known skills on known tasks, and nothing else that varies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import numpy as np

from taskdata.schema.night import Night, NightCell, NightSettings, NightTask

NO_DROP = MappingProxyType[tuple[str, str], float]({})
START = datetime(2026, 3, 1, 2, tzinfo=UTC)
CATEGORIES = (
    "data_analysis",
    "education_instruction",
    "planning_decision",
    "creative_design",
    "marketing_strategy",
    "retrieval_qa",
)


@dataclass(frozen=True)
class Bench:
    """What is evaluated every night.

    A task's expected root score is drawn once, from 0 to 10 and mostly near the ends, as those of
    checkpoint trees are; a trial varies around it with the standard deviation `noise`, cut to 0-10.
    """

    agents: Sequence[str] = ("react:a/one",)
    categories: int = 6
    tasks: int = 40
    """Of each category."""
    repetitions: int = 1
    noise: float = 2.0
    night_noise: float = 0.0
    """Standard deviation of what all trials of an agent share in a night."""

    @property
    def names(self) -> list[tuple[str, str]]:
        """Task ids with their categories."""
        kinds = CATEGORIES[: self.categories]
        return [(f"{kind}-{i:03d}", kind) for kind in kinds for i in range(self.tasks)]


class Simulation:
    """Draws nights of a bench from a fixed seed."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.random = np.random.default_rng(seed)
        shape = (len(bench.agents), len(bench.names))
        self.skill = 10 * self.random.beta(0.8, 0.6, shape)
        self.tasks = tuple(
            NightTask(
                task_id=name,
                task_hash=f"{i:064x}",
                title=name,
                tier="workflow",
                category=kind,
                leaves=4,
            )
            for i, (name, kind) in enumerate(bench.names)
        )

    def night(
        self,
        number: int,
        drop: Mapping[tuple[str, str], float] = NO_DROP,
        *,
        repetitions: int | None = None,
        only: Mapping[str, Sequence[str]] | None = None,
        confirms: str | None = None,
    ) -> Night:
        """Return the night of that number.

        Args:
            number: Nights follow each other by it.
            drop: By how many points of root score an agent is worse in a category: so many of its
                trials there, at random, fail outright and score 0.
            repetitions: Of each task, where not the bench's.
            only: Agent -> its tasks; those that are left out have no trials.
            confirms: The night that this one confirms.
        """
        bench = self.bench
        count = repetitions or bench.repetitions
        shared = self.random.normal(0, bench.night_noise, (len(bench.agents), 1))
        drawn = self.random.normal(0, bench.noise, (*self.skill.shape, count))
        scores = np.clip((self.skill + shared)[:, :, None] + drawn, 0, 10)
        for (agent, category), points in drop.items():
            self._break(scores[bench.agents.index(agent)], category, points)
        run_id = f"night-{number:03d}" + ("-confirm" if confirms else "")
        return Night(
            run_id=run_id,
            created_at=START + timedelta(days=number),
            finished_at=START + timedelta(days=number, hours=3),
            status="completed",
            settings=settings(bench.agents, repetitions=count),
            tasks=self.tasks,
            cells=tuple(
                cell(agent, name, scores[a, t].tolist(), run_id)
                for a, agent in enumerate(bench.agents)
                for t, (name, _) in enumerate(bench.names)
                if only is None or name in only.get(agent, ())
            ),
            confirms=confirms,
        )

    def _break(self, scores: np.ndarray, category: str, points: float) -> None:
        chosen = [i for i, (_, kind) in enumerate(self.bench.names) if kind == category]
        trials = scores[chosen]
        trials[self.random.random(trials.shape) < points / trials.mean()] = 0
        scores[chosen] = trials


def settings(agents: Sequence[str], **fields: object) -> NightSettings:
    """Return the settings of a night with these agents; keywords replace fields."""
    values: dict[str, object] = {
        "bank": "office@1",
        "release_hash": "c" * 64,
        "threshold": 7.0,
        "min_coverage": 0.5,
        "scorer_version": "1",
        "sandbox": "bubblewrap",
        "repetitions": 1,
        "refinement_rounds": 0,
        "code_version": "1",
        "agents": dict.fromkeys(agents, "a" * 64),
    }
    return NightSettings.model_validate(values | fields)


def cell(agent: str, task: str, scores: Sequence[float | None], run_id: str = "r") -> NightCell:
    """Return one agent on one task with these scores; a trial succeeds above 7."""
    return NightCell(
        agent=agent,
        task_id=task,
        trial_ids=tuple(f"{run_id}-{agent}-{task}-{i}" for i in range(len(scores))),
        scores=tuple(scores),
        successes=tuple(None if score is None else score > 7 for score in scores),
        errors=sum(score is None for score in scores),
        cost_usd=0.01 * len(scores),
        wall_s=10.0 * len(scores),
        turns=5.0,
        tokens=1000 * len(scores),
    )
