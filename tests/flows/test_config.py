"""Settings come from arguments, the environment and nightshift.toml, in that order."""

import math
from pathlib import Path

import pytest

from environments.models.registry import require_model
from flows.config import (
    LOCAL_BUDGET,
    LOCAL_PLANNING_BUDGET,
    Settings,
    as_planner,
    load_settings,
    refresh_config,
    run_config,
)
from stages.prepare.select import select
from taskdata.errors import Misuse
from taskdata.schema.agent import Budget, ModelSpec
from taskdata.schema.deadlines import Deadlines
from taskdata.schema.safety import Harm, SafetyRules
from tests.price_cases import case, write_bank


def test_a_new_run_evaluates_the_default_agents(home):
    config = run_config(load_settings())
    assert [a.name for a in config.agents] == ["reference", "nop", "react:local/qwen2.5-coder-0.5b"]
    assert config.agent("react:local/qwen2.5-coder-0.5b").budget == LOCAL_BUDGET
    assert config.bank == "starter"


def test_the_file_gives_defaults_and_arguments_win(home, tmp_path):
    (tmp_path / "nightshift.toml").write_text(
        'schedule = "0 3 * * *"\n[run]\nagents = ["nop"]\nrepetitions = 3\n'
    )
    settings = load_settings()
    assert settings.schedule == "0 3 * * *"
    assert run_config(settings).repetitions == 3
    assert run_config(settings, repetitions=1).repetitions == 1
    assert [a.name for a in run_config(settings, agents=("reference",)).agents] == ["reference"]


def test_the_environment_wins_over_the_file(home, tmp_path, monkeypatch):
    (tmp_path / "nightshift.toml").write_text("prefect_port = 5000\n")
    monkeypatch.setenv("NIGHTSHIFT_PREFECT_PORT", "5001")
    assert load_settings().prefect_port == 5001


def test_an_agent_can_be_a_table_with_its_own_budget(home, tmp_path):
    (tmp_path / "nightshift.toml").write_text(
        '[[run.agents]]\nname = "react:openai/gpt-5.2"\ntemperature = 0.2\n'
        "budget = {max_turns = 7}\n"
    )
    (agent,) = run_config(load_settings()).agents
    assert agent.temperature == 0.2
    assert agent.budget.max_turns == 7


def test_local_planners_have_room_for_a_plan(home, tmp_path, store):
    local = "local/smollm2-135m"
    own = {"name": f"react:{local}", "label": "own", "budget": {"max_reply_tokens": 90}}
    agents = (f"planner:{local}", f"react:{local}", own, "react:openai/gpt-5.2")
    config = run_config(load_settings(), agents=agents, bank=str(write_bank(tmp_path, case())))
    assert config.agents[0].budget == LOCAL_PLANNING_BUDGET
    assert config.agents[1].budget == LOCAL_BUDGET

    chosen = select(store, config, "night", as_planner=as_planner).config.agents
    named = f"planner:{local}"
    assert [a.name for a in chosen] == [named, "own", "planner:openai/gpt-5.2"]
    assert [a.budget for a in chosen] == [
        LOCAL_PLANNING_BUDGET,
        Budget(max_reply_tokens=90),
        Budget(),
    ]
    assert chosen[0].temperature == 0


def test_deadlines_are_of_the_installation_for_stages_and_of_the_run_for_trials(
    home, tmp_path, monkeypatch
):
    (tmp_path / "nightshift.toml").write_text(
        "[stage_seconds]\nexecute = 60\nscore = inf\n[run.deadlines]\nsetup_seconds = 5\n"
    )
    settings = load_settings()
    assert (settings.stage_seconds.execute, settings.stage_seconds.score) == (60, math.inf)
    assert run_config(settings).deadlines == Deadlines(setup_seconds=5)
    monkeypatch.setenv("NIGHTSHIFT_STAGE_SECONDS", '{"execute": 90}')
    assert load_settings().stage_seconds.execute == 90


def test_a_label_stands_for_the_agent_of_that_table(home, tmp_path):
    (tmp_path / "nightshift.toml").write_text(
        '[[run.agents]]\nname = "command:local/smollm2-135m"\nlabel = "mine"\n'
        'command = ["true"]\nprogram = "my-agent"\n\n[[run.agents]]\nname = "nop"\n'
    )
    (agent,) = run_config(load_settings(), agents=("mine",)).agents
    assert (agent.name, agent.command, agent.temperature) == ("mine", ("true",), None)
    assert agent.program == str((Path.cwd() / "my-agent").resolve())
    assert len(run_config(load_settings()).agents) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prefect_port = 99999999", "prefect_port"),
        ("no_such_setting = 1", "no_such_setting"),
        ("schedule = [", r"nightshift\.toml"),
        ('schedule_timezone = "Mars/Olympus"', "field schedule_timezone"),
        ('dask_scheduler = "tls://far:8786"', "database_url"),
        ('dask_scheduler = "tls://far:8786"\ndatabase_url = "postgresql://h/n"', "artifacts_url"),
        ('dask_scheduler = "tls://"', "dask_scheduler"),
        ('dask_scheduler = "tcp://127.0.0.1:8786"', "dask_unencrypted"),
        ('dask_scheduler = "localhost:8786"', "dask_unencrypted"),
        ('[dask_tls]\nca_file = "a.pem"', r"dask_tls\.cert"),
        ('[run]\nagents = ["Re act"]', "expected a bare name"),
        ("[run]\nrepetitions = 0", "repetitions"),
        ('[run]\nagents = ["nop", "nop"]', "twice"),
        ("[run]\nthreshold = 11", "threshold"),
        ("[run.deadlines]\nsetup_seconds = 0", "setup_seconds"),
        ("[stage_seconds]\nexecute = -1", r"stage_seconds\.execute"),
        ("[stage_seconds]\nhurry = 1", "hurry"),
        ('[key_hosts]\ncompatible = ["llm.example.org"]', "'llm.example.org': expected the URL"),
        ('[key_hosts]\nnobody = ["https://h"]', r"key_hosts\.nobody"),
    ],
)
def test_a_bad_setting_is_one_line_that_names_it(home, tmp_path, text, message):
    (tmp_path / "nightshift.toml").write_text(text)
    with pytest.raises(Misuse, match=message) as caught:
        run_config(load_settings())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["foo", "[", '{"execute": "soon"}'])
def test_a_bad_table_in_the_environment_is_not_blamed_on_the_file(home, monkeypatch, value):
    monkeypatch.setenv("NIGHTSHIFT_STAGE_SECONDS", value)
    with pytest.raises(Misuse, match="stage_seconds") as caught:
        load_settings()
    assert not str(caught.value).startswith("nightshift.toml")


@pytest.mark.parametrize(
    ("scheduler", "more"),
    [
        ("tcp://127.0.0.1:8786", {}),
        ("localhost:8786", {}),
        ("tls://[::1]:8786", {}),
        ("tcp://far:8786", {"DATABASE_URL": "postgresql://h/n", "ARTIFACTS_URL": "s3://b/n"}),
        ("tcp://far:8786", {"DATABASE_URL": "postgresql://h/n", "ARTIFACTS_URL": "file:///shared"}),
    ],
)
def test_workers_of_a_configured_scheduler_must_reach_the_store(home, monkeypatch, scheduler, more):
    monkeypatch.setenv("NIGHTSHIFT_DASK_SCHEDULER", scheduler)
    monkeypatch.setenv("NIGHTSHIFT_DASK_UNENCRYPTED", "true")
    for name, value in more.items():
        monkeypatch.setenv(f"NIGHTSHIFT_{name}", value)
    assert load_settings().dask_scheduler == scheduler


@pytest.mark.parametrize(("said", "meant"), [("none", None), ("starter", "starter")])
def test_a_refresh_builds_on_no_bank_only_if_told_so_and_stays_told(home, said, meant):
    settings = load_settings()
    config = refresh_config(settings, model="openai/gpt-5.2", base=said)
    assert config.base == meant
    assert refresh_config(settings, **config.model_dump(mode="json")) == config
    assert refresh_config(settings, model="openai/gpt-5.2").base == "starter"


def test_what_is_kept_out_of_a_bank_is_a_table_that_every_refresh_stores(home, tmp_path):
    (tmp_path / "nightshift.toml").write_text(
        '[safety]\npersonal_data = "mask"\nallowed_harms = ["malware"]\nask_model = true\n'
    )
    config = refresh_config(load_settings(), model="openai/gpt-5.2", language="de")
    assert config.safety == SafetyRules(
        personal_data="mask", allowed_harms=(Harm.MALWARE,), ask_model=True
    )
    assert config.language == "de"
    with pytest.raises(Misuse, match="language"):
        refresh_config(load_settings(), model="openai/gpt-5.2", language="German")


def test_what_the_judge_is_shown_is_a_table_of_its_own(home, tmp_path):
    (tmp_path / "nightshift.toml").write_text(
        '[judge]\nprofile = "gta2-published"\nmax_tokens = 5000\ninputs = ["image"]\n'
        '[run]\njudge = "openai/gpt-5.2"\n'
    )
    config = run_config(load_settings())
    assert config.judging.model_dump() == {
        "profile": "gta2-published",
        "inputs": ("image",),
        "max_tokens": 5000,
    }
    assert config.judge_name == "openai/gpt-5.2[gta2-published]"
    (tmp_path / "nightshift.toml").write_text('[judge]\nprofile = "mine"\n')
    with pytest.raises(Misuse, match=r"judging\.profile"):
        run_config(load_settings())


def test_the_file_pairs_keys_with_servers_and_a_run_does_not(home, tmp_path, monkeypatch):
    for name in ("OPENAI", "COMPATIBLE"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-{name}")
    (tmp_path / "nightshift.toml").write_text(
        '[key_hosts]\nopenai = ["https://gateway.example.org"]\n'
        '[run]\njudge = "compatible/judge"\njudge_base_url = "http://judge:1/v1"\n'
        '[[run.agents]]\nname = "react:compatible/mine"\nbase_url = "http://mine:2/v1"\n'
        '[[run.agents]]\nname = "react:compatible/broken"\nbase_url = "mine"\n'
        '[refresh]\nmodel = "compatible/writer"\nbase_url = "http://writer:3/v1"\n'
    )
    settings = load_settings()
    own = run_config(settings)
    foreign = run_config(
        settings, agents=[{"name": "react:openai/m", "base_url": "http://evil.example/v1"}]
    )
    writer = refresh_config(settings)
    for model, url in [
        (own.agents[0].model, own.agents[0].base_url),
        (own.judge, own.judge_base_url),
        (writer.model, writer.base_url),
        (ModelSpec.parse("openai/m"), "https://gateway.example.org/v1"),
    ]:
        require_model(model, url)
    agent = foreign.agents[0]
    with pytest.raises(Misuse, match="OPENAI_API_KEY is not sent to"):
        require_model(agent.model, agent.base_url)
    with pytest.raises(Misuse, match="COMPATIBLE_API_KEY is not sent to"):
        require_model(ModelSpec.parse("compatible/m"), agent.base_url)


def test_a_home_that_others_could_enter_is_tightened(home):
    home.mkdir(mode=0o755)
    load_settings()
    assert home.stat().st_mode & 0o777 == 0o700


def test_judges_that_are_named_take_the_place_of_the_files_and_know_their_endpoints(home, tmp_path):
    table = {"model": "compatible/a", "base_url": "http://a/v1"}
    settings = Settings(run={"judges": [table, "openai/b"], "panel": "mean"})
    assert run_config(settings).judge_name == "mean of compatible/a, openai/b"
    assert run_config(settings, judge=["openai/b"]).judge_name == "openai/b"

    alone = run_config(settings, judge=["compatible/a"])
    assert (alone.judge_name, alone.judge_base_url) == ("compatible/a", "http://a/v1")
    panel = run_config(settings, judges=["compatible/a", "anthropic/c"], panel="majority")
    assert panel.judge_name == "majority of compatible/a, anthropic/c"
    assert panel.every_judge[0].base_url == "http://a/v1"

    single = Settings(run={"judge": "compatible/x", "judge_base_url": "http://x/v1"})
    more = run_config(single, judge=["compatible/x", "openai/b"])
    assert [one.base_url for one in more.every_judge] == ["http://x/v1", None]
