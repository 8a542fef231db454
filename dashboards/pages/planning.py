"""The section about plans on a run's page: its figures, and the groups of its tables."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from dashboards.figures.grouped_estimates import grouped_estimates
from dashboards.figures.planning import extraneous_use, plan_costs, plan_errors
from dashboards.theme import AgentStyle
from taskdata.schema.estimate import Estimate
from taskdata.schema.planning_summary import PlanMarks, PlanningAgent, PlanningSummary

_SETTINGS = (
    "holistic",
    "step_wise",
    "extraneous_holistic",
    "extraneous_step_wise",
    "broken",
    "unsolvable",
    "efficiency",
)
_BEHAVIOURS = ("replace", "alter", "retry", "refuse", "other")
_GROUPS = {
    "horizons": ("Next actions, by how many are asked for", "Actions"),
    "positions": ("One next action, by the part of the trajectory", "Part"),
    "step_ranges": ("Whole plans, by the length of the reference", "Steps"),
    "modalities": ("Whole plans, by the richest medium of the files", "Medium"),
}
"""Fields of `PlanningAgent`, with the titles of their tables and of the column of groups."""


class PlanTable(NamedTuple):
    """A table of marks by group."""

    title: str
    column: str
    """What the groups are."""
    rows: Sequence[tuple[str, str, PlanMarks]]
    """Agent, group and marks."""

    @property
    def has_apart(self) -> bool:
        """Whether there are answers that stand apart from correct ones and errors."""
        return any(
            marks.unreadable or marks.no_verdict or marks.no_judge or marks.infrastructure
            for _, _, marks in self.rows
        )


def planning_figures(
    plans: PlanningSummary | None, styles: Mapping[str, AgentStyle]
) -> dict[str, go.Figure]:
    """Return the figures about plans by name; none for a run without planning cases."""
    if plans is None or not plans.agents:
        return {}
    agents = plans.agents
    figures = {
        "plan-settings": grouped_estimates(
            _correctness(agents, "settings"), styles, "plan correctness", _SETTINGS, shares=True
        ),
        "plan-errors": plan_errors(agents, styles),
        "plan-extraneous": extraneous_use(agents, styles),
        "plan-behaviours": grouped_estimates(
            {a.agent: a.behaviours for a in agents}, styles, "answers", _BEHAVIOURS, shares=True
        ),
        "plan-refusals": grouped_estimates(
            {a.agent: a.refusals for a in agents}, styles, "refused", shares=True
        ),
        "plan-costs": plan_costs(agents, styles),
    }
    for field in _GROUPS:
        found = _correctness(agents, field)
        order = list(dict.fromkeys(name for own in found.values() for name in own))
        figures[f"plan-{field}"] = grouped_estimates(
            found, styles, "plan correctness", order, shares=True
        )
    return figures


def _correctness(agents: Sequence[PlanningAgent], field: str) -> dict[str, dict[str, Estimate]]:
    return {
        agent.agent: {name: marks.correct for name, marks in getattr(agent, field).items()}
        for agent in agents
    }


def planning_tables(plans: PlanningSummary | None) -> list[PlanTable]:
    """Return the tables of marks: by setting first, then by groups that have answers."""
    if plans is None:
        return []
    tables = [
        PlanTable(
            title,
            column,
            [
                (agent.agent, name, marks)
                for agent in plans.agents
                for name, marks in getattr(agent, field).items()
            ],
        )
        for field, (title, column) in ({"settings": ("By setting", "Setting")} | _GROUPS).items()
    ]
    return [table for table in tables if table.rows]
