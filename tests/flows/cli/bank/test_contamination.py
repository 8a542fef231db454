"""The command says what of a bank is in files, and its exit code says whether anything is."""

import json

from taskdata.banks.loader import load_bank


def test_an_export_is_found_by_canary_query_and_requirements(command, home):
    out = home.parent / "out"
    command("bank", "export", "jsonl", str(out))
    found = command("bank", "check-contamination", str(out / "tasks.jsonl"), "--json")
    assert found.returncode == 1
    report = json.loads(found.stdout)
    first = report["findings"][0]
    assert (first["is_own_canary"], first["file"]) == (True, str(out / "tasks.jsonl"))
    assert first["line"] == 1
    tasks = {finding["task"]: finding for finding in report["findings"] if finding["task"]}
    assert tasks.keys() <= {task.id for task in load_bank("starter").tasks}
    assert report["found"] == len(report["findings"]) > len(tasks) > 20

    capped = command("bank", "check-contamination", str(out / "tasks.jsonl"), "--limit", "2")
    assert "... and" in capped.stdout


def test_exit_codes_tell_nothing_found_from_nothing_read(command, home):
    folder = home.parent / "corpus"
    folder.mkdir()
    assert command("bank", "check-contamination", str(folder)).returncode == 2
    (folder / "a.txt").write_text("Nothing of the kind.\n")
    clean = command("bank", "check-contamination", str(folder))
    assert clean.returncode == 0
    assert "Nothing of bank starter was found in 1 files" in clean.stdout
    (folder / "b.bin").write_bytes(b"\0\0")
    unread = command("bank", "check-contamination", str(folder))
    assert unread.returncode == 2
    assert "b.bin" in unread.stderr
    missing = command("bank", "check-contamination", str(folder / "nowhere"))
    assert missing.returncode == 2
    assert len(missing.stderr.strip().splitlines()) == 1
