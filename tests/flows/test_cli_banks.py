"""Banks are taken in, listed, shown and given away by the command."""

import json
import sys
from types import SimpleNamespace

import pytest

from flows.cli.app import main

QUERY = "Write the minutes of the meeting to minutes.docx."


@pytest.fixture
def nightshift(home, monkeypatch, capsys):
    """Run the command in this process, for it runs often; returns code, output and errors."""

    def run(*arguments: str) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["nightshift", *arguments])
        code = 0
        try:
            main()
        except SystemExit as exc:
            code = exc.code or 0
        said = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=said.out, stderr=said.err)

    return run


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


def test_a_bank_goes_in_is_listed_shown_and_comes_out(nightshift, folder):
    arguments = ("--bank", "minutes", "--category", "data_analysis", "--json")
    report = json.loads(
        nightshift("bank", "import", "gta-workflow", str(folder), *arguments).stdout
    )
    assert (report["imported"], report["quarantined"], report["duplicates"]) == (120, 1, 0)
    assert "category" not in report["assumed"]
    assert report["reasons"][0]["field"] == "dialogs"

    listed = nightshift("bank", "list", "--bank", "minutes").stdout
    assert "120 tasks" in listed
    assert "and 20 more" in listed
    one = ("bank", "list", "--bank", "minutes@1", "--tool", "OCR", "--limit", "1", "--json")
    answer = json.loads(nightshift(*one).stdout)
    assert (answer["count"], len(answer["tasks"])) == (120, 1)
    none = ("bank", "list", "--bank", "minutes", "--category", "retrieval_qa", "--json")
    assert json.loads(nightshift(*none).stdout)["tasks"] == []
    assert "minutes@1, 120 tasks" in nightshift("bank", "list").stdout

    shown = nightshift("bank", "show", "gta-workflow-7", "--bank", report["release"]).stdout
    assert QUERY in shown
    assert "The minutes are complete." in shown

    out = folder.parent / "out"
    written = nightshift("bank", "export", "parquet", str(out), "--bank", "minutes", "--json")
    assert json.loads(written.stdout)["tasks"] == 120
    again = nightshift("bank", "import", "parquet", str(out), "--json")
    assert json.loads(again.stdout)["release"] == report["release"]
    refused = nightshift("bank", "export", "parquet", str(out), "--bank", "minutes")
    assert (refused.returncode, "--force" in refused.stderr) == (2, True)
    assert nightshift("bank", "export", "parquet", str(out), "--force").returncode == 0


def test_an_import_without_one_task_has_failed(nightshift, home):
    path = home.parent / "tasks.jsonl"
    path.write_text("nonsense\n")
    done = nightshift("bank", "import", "jsonl", str(path))
    assert done.returncode == 1
    assert "not JSON" in done.stdout
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "jsonl", "nowhere"], "nowhere"),
        (["import", "csv", "nowhere"], "gta-atomic"),
        (["import", "jsonl", "x", "--category", "gardening"], "gardening"),
        (["export", "toolathlon", "x"], "cannot be written"),
        (["export", "jsonl", "x", "--bank", "nobody"], "'nobody' is unknown"),
        (["list", "--tier", "middling"], "middling"),
    ],
)
def test_misuse_names_the_value_in_one_line(nightshift, arguments, message):
    done = nightshift("bank", *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
