"""`nightshift compare` on runs that are stored."""

import json

AGENT, OTHER = "react:openai/one", "react:openai/two"


def test_two_runs_are_compared_agent_by_agent(command, stored_run):
    stored_run({AGENT: (2.0, 3.0, 4.0, 5.0), "reference": (10.0,) * 4}, "run-1")
    stored_run({AGENT: (9.0, 9.5, 8.0, "disk full"), "reference": (10.0,) * 4}, "run-2")

    found = json.loads(command("compare", "run-1", "run-2", "--json").stdout)

    (pair,) = found["pairs"]
    assert (pair["first"]["run_id"], pair["second"]["run_id"]) == ("run-1", "run-2")
    assert pair["root_score"]["tasks"] == 3
    assert round(pair["root_score"]["difference"]["mean"], 3) == round((7 + 6.5 + 4) / 3, 3)
    assert pair["root_score"]["p_holm"] == 2 / 8
    assert pair["flips"] | {"rate": None} == {
        "tasks": 3,
        "gained": 3,
        "lost": 0,
        "rate": None,
        "p_value": 0.25,
        "p_holm": 0.25,
    }
    assert pair["second"]["error_rate"] == 0.25
    assert found["differs"] == {}


def test_agents_of_one_run_are_ranked_with_what_their_pairs_leave_open(command, stored_run):
    stored_run({AGENT: (1.0, 2.0, 1.5, 2.0), OTHER: (9.0, 9.5, 9.0, 9.2), "nop": (0.0,) * 4})

    done = command("compare")

    assert "Ranks that the pairs leave open" in done.stdout
    found = json.loads(command("compare", "run-1", "--json").stdout)
    assert [(r["agent"], r["best"], r["worst"]) for r in found["ranks"]] == [
        (OTHER, 1, 1),
        (AGENT, 2, 2),
    ]
    assert {found["pairs"][0][side]["agent"] for side in ("first", "second")} == {AGENT, OTHER}


def test_runs_without_a_common_agent_compare_each_with_each(command, stored_run):
    stored_run({AGENT: (1.0, 2.0)}, "run-1")
    stored_run({OTHER: (3.0, 4.0)}, "run-2")
    told = command("compare", "run-1", "run-2").stdout
    assert f"{OTHER} in run-2 against {AGENT} in run-1" in told


def test_what_cannot_be_compared_is_said(command, stored_run):
    stored_run({AGENT: (1.0, 2.0)}, "run-1")
    alone = command("compare", "run-1")
    unknown = command("compare", "run-1", "--agent", "react:openai/none")
    twice = command("compare", "run-1", "run-1")
    assert alone.returncode == unknown.returncode == twice.returncode == 2
    assert "no two agents" in alone.stderr
    assert "no agent 'react:openai/none' there" in unknown.stderr
    assert "two different ones" in twice.stderr
