"""What `nightshift run` makes of its options."""

import pytest

from flows.cli.runs.options import RunOptions, new_config
from flows.config import load_settings
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec


@pytest.fixture
def config(home):
    def made(**options):
        return new_config(load_settings(), RunOptions(**options))

    return made


def test_no_option_leaves_the_settings_as_they_are(config, home, tmp_path):
    (tmp_path / "nightshift.toml").write_text('[run]\nrefinement_rounds = 3\ntasks = ["a-task"]\n')
    assert config().refinement_rounds == 3
    assert config(tasks=[]).tasks == ("a-task",)
    assert config(refinement_rounds=0).refinement_rounds == 0


def test_every_option_reaches_the_field_of_its_name(config):
    made = config(tasks=["harvest-pie"], workers=3, max_usd=2.5, judge="openai/gpt-5.2")
    assert made.tasks == ("harvest-pie",)
    assert (made.workers, made.max_usd) == (3, 2.5)
    assert made.judge == ModelSpec(provider="openai", model="gpt-5.2")


def test_imported_results_stand_beside_the_agents(config, tmp_path):
    made = config(agents=["nop"], imports=["manus=results"], import_root=tmp_path / "files")
    nop, manus = made.agents
    assert (nop.name, manus.name) == ("nop", "manus")
    assert manus.results == str(tmp_path / "results")
    assert manus.results_root == str(tmp_path / "files")


def test_a_server_of_ones_own_is_that_of_its_agents_alone(config):
    url = "http://localhost:8000/v1"
    made = config(agents=["react:compatible/mine", "react:openai/gpt-5.2", "nop"], base_url=url)
    assert [agent.base_url for agent in made.agents] == [url, None, None]


def test_a_server_of_ones_own_wants_an_agent(config):
    with pytest.raises(Misuse, match="--agent react:compatible/my-model"):
        config(agents=["react:openai/gpt-5.2"], base_url="http://localhost:8000/v1")


def test_step_by_step_every_agent_predicts(config):
    made = config(agents=["react:local/smollm2-135m"], mode="step-by-step")
    assert [agent.harness for agent in made.agents] == ["react_steps"]
    assert config(agents=["nop"], mode="end-to-end").agents == config(agents=["nop"]).agents


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"critic": "openai/gpt-5.2", "feedback": "none,coarse"},
            "would not be asked: the arms are none, coarse; add critic or critic_taxonomy",
        ),
        (
            {"refinement_rounds": 0, "feedback": "none,coarse"},
            "none,coarse would be given to nobody: with 0 refinement rounds",
        ),
        ({"feedback": " , "}, "no arm is named; there are none, coarse, checkpoint"),
        ({"feedback": "none,none"}, "an arm is named twice: none, none"),
    ],
)
def test_options_of_refinement_that_would_do_nothing_are_refused(config, options, said):
    with pytest.raises(Misuse, match=said):
        config(**options)


def test_a_critic_of_the_settings_may_wait_for_an_arm(config, home, tmp_path):
    (tmp_path / "nightshift.toml").write_text('[run]\ncritic = "openai/gpt-5.2"\n')
    assert config(feedback="none").feedback == ("none",)
    assert config(refinement_rounds=0).refinement_rounds == 0
    assert config(feedback="critic", critic="openai/gpt-5.2").feedback == ("critic",)
