"""What the run form of the Prefect UI offers, and what becomes of what is entered."""

import pytest
from prefect.exceptions import ParameterTypeError
from prefect.utilities.schema_tools import validate

from flows.banks.refresh import refresh_task_bank
from flows.config import Settings, refresh_config, run_config
from flows.nightly import nightly_evaluation
from flows.serving.forms import RefreshChanges, RunChanges


def form(flow):
    """The fields of a flow's form as the UI gets them, those of its changes by their own names."""
    schema = flow.parameters.model_dump()
    (changes,) = schema["definitions"].values()
    return schema["properties"] | changes["properties"]


@pytest.mark.parametrize("flow", [nightly_evaluation, refresh_task_bank])
def test_every_field_is_typed_described_and_optional(flow):
    for name, field in form(flow).items():
        assert field["description"], name
        assert {"type", "$ref"} & field.keys(), f"{name} is a choice between types"
    assert not flow.parameters.required
    assert not [d for d in flow.parameters.definitions.values() if d.get("required")]


@pytest.mark.parametrize("flow", [nightly_evaluation, refresh_task_bank])
def test_a_form_that_is_sent_as_it_is_opened_is_valid(flow):
    schema = flow.parameters.model_dump()
    opened = {name: field["default"] for name, field in schema["properties"].items()}
    assert not validate(opened, schema)
    flow.validate_parameters(opened)


def test_the_forms_constraints_are_those_of_the_configuration():
    fields = form(nightly_evaluation)
    assert (fields["repetitions"]["minimum"], fields["repetitions"]["maximum"]) == (1, 64)
    assert fields["sandbox"]["enum"] == ["bubblewrap", "docker"]
    assert fields["agents"]["items"] == {"type": "string"}
    assert fields["max_usd"]["exclusiveMinimum"] == 0
    assert form(refresh_task_bank)["review"]["enum"] == ["defer", "wait", "auto"]


@pytest.mark.parametrize("flow", [nightly_evaluation, refresh_task_bank])
def test_no_form_says_which_server_gets_a_key(flow):
    assert not [name for name in form(flow) if "url" in name]


def test_what_is_entered_changes_the_configured_defaults(home):
    settings = Settings(run={"repetitions": 3, "bank": "office", "agents": ["nop"]})
    entered = RunChanges(agents=["reference", "react:openai/m"], sample=2, judge="openai/j")
    config = run_config(settings, **entered.model_dump())
    assert [agent.name for agent in config.agents] == ["reference", "react:openai/m"]
    assert (config.sample, config.repetitions, config.bank) == (2, 3, "office")
    assert str(config.judge) == "openai/j"
    assert run_config(settings, **RunChanges().model_dump()) == run_config(settings)
    panel = RunChanges(judges=["openai/j", "openai/k"], panel="mean").model_dump()
    judged = Settings(run={"judge": "openai/i"})
    assert run_config(judged, **panel).judge_name == "mean of openai/j, openai/k"


def test_an_empty_list_of_tasks_is_all_of_them_and_a_base_can_be_left_out(home):
    settings = Settings(run={"tasks": ["one"]}, refresh={"model": "openai/m"})
    assert run_config(settings, **RunChanges(tasks=[]).model_dump()).tasks == ()
    assert refresh_config(settings, **RefreshChanges(base="none").model_dump()).base is None


@pytest.mark.parametrize(
    "entered",
    [
        {"repetitions": 0},
        {"sandbox": "chroot"},
        {"max_usd": -1},
        {"agents": "nop"},
        {"judge_base_url": "http://example.org"},
        {"purpose": "proof"},
    ],
)
def test_what_does_not_fit_is_refused_before_anything_starts(entered):
    with pytest.raises(ParameterTypeError, match=next(iter(entered))):
        nightly_evaluation.validate_parameters({"changes": entered})
