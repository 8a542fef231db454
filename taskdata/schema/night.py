"""What is kept of every finished run for the pages that look over many nights.

A night is written once, when its run is published. It holds one cell per agent and task, not
trials, so that the history of 60 nights of 100,000 trials is read in one go.
"""

import hashlib
from datetime import datetime
from functools import cached_property
from typing import ClassVar

from pydantic import Field

from taskdata.schema.base import GrowingValue, Sha256, Value
from taskdata.schema.estimate import Estimate

INFRASTRUCTURE = "infrastructure"
"""The stage of clusters of trials that were lost for a reason outside their agent."""


class NightSettings(Value):
    """What two nights must share to be compared; the fields are named where they differ."""

    bank: str
    """Name and version of the release, such as `office@3`."""
    release_hash: Sha256
    selection: str = ""
    """Which tasks were chosen, where not all were; nights compare over the tasks they share."""
    judge: str | None = None
    tool_backends: str = ""
    """What tools use outside the sandbox, as `search=tavily`; empty: nothing."""
    threshold: float
    min_coverage: float
    scorer_version: str | None = None
    sandbox: str
    repetitions: int
    refinement_rounds: int
    code_version: str
    agents: dict[str, Sha256]
    """Agent name -> hash of its whole specification (harness, model, settings).

    Where imported results lie is no part of it: every night has a place of its own.
    """
    model_ids: dict[str, str] = Field(default_factory=dict)
    """Agent name -> its models as the provider reported them, joined by commas."""


class NightTask(Value):
    """A task as a night had it."""

    task_id: str
    task_hash: Sha256
    title: str
    tier: str
    category: str
    capabilities: tuple[str, ...] = ()
    deliverable_types: tuple[str, ...] = ()
    leaves: int


class NightCell(Value):
    """One agent on one task in one night: its first attempts, by repetition."""

    agent: str
    task_id: str
    trial_ids: tuple[str, ...]
    scores: tuple[float | None, ...]
    """Root scores 0-10; None: lost to an infrastructure error, unscored or still due."""
    successes: tuple[bool | None, ...]
    """By the run's success rule; None: undecided or without a score."""
    errors: int = 0
    """Trials lost to infrastructure errors."""
    cost_usd: float | None = 0.0
    """Of the agent's model and tools; None: a price is unknown."""
    wall_s: float | None = 0.0
    turns: float | None = None
    """Mean per trial."""
    tokens: int | None = 0

    @cached_property
    def scored(self) -> int:
        """Trials that have a score."""
        return sum(score is not None for score in self.scores)

    @cached_property
    def mean(self) -> float | None:
        """Mean root score (0-10) of the trials that have one."""
        known = [score for score in self.scores if score is not None]
        # There are a hundred thousand cells, and `fmean` is slow for the one or two of each.
        return sum(known) / len(known) if known else None


class FailureCluster(GrowingValue):
    """Failures of one night that share a cause, as far as rules can tell."""

    added_later: ClassVar[frozenset[str]] = frozenset({"merged", "stages", "trial_ids"})

    key: str
    """Equal for equal causes in any night."""
    title: str
    """The cause in one line."""
    merged: tuple[str, ...] = ()
    """Keys of causes that are counted here because their texts mean the same."""
    stage: str
    """Of most of the trials."""
    stages: dict[str, int] = Field(default_factory=dict)
    """Trials by stage; empty in nights of an earlier version, whose trials share one stage."""
    type: str | None = None
    """Of most of the trials."""
    trials: int
    agents: tuple[str, ...]
    tasks: tuple[str, ...]
    example: str
    """Id of one of the trials."""
    trial_ids: tuple[str, ...] = ()
    """All of them; empty in a night that is kept."""

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all causes that it counts."""
        return frozenset((self.key, *self.merged))

    @property
    def by_stage(self) -> dict[str, int]:
        """Trials by stage."""
        return self.stages or {self.stage: self.trials}

    @property
    def short_key(self) -> str:
        """What an address names it by."""
        return hashlib.sha256(self.key.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class NightTool(Value):
    """One agent's calls of one tool in the first attempts of a night."""

    agent: str
    tool: str
    category: str | None = None
    """As GTA sorts tools; None: no tool of that name was offered."""
    trials: int
    """That called it."""
    calls: int
    errors: dict[str, int] = Field(default_factory=dict)
    """Calls without a result, by cause."""

    @property
    def failed(self) -> int:
        """Calls without a result."""
        return sum(self.errors.values())


class Night(Value):
    """One published run."""

    run_id: str
    created_at: datetime
    finished_at: datetime | None = None
    status: str
    settings: NightSettings
    controls: tuple[str, ...] = ()
    """Agents that only show that the tasks are sound, as `reference` and `nop` do."""
    tasks: tuple[NightTask, ...]
    cells: tuple[NightCell, ...]
    clusters: tuple[FailureCluster, ...] = ()
    tools: tuple[NightTool, ...] = ()
    """Of agents whose calls are known, controls apart."""
    error_causes: dict[str, int] = Field(default_factory=dict)
    """Infrastructure errors by cause, over all agents."""
    gates: dict[str, bool] = Field(default_factory=dict)
    """Gate -> whether it held."""
    cost_usd: float | None = None
    """Of everything that was paid for in the run; None: a price is unknown."""
    wall_s: float | None = None
    """From the start of the run to its end."""
    confirms: str | None = None
    """The run whose flagged tasks this one ran again; such a night stands in no history."""

    @cached_property
    def task_hashes(self) -> dict[str, str]:
        """Content hash by task id."""
        return {task.task_id: task.task_hash for task in self.tasks}

    @cached_property
    def cells_by_agent(self) -> dict[str, dict[str, NightCell]]:
        """Cells by agent and task id."""
        found: dict[str, dict[str, NightCell]] = {}
        for cell in self.cells:
            found.setdefault(cell.agent, {})[cell.task_id] = cell
        return found

    @cached_property
    def scored_tasks(self) -> dict[str, dict[str, str]]:
        """By agent, the content hashes by id of the tasks on which it has a score."""
        hashes = self.task_hashes
        return {
            agent: {
                task: hashes[task]
                for task, cell in cells.items()
                if any(score is not None for score in cell.scores)
            }
            for agent, cells in self.cells_by_agent.items()
        }


class CategoryEstimate(Value):
    """An agent's mean root score (0-10) in one category, pooled with its other categories."""

    agent: str
    category: str
    tasks: int
    estimate: Estimate


class ScoreChange(Value):
    """A paired difference between a night and the nights it is compared with."""

    agent: str
    scope: str
    """`all`, `category NAME` or `task ID`."""
    tasks: int
    before: float
    after: float
    difference: Estimate
    """After minus before, paired by task, with its 95 % interval."""
    p_value: float | None
    """After correction for all comparisons of the morning; an alarm at 0.05 and below."""
    floor: float | None = None
    """Smallest difference here that can raise an alarm; None: any needs a confirming re-run."""
    success_before: float | None = None
    success_after: float | None = None
    """Shares (0-1) of decided trials that succeeded."""
    verdict: str
    """`confirmed`, `suspected` (outside the noise, not confirmed), `refuted` (the confirming
    re-run did not show it), `lasting` (outside the noise, but the night before had it already)
    or `none`."""
    since: str | None = None
    """The first night in a row at the new level, where that is not this night."""
    confirmed_by: str | None = None
    """The run that confirmed or refuted it."""
    rerun: Estimate | None = None
    """The same difference in the confirming re-run alone."""
    before_trials: tuple[str, ...] = ()
    after_trials: tuple[str, ...] = ()


class ClusterChange(Value):
    """A failure cluster against the last comparable night."""

    cluster: FailureCluster
    change: str
    """`new`, `gone` or `lasting`."""
    first_seen: str
    """Run id of the first night that had it."""
    nights: int
    """Nights in a row that have had it."""
    trials_before: int = 0


class EffortChange(Value):
    """What an agent's trials took, against the nights it is compared with.

    Over the tasks that both have, per trial.
    """

    agent: str
    what: str
    """`cost_usd`, `wall_s`, `turns` or `tokens`."""
    before: float
    after: float
    usual: tuple[float, float] | None = None
    """Least and most of the baseline nights; None of one alone."""


class ErrorChange(Value):
    """Infrastructure errors of one cause."""

    cause: str
    before: int
    """In the last comparable night."""
    after: int


class Morning(Value):
    """What one night means against the last comparable one."""

    run_id: str
    baseline: tuple[str, ...] = ()
    """Run ids that it is compared with, newest first; empty: nothing to compare with."""
    differs: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Setting -> (before, after), against the previous night, comparable or not."""
    changes: tuple[ScoreChange, ...] = ()
    """Every comparison of agents and categories, and of tasks those that flipped; those with a
    verdict other than `none` first."""
    clusters: tuple[ClusterChange, ...] = ()
    efforts: tuple[EffortChange, ...] = ()
    errors: tuple[ErrorChange, ...] = ()
    categories: tuple[CategoryEstimate, ...] = ()
    """Of this night; empty where the tasks do not suffice for an estimate."""
    noise_floor: float | None = None
    """Smallest difference of mean root score (0-10) that can raise an alarm here."""
    false_alarm_rate: float
    """Expected share (0-1), at most, of nights without any real change that raise an alarm."""
    judge_notice: str | None = None
    """What the night's judge has not shown yet, as known when the page is written."""
    judge_cards: tuple[str, ...] = ()
    """Judges of the night that have a card, as known when the page is written."""
    notes: tuple[str, ...] = ()
    """What keeps the comparison from being made, or limits it, in whole sentences."""

    @property
    def confirmed_regressions(self) -> list[ScoreChange]:
        """The changes for the worse that a confirming re-run has shown, too."""
        return [c for c in self.changes if c.verdict == "confirmed" and c.after < c.before]
