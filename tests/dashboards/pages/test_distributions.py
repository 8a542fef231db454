"""Tables of how often failures have each label, each figure with its trials."""

import pytest

from dashboards.pages.distributions import distributions
from dashboards.pages.trial_filter import groups_on_page
from taskdata.schema.failures import FailureShare, GroupFailures, RunFailures


def group(name: str, **known: object) -> GroupFailures:
    fields = {
        "group": name,
        "trials": 120,
        "scored": 108,
        "failed": 84,
        "lost": 0,
        "labels": {
            "stage": {"plan": FailureShare(n=21, of=84), "reason": FailureShare(n=0, of=84)},
            "type": {"data_extraction": FailureShare(n=84, of=84)},
        },
        "requirements": {
            "A": FailureShare(n=0, of=0),
            "B": FailureShare(n=46, of=108),
            "C": FailureShare(n=84, of=108),
        },
    }
    return GroupFailures(**(fields | known))


@pytest.fixture
def failures() -> RunFailures:
    """One agent beside a control, on one category."""
    return RunFailures(
        clusters=(),
        groups={
            "agent": (group("nop"), group("react:a/b")),
            "category": (group("data_analysis"),),
            "model": (),
        },
        failed_levels={},
        agents={"react:a/b": {"model": ("a/b",), "harness": ("react",)}},
        tasks={"t": {"category": ("data_analysis",), "deliverable_type": ("csv", "pdf")}},
    )


def test_figures_are_percentages_with_n_in_the_order_of_the_agents(failures):
    by_agent, by_category = distributions(failures, ["react:a/b", "nop"])
    assert [row.group for row in by_agent.rows] == ["react:a/b", "nop"]
    assert dict(by_category.columns) == {
        "Stage of failed trials": ["plan"],
        "Type of failed trials": ["data extraction"],
        "Requirements that do not hold": ["A: leaf", "B: composition", "C: deliverable"],
    }
    (row,) = by_category.rows
    assert (row.failed.percent, row.failed.n, row.failed.of) == (77.78, 84, 108)
    assert [share.percent for share in row.shares] == [25.0, 100.0, None, 42.59, 77.78]


def test_each_figure_leads_to_its_trials_and_nothing_leads_nowhere(failures):
    by_agent, by_category = distributions(failures, (), "../runs/r/dashboard.html")
    plan, kind, nothing, composition, _ = by_category.rows[0].shares
    page = "../runs/r/dashboard.html#trials?round=0&competing=yes&category=data_analysis"
    assert plan.href == f"{page}&stage=plan&n=21"
    assert kind.href == f"{page}&type=data_extraction&n=84"
    assert composition.href == f"{page}&failed=B"
    assert nothing.href is None
    where = "#trials?round=0&agent=react%3Aa%2Fb&stage=%2A&n=84"
    assert by_agent.rows[1].failed.href == f"../runs/r/dashboard.html{where}"


def test_stages_and_types_that_a_model_gave_are_counted_beside_the_group(failures):
    of_model = {"stage": {"plan": 2}, "type": {"data_extraction": 1}, "long_run": {"loop": 5}}
    groups = {"agent": (group("react:a/b", of_model=of_model), group("nop"))}
    (by_agent,) = distributions(failures.model_copy(update={"groups": groups}))
    assert [row.by_model for row in by_agent.rows] == [3, 0]


def test_the_page_can_look_up_every_group_that_a_link_names(failures):
    found = groups_on_page(failures)
    assert found["agents"]["react:a/b"] == {
        "model": ["a/b"],
        "harness": ["react"],
        "competing": ["yes"],
    }
    assert found["tasks"]["t"]["deliverable_type"] == ["csv", "pdf"]
