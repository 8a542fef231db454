"""A task is withdrawn by the command, and lists show its tombstone."""

import json


def test_a_task_is_withdrawn_and_shown_as_such(command):
    done = command("bank", "withdraw", "harvest-pie", "--reason", "its answer is on the web")
    assert done.returncode == 0, done.stderr
    assert ": its answer is on the web" in done.stdout
    listed = json.loads(command("bank", "list", "--bank", "starter", "--json").stdout)["tasks"]
    (withdrawn,) = [task for task in listed if "withdrawn" in task]
    assert (withdrawn["id"], withdrawn["withdrawn"]["reason"]) == (
        "harvest-pie",
        "its answer is on the web",
    )
    assert "Withdrawn on" in command("bank", "show", "harvest-pie").stdout
    refused = command("run", "--task", "harvest-pie", "--agent", "nop")
    assert refused.returncode == 2
    assert "was withdrawn on" in refused.stderr


def test_a_withdrawal_needs_a_reason_and_a_task_of_the_bank(command):
    assert command("bank", "withdraw", "harvest-pie").returncode == 2
    done = command("bank", "withdraw", "no-such", "--reason", "x")
    assert done.returncode == 2
    assert "no-such" in done.stderr
