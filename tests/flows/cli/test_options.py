"""Options that one value holds together are options of the command all the same."""

import json
from dataclasses import dataclass
from typing import Annotated, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from flows.cli.bank.options import RefreshOptions
from flows.cli.options import given, takes
from flows.cli.runs.options import RunOptions
from flows.config import DEFAULT_AGENTS
from taskdata.schema.construct import RefreshConfig
from taskdata.schema.run import RunConfig


@dataclass(frozen=True, kw_only=True)
class Lamp:
    colour: Annotated[str | None, typer.Option(help="Of the light.")] = None
    watts: Annotated[int | None, typer.Option("--power")] = None
    rooms: Annotated[list[str] | None, typer.Option("--room")] = None
    dimmed: Annotated[bool, typer.Option("--dimmed")] = False


app = typer.Typer()


@app.command()
@takes(Lamp)
def light(lamp: Lamp, twice: Annotated[bool, typer.Option("--twice")] = False) -> None:
    """Put on a lamp."""
    typer.echo(json.dumps([given(lamp), twice]))


def run(*arguments):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {}),
        (["--colour", "red"], {"colour": "red"}),
        (["--power", "0"], {"watts": 0}),
        (["--room", "hall", "--room", "attic"], {"rooms": ["hall", "attic"]}),
        (["--dimmed"], {"dimmed": True}),
    ],
)
def test_only_what_the_command_line_named_is_given(arguments, expected):
    assert run(*arguments) == [expected, False]


def test_the_commands_own_options_stand_beside_them():
    assert run("--twice", "--colour", "red") == [{"colour": "red"}, True]


def test_help_tells_of_every_option():
    said = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "100"}).output
    assert "Put on a lamp." in said
    positions = [said.index(f"--{name}") for name in ("colour", "power", "room", "dimmed", "twice")]
    assert positions == sorted(positions)
    assert "Of the light." in said


def helps(options: type) -> dict[str, str]:
    """What help says of each option, by field."""
    hints = get_type_hints(options, include_extras=True)
    return {name: hint.__metadata__[0].help for name, hint in hints.items()}


@pytest.mark.parametrize(
    ("options", "config"), [(RunOptions, RunConfig), (RefreshOptions, RefreshConfig)]
)
def test_help_tells_the_defaults_there_are(options, config):
    said = helps(options)
    defaults = {name: field.default for name, field in config.model_fields.items() if name in said}
    told = {name: value for name, value in defaults.items() if type(value) in (str, int, float)}
    assert len(told) > 4
    for name, value in told.items():
        assert said[name].endswith(f"; default: {value}."), name


def test_help_tells_the_agents_of_a_run_that_names_none():
    assert f"default: {', '.join(DEFAULT_AGENTS)}." in helps(RunOptions)["agents"]
