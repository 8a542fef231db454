"""`nightshift seeds`: what was added, what was not and why, for people and for programs."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

SUM = "Sum the figures of the quarter and draw a chart of them."
GOOD = json.dumps({"text": SUM, "source": "internal", "license": "MIT"}) + "\n"
BAD = json.dumps({"text": "x", "source": "internal", "date": "soon"}) + "\n"


@pytest.fixture
def seeds(tmp_path):
    path = tmp_path / "seeds.jsonl"
    path.write_text(GOOD + BAD + GOOD.replace("Sum", "SUM").replace("MIT", "CC0-1.0"))
    return path


def test_add_tells_programs_what_became_of_every_row(command, seeds):
    done = command("seeds", "add", str(seeds), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    counts = {name: told[name] for name in ("added", "known", "duplicates", "quarantined")}
    assert counts == {"added": 2, "known": 0, "duplicates": 1, "quarantined": 1}
    assert len(told["seeds"]) == 2
    assert told["files"][str(seeds)]["rejected"][0]["row"] == 2
    again = json.loads(command("seeds", "add", str(seeds), "--json").stdout)
    assert (again["added"], again["known"], again["seeds"]) == (0, 2, [])


def test_add_shows_people_the_rows_that_were_not_let_through(command, seeds):
    shown = command("seeds", "add", str(seeds)).stdout
    assert "2 added (1 of them repeat others), 0 known, 1 quarantined" in shown
    assert "'soon' is no date" in shown


def test_list_filters_by_source_duplicates_and_quarantine(command, seeds, tmp_path):
    (tmp_path / "more.csv").write_text("text\nPlan a weekend in Lisbon.\n")
    done = command("seeds", "add", str(seeds), "more.csv", "--source", "forum")
    assert done.returncode == 0, done.stderr

    def listed(*options):
        return json.loads(command("seeds", "list", "--json", *options).stdout)

    assert len(listed()["seeds"]) == 3
    (forum,) = listed("--source", "forum")["seeds"]
    assert (forum["query"]["text"], forum["row"]) == ("Plan a weekend in Lisbon.", 1)
    (repeated,) = listed("--duplicates")["seeds"]
    assert repeated["duplicate_of"][0]["method"] == "exact"
    (rejected,) = listed("--quarantined")["quarantined"]
    assert (rejected["row"], rejected["field"]) == (2, "date")
    assert listed("--limit", "1")["seeds"] == [forum]
    assert [seed["language"] for seed in listed("--language", "en")["seeds"]] == ["en", "en"]
    table = command("seeds", "list").stdout
    assert repeated["id"] in table
    assert "exact 1.00" in table


def test_standard_input_is_read_in_the_format_that_is_named(home):
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli.app", "seeds", "add", "-", "--format", "csv", "--json"],
        input=f"text,source\n{SUM},web\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)["added"] == 1


def test_the_inbox_is_emptied_into_done(command, home):
    inbox = home / "inbox"
    inbox.mkdir(parents=True)
    (inbox / "week.jsonl").write_text(GOOD)
    (inbox / "broken.yaml").write_text('- text: "cut o')
    done = command("seeds", "add", "--json")
    assert done.returncode == 2
    assert "inbox/broken.yaml: line 1: not YAML" in done.stderr
    told = json.loads(done.stdout)
    assert told["added"] == 1
    assert "not YAML" in told["files"]["inbox/broken.yaml"]["error"]
    assert sorted(p.name for p in inbox.iterdir()) == ["done", "quarantined"]
    assert "No seed file in" in command("seeds", "add").stdout


@pytest.mark.skipif(bool(find_spec("tokenizers")), reason="the similarity extra is installed")
def test_without_the_extra_meanings_are_not_compared_and_that_is_said(command, seeds):
    done = command("seeds", "add", str(seeds), "--similarity", "--json")
    assert json.loads(done.stdout)["added"] == 2
    assert "make setup-all" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_what_a_seed_says_cannot_steer_the_terminal(command, tmp_path):
    text = "wipe \x1b[2J the [red]screen[/red] \u202edna"
    (tmp_path / "evil.jsonl").write_text(json.dumps({"text": text, "source": "a\x1b]0;b\x07"}))
    assert command("seeds", "add", "evil.jsonl").returncode == 0
    shown = command("seeds", "list").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "⟨U+001B⟩[2J the [red]screen[/red]" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "none.jsonl"], "none.jsonl: cannot be read: No such file"),
        (["add", "seeds.xlsx"], "expected .jsonl"),
        (["add", "-"], "standard input needs --format"),
        (["add", "-", "--format", "xml"], "'xml' is not known"),
        (["add", "a.csv", "a.csv"], "more than once"),
        (["list", "--quarantined", "--duplicates"], "--quarantined goes with"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(command, arguments, message):
    done = command("seeds", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
