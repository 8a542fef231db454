"""Banks are taken in, listed, shown and given away by the command."""

import json

import pytest

QUERY = "Write the minutes of the meeting to minutes.docx."


@pytest.fixture
def folder(home):
    """A GTA-Workflow folder with 120 good items and a bad one."""
    path = home.parent / "gta folder"
    path.mkdir()
    tree = [{"id": "1", "requirements": "The minutes are complete."}]
    items = {
        str(n): {"dialogs": [{"role": "user", "content": QUERY}], "sub_tasks": tree}
        for n in range(120)
    }
    items["bad"] = {"dialogs": [], "sub_tasks": tree}
    (path / "end.json").write_text(json.dumps(items))
    (path / "toolmeta.json").write_text('["OCR"]')
    return path


def test_a_bank_goes_in_is_listed_shown_and_comes_out(command, folder):
    arguments = ("--bank", "minutes", "--category", "data_analysis", "--json")
    report = json.loads(command("bank", "import", "gta-workflow", str(folder), *arguments).stdout)
    assert (report["imported"], report["quarantined"], report["duplicates"]) == (120, 1, 0)
    assert "category" not in report["assumed"]
    assert report["reasons"][0]["field"] == "dialogs"

    listed = command("bank", "list", "--bank", "minutes").stdout
    assert "120 tasks" in listed
    assert "and 20 more" in listed
    one = ("bank", "list", "--bank", "minutes@1", "--tool", "OCR", "--limit", "1", "--json")
    answer = json.loads(command(*one).stdout)
    assert (answer["count"], len(answer["tasks"])) == (120, 1)
    none = ("bank", "list", "--bank", "minutes", "--category", "retrieval_qa", "--json")
    assert json.loads(command(*none).stdout)["tasks"] == []
    assert "minutes@1, 120 tasks" in command("bank", "list").stdout

    shown = command("bank", "show", "gta-workflow-7", "--bank", report["release"]).stdout
    assert QUERY in shown
    assert "The minutes are complete." in shown
    assert "Reference:    none" in shown
    assert "Difficulty:   human minutes 20, leaves 1, steps of the reference none" in shown
    assert "Explicit requirements of the query" in shown

    out = folder.parent / "out"
    written = command("bank", "export", "parquet", str(out), "--bank", "minutes", "--json")
    assert json.loads(written.stdout)["tasks"] == 120
    again = command("bank", "import", "parquet", str(out), "--json")
    assert json.loads(again.stdout)["release"] == report["release"]
    refused = command("bank", "export", "parquet", str(out), "--bank", "minutes")
    assert (refused.returncode, "--force" in refused.stderr) == (2, True)
    assert command("bank", "export", "parquet", str(out), "--force").returncode == 0


def test_an_import_without_one_task_has_failed(command, home):
    path = home.parent / "tasks.jsonl"
    path.write_text("nonsense\n")
    done = command("bank", "import", "jsonl", str(path))
    assert done.returncode == 1
    assert "not JSON" in done.stdout
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_import_of_nothing_says_so(command, home):
    path = home.parent / "tasks.jsonl"
    path.write_text("")
    done = command("bank", "import", "jsonl", str(path))
    assert done.returncode == 1
    assert "no row of it became a task; there is none" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "jsonl", "nowhere"], "nowhere"),
        (["import", "csv", "nowhere"], "gta-atomic"),
        (["import", "jsonl", "x", "--category", "gardening"], "gardening"),
        (["export", "toolathlon", "x"], "cannot be written"),
        (["export", "jsonl", "x", "--bank", "nobody"], "'nobody' is unknown"),
        (["export", "jsonl", "x", "--split", "0.3"], "add --public"),
        (["export", "jsonl", "x", "--public", "--split", "3"], "between 0 and 1"),
        (["export", "jsonl", "x", "--public", "--seed", "3"], "--split"),
        (["export", "jsonl", "x", "--public", "--force"], "needs a new folder"),
        (["list", "--tier", "middling"], "middling"),
        (["list", "--bank", ""], "bank '' is unknown"),
        (["list", "--bank", "office@99999999999999999999"], "expected bank@version"),
        (["diff", "starter", "starter"], "bank release --bank"),
    ],
)
def test_misuse_names_the_value_in_one_line(command, arguments, message):
    done = command("bank", *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_bank_is_published_in_two_parts(command, home):
    out = home.parent / "out"
    arguments = ("--public", "--split", "0.3", "--seed", "7", "--json")
    report = json.loads(command("bank", "export", "jsonl", str(out), *arguments).stdout)
    rows = (out / "public" / "public.jsonl").read_text().splitlines()
    assert len(rows) == report["tasks"] - report["private"] == round(0.3 * report["tasks"])
    assert not {"checkpoints", "reference", "answer"} & json.loads(rows[0]).keys()
    manifest = json.loads((out / "public" / "manifest.json").read_text())
    assert (manifest["seed"], len(manifest["private"])) == (7, report["private"])
    assert report["canary"] in rows[0]
