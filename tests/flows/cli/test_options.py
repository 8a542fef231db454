"""Options that one value holds together are options of the command all the same."""

import json
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from flows.cli.options import given, takes


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
