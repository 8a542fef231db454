"""`nightshift seeds discover` stores what a model proposes, and says what it left out."""

import json

import pytest
import typer

from examples.scripted_model.question import read_question
from examples.scripted_model.script import answer, scripts
from flows.cli.bank.discovering import discover
from flows.cli.bank.seeds import list_seeds
from taskdata.errors import Misuse

TOOLS = "ReadCSV, DocxFileGenerator,PptxFileGenerator,XlsxFileGenerator"


@pytest.fixture
def run(home, wire, capsys):
    """Run the command with the scripted model; returns what it wrote."""
    wire.respond = lambda seen: wire.says(answer(read_question(seen.body), scripts()))

    def go(domain: str = "Small museums", tools: str | None = TOOLS, **options: object) -> str:
        fields = {"servers": None, "count": 2, "licence": None, "max_usd": None, "as_json": True}
        fields |= {"model": "compatible/m", "base_url": wire.openai_url, **options}
        discover(domain=domain, tools=tools, **fields)
        return capsys.readouterr().out

    return go


def test_seeds_are_stored_and_what_became_of_the_rest_is_told(run, capsys):
    told = json.loads(run(count=9))
    assert (len(told["seeds"]), told["proposed"], told["mended"]) == (6, 9, 2)
    assert told["difficulties"] == {"easy": 2, "medium": 2, "hard": 2}
    assert len(told["dropped"]) == 3
    assert told["cost_usd"] is None
    list_seeds(source="discovered", as_json=True)
    stored = json.loads(capsys.readouterr().out)["seeds"]
    assert {seed["id"] for seed in stored} == set(told["seeds"])
    assert {seed["query"]["discovery"]["difficulty"] for seed in stored} == {
        "easy",
        "medium",
        "hard",
    }
    list_seeds(source="discovered")
    assert "discovered, hard" in " ".join(capsys.readouterr().out.split())


def test_people_are_told_in_words(run, wire):
    text = " ".join(run(as_json=False).split())
    assert "2 of 2 seeds added (1 easy, 1 medium, 0 hard)" in text


def test_a_discovery_without_a_seed_ends_with_code_1(run, wire, capsys):
    wire.then(*[wire.says("I would rather not.")] * 3)
    with pytest.raises(typer.Exit) as ended:
        run(as_json=False)
    assert ended.value.exit_code == 1
    assert "because no answer of the model could be used" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tools": "ReadCSV,Hammer"}, "Hammer"),
        ({"servers": "nothing"}, "nothing"),
        ({"domain": " "}, "--domain"),
        ({"max_usd": 1.0}, "price"),
        ({"model": "nobody/m"}, "nobody"),
    ],
)
def test_misuse_names_the_option(run, options, says):
    with pytest.raises(Misuse, match=says):
        run(**options)
