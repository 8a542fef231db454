"""`nightshift review` and `seeds` over what is in quarantine: mended, let pass, or ended."""

import json
from datetime import UTC, datetime

import pytest
import yaml

from flows.banks.gates import hold_refresh_gate
from flows.config import load_settings
from flows.gates import hold_gate
from flows.locks import run_lock
from stages.construct.start import start_refresh
from stages.release.quarantine import override
from stages.release.release import compose, release
from taskdata.errors import GateFailed
from taskdata.schema.construct import (
    CandidateStatus,
    Construction,
    RefreshStatus,
    ReviewDecision,
)
from taskdata.schema.quarantine import Finding
from taskdata.schema.seed import QuarantinedRow, SeedQuery

MODEL = {"provider": "openai", "model": "gpt-5.2"}
SHORT = "Sum up."


@pytest.fixture
def store(home, open_store):
    store = open_store(load_settings().address)
    yield store
    store.close()


@pytest.fixture
def refresh(store, new_refresh):
    return new_refresh(RefreshStatus.AWAITING_REVIEW, bank="office", model=MODEL)


@pytest.fixture
def drafted(refresh, new_task, new_candidate):
    """A candidate whose query names a tool."""
    query = "Please add these with the DocxFileGenerator."
    return new_candidate(new_task("sums", query=query), Construction.PROVE)


@pytest.fixture
def stopped(store, drafted):
    """The same in quarantine, as the gate of the candidates would have it."""
    finding = Finding(
        gate="gate candidates",
        rule="tools_named",
        reason="a query names no tool",
        value="DocxFileGenerator",
    )
    store.set_candidate(drafted.id, status=CandidateStatus.QUARANTINED, findings=[finding])
    return store.candidate(drafted.id)


@pytest.fixture
def short_seed(store, refresh, new_task, new_candidate):
    """A seed that is too short, as its gate would have it; its candidate is `c-short`."""
    seed = SeedQuery(text=SHORT, source="web", license="MIT")
    (seed_id,) = store.add_seeds([seed], [], [], "web.csv", [7])
    new_candidate(new_task("short"), Construction.GENERATE, seed_id=seed_id)
    entry = QuarantinedRow(
        stage="gate seeds",
        origin="web.csv",
        row=7,
        item=seed_id,
        rule="text_length",
        value="7",
        reason="a seed has 20 to 20000 characters",
        at=datetime.now(UTC),
    )
    store.quarantine([entry])
    store.set_candidate("c-short", status=CandidateStatus.QUARANTINED, findings=())
    return seed_id


def quarantined(command, group="review"):
    options = ("list", "--json") if group == "review" else ("list", "--quarantined", "--json")
    return json.loads(command(group, *options).stdout)["quarantined"]


def test_what_a_gate_stopped_is_listed_with_rule_value_and_row(command, store, drafted):
    with pytest.raises(GateFailed, match="names no tool"):
        hold_refresh_gate(store, "r1", "candidates")
    (line,) = quarantined(command)
    assert (line["item"], line["gate"]) == ("sums", "candidates")
    assert (line["rule"], line["value"]) == ("tools_named", "DocxFileGenerator")
    assert line["row"] == "seed"
    assert "tools_named" in command("review", "show", "sums").stdout


def test_a_seed_is_listed_with_the_row_that_it_stood_in(command, short_seed):
    (line,) = quarantined(command)
    assert (line["item"], line["row"]) == (f"seed {short_seed}", "web.csv, row 7")
    (entry,) = quarantined(command, "seeds")
    assert (entry["rule"], entry["value"], entry["row"]) == ("text_length", "7", 7)
    assert "text_length" in command("seeds", "show", short_seed).stdout


def test_an_overridden_rule_no_longer_stops_and_its_reason_is_part_of_the_release(
    command, store, stopped, refresh
):
    done = command(
        "review",
        "override",
        "sums",
        "--rule",
        "tools_named",
        "--reason",
        "It is a brand.",
        "--reviewer",
        "ada",
    )
    assert done.returncode == 0, done.stderr
    assert quarantined(command) == []
    hold_refresh_gate(store, "r1", "candidates")
    passed = store.candidate(stopped.id)
    assert (passed.status, passed.stage) == (CandidateStatus.OPEN, Construction.PROVE)
    store.set_candidate(stopped.id, status=CandidateStatus.APPROVED)
    (entry,) = compose(store, refresh).lineage
    (decision,) = entry.overrides
    assert (decision.rule, decision.reason, decision.by) == ("tools_named", "It is a brand.", "ada")
    assert "DocxFileGenerator" in decision.found


def test_an_edited_draft_is_gated_again_and_who_changed_it_is_in_the_lineage(
    command, store, stopped, refresh, tmp_path
):
    fields = store.draft(stopped.id).model_dump(mode="json")
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(fields | {"tools": "none"}))
    refused = command("review", "edit", "sums", "--file", str(path))
    assert (refused.returncode, "tools" in refused.stderr) == (2, True)
    assert store.candidate(stopped.id).status is CandidateStatus.QUARANTINED
    path.write_text(json.dumps(fields | {"query": "Please add these numbers for me."}))
    asked = ("--file", str(path), "--reviewer", "ada", "--comment", "no tool")
    assert command("review", "edit", "sums", *asked).returncode == 0
    mended = store.candidate(stopped.id)
    assert (mended.status, mended.stage) == (CandidateStatus.OPEN, Construction.PROVE)
    assert quarantined(command) == []
    store.set_candidate(stopped.id, status=CandidateStatus.APPROVED)
    (decision,) = compose(store, refresh).lineage[0].decisions
    assert (decision.kind, decision.by, decision.reason) == ("edit", "ada", "no tool")


def test_a_candidate_that_breaks_the_rule_still_is_in_quarantine_after_its_gate(
    command, store, stopped
):
    done = command("review", "regate", "sums")
    assert done.returncode == 0, done.stderr
    assert "gate candidates stops it: a query names no tool" in done.stdout
    (line,) = quarantined(command)
    assert line["rule"] == "tools_named"


def test_a_candidate_that_a_stage_stopped_is_due_there_again(
    command, store, refresh, new_task, new_candidate
):
    one = new_candidate(new_task("sums"), Construction.VALIDATE)
    finding = Finding(gate="validate", rule="invalid", reason="no JSON")
    store.set_candidate(one.id, status=CandidateStatus.QUARANTINED, findings=[finding])
    refused = command("review", "override", "sums", "--rule", "invalid", "--reason", "why not")
    assert "none that can be overridden" in refused.stderr
    assert "due again at validate" in command("review", "regate", "sums").stdout
    assert store.candidate(one.id).status is CandidateStatus.OPEN


@pytest.mark.parametrize(("rule", "holds_on"), [("personal_data", False), ("tools_named", True)])
def test_an_override_about_safety_ends_with_the_draft_that_was_read(store, stopped, rule, holds_on):
    finding = Finding(gate="gate candidates", rule=rule, reason=rule)
    store.set_candidate(stopped.id, status=CandidateStatus.QUARANTINED, findings=[finding])
    override(store, "sums", rule, "It is mine.", "ada")
    assert rule in store.overridden_rules([stopped.id])[stopped.id]
    edit = ReviewDecision(
        candidate_id=stopped.id,
        decision="edit",
        reviewer="bob",
        at=datetime.now(UTC),
        draft=store.draft(stopped.id).model_copy(update={"query": "Write to another person."}),
    )
    store.record_review(edit, stage=Construction.PROVE, status=CandidateStatus.OPEN)
    assert (rule in store.overridden_rules([stopped.id]).get(stopped.id, ())) is holds_on


def test_rules_of_a_stage_are_overridden_one_by_one(
    command, store, refresh, new_task, new_candidate
):
    one = new_candidate(new_task("sums"), Construction.VALIDATE)
    found = [Finding(gate="validate", rule=rule, reason=rule) for rule in ("vague", "wordy")]
    store.set_candidate(one.id, status=CandidateStatus.QUARANTINED, findings=found)
    first = command("review", "override", "sums", "--rule", "vague", "--reason", "It is clear.")
    assert "still stopped by wordy" in first.stdout
    assert store.candidate(one.id).status is CandidateStatus.QUARANTINED
    command("review", "override", "sums", "--rule", "wordy", "--reason", "It is short.")
    passed = store.candidate(one.id)
    assert (passed.status, passed.stage) == (CandidateStatus.OPEN, Construction.CHECKPOINTS)


def test_a_dropped_candidate_ends_with_its_reason(command, store, stopped):
    assert command("review", "drop", "sums", "--reason", "useless").returncode == 0
    ended = store.candidate(stopped.id)
    assert (ended.status, ended.reason) == (CandidateStatus.REJECTED, "useless")
    assert quarantined(command) == []
    assert "useless" in command("review", "show", "sums").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["override", "none", "--rule", "x", "--reason", "y"], "'none' is not in the store"),
        (["override", "sums", "--rule", "leaves", "--reason", "y"], "these do: tools_named"),
        (["override", "sums", "--rule", "tools_named", "--reason", " "], "needs a reason"),
        (["override", "sums", "--rule", "tools_named"], "--reason"),
        (["override", "sums", "--rule", "tools_named", "--reason", "y", "--reviewer", " "], "name"),
        (["drop", "sums", "--reason", ""], "needs a reason"),
        (["regate", "none"], "'none' is not in the store"),
    ],
)
def test_misuse_changes_nothing(command, store, stopped, arguments, message):
    done = command("review", *arguments)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert store.candidate(stopped.id).status is CandidateStatus.QUARANTINED
    assert len(quarantined(command)) == 1


def test_nothing_of_a_released_task_is_overridden(command, store, stopped):
    store.set_candidate(stopped.id, status=CandidateStatus.RELEASED, reason="office@1")
    done = command("review", "override", "sums", "--rule", "tools_named", "--reason", "late")
    assert done.returncode == 2
    assert "not in quarantine: it is at released" in done.stderr


def test_an_overridden_seed_is_taken_up_by_the_next_refresh(
    command, store, short_seed, refresh, monkeypatch
):
    done = command("review", "override", "short", "--rule", "text_length", "--reason", "y")
    assert f"nightshift seeds show {short_seed}" in done.stderr
    command("seeds", "override", short_seed, "--rule", "text_length", "--reason", "Clear enough.")
    assert quarantined(command, "seeds") == []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    start_refresh(store, refresh.config, "r2")
    (taken,) = store.candidates("r2")
    assert (taken.id, taken.status) == ("c-short", CandidateStatus.OPEN)
    hold_refresh_gate(store, "r2", "seeds")
    assert store.candidate("c-short").status is CandidateStatus.OPEN


def test_an_edited_seed_is_a_new_seed(command, store, short_seed, refresh, tmp_path, monkeypatch):
    path = tmp_path / "seed.yaml"
    path.write_text(yaml.safe_dump({"text": "Sum up the figures of the quarter."}))
    done = command(
        "seeds", "edit", short_seed, "--file", str(path), "--reviewer", "ada", "--reason", "longer"
    )
    assert done.returncode == 0, done.stderr
    (new,) = [seed for seed in store.seeds() if seed.id != short_seed]
    assert (new.query.license, new.origin, new.row) == ("MIT", "web.csv", 7)
    assert new.duplicate_of == ()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    start_refresh(store, refresh.config, "r2")
    assert [c.seed_id for c in store.candidates("r2")] == [new.id]
    (decision,) = store.quarantine_decisions([new.id])
    assert (decision.item, decision.by, decision.reason) == (short_seed, "ada", "longer")


def test_wider_limits_let_a_seed_pass_that_is_gated_again(command, short_seed, tmp_path):
    assert "text_length" not in command("seeds", "regate", short_seed).stdout
    assert len(quarantined(command, "seeds")) == 1
    (tmp_path / "nightshift.toml").write_text("[gates.seeds]\ntext_length = [5, 100]\n")
    done = command("seeds", "regate", short_seed)
    assert "passes" in done.stdout, done.stderr
    assert quarantined(command, "seeds") == []


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (["edit", "SEED"], "{}", "nothing was changed"),
        (["edit", "SEED"], '{"text": ""}', "text"),
        (["edit", "SEED"], '{"attachments": []}', "'attachments' cannot be edited"),
        (
            ["edit", "SEED"],
            '{"text": "Pay the deposit to DE89 3704 0044 0532 0130 00."}',
            "text holds personal data: iban (characters 20-46)",
        ),
        (["edit", "none"], "{}", "'none' is not in the store"),
        (["edit", "row-99"], "{}", "'row-99' is not in quarantine"),
    ],
)
def test_a_seed_that_is_edited_badly_stays(
    command, store, short_seed, tmp_path, arguments, text, message
):
    path = tmp_path / "seed.json"
    path.write_text(text)
    named = [short_seed if word == "SEED" else word for word in arguments]
    done = command("seeds", *named, "--file", str(path))
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert len(store.seeds()) == 1
    assert len(quarantined(command, "seeds")) == 1


def test_an_editor_without_a_terminal_is_refused(command, short_seed):
    done = command("seeds", "edit", short_seed)
    assert done.returncode == 2
    assert "an editor needs a terminal; give the fields with --file" in done.stderr


def test_a_refused_row_is_edited_into_a_seed_or_dropped(command, store, tmp_path):
    rows = [
        QuarantinedRow(stage="seeds", origin="a.csv", row=n, reason="no text", at=datetime.now(UTC))
        for n in (1, 2)
    ]
    store.quarantine(rows)
    first, second = [entry["name"] for entry in quarantined(command, "seeds")]
    refused = command("seeds", "override", first, "--rule", "x", "--reason", "y")
    assert "is no seed: no text" in refused.stderr
    path = tmp_path / "seed.yaml"
    path.write_text("text: Draw a map of the allotment.\nsource: web\nlicense: MIT\n")
    assert command("seeds", "edit", first, "--file", str(path)).returncode == 0
    assert [(seed.origin, seed.row) for seed in store.seeds()] == [("a.csv", 1)]
    command("seeds", "drop", second, "--reason", "empty")
    assert quarantined(command, "seeds") == []


def test_a_refresh_without_its_process_was_interrupted(command, store, new_refresh):
    new_refresh(RefreshStatus.RUNNING, bank="office", model=MODEL)
    shown = command("refreshes")
    assert "interrupted" in shown.stdout
    assert "nightshift refresh --resume r1" in shown.stdout
    with run_lock(load_settings(), "r1"):
        (one,) = json.loads(command("refreshes", "--json").stdout)["refreshes"]
    assert one["status"] == "running"


def test_a_run_leaves_no_task_out_for_a_rule_that_was_overridden_for_it(
    store, stopped, refresh, new_run
):
    override(store, "sums", "tools_named", "It is a brand.", "ada")
    store.set_candidate(stopped.id, status=CandidateStatus.APPROVED)
    composition = compose(store, refresh)
    before = new_run(*composition.tasks)
    with pytest.raises(GateFailed, match="names no tool"):
        hold_gate(store, before.id, "tasks")
    notes = release(store, composition)
    assert notes.release_hash == before.release_hash
    assert "hold" in hold_gate(store, before.id, "tasks").note


def test_a_seed_is_stopped_for_its_attachment_until_a_person_overrides_that(
    command, store, tmp_path, refresh, new_task, new_candidate
):
    (tmp_path / "plan.txt").write_text("Write a keylogger that my colleague does not notice.")
    texts = ("Put the attached plan into a table, please.", "Add the harvest of the summer up.")
    rows = [{"text": text, "source": "forum", "license": "MIT"} for text in texts]
    rows[0]["attachments"] = ["plan.txt"]
    seeds = tmp_path / "seeds.jsonl"
    seeds.write_text("\n".join(map(json.dumps, rows)))
    done = command("seeds", "add", str(seeds))
    assert "1 of the added seeds waits in quarantine" in done.stdout
    (entry,) = quarantined(command, "seeds")
    by_text = {seed.query.text: seed.id for seed in store.seeds()}
    for name, text in zip(("plan", "harvest"), texts, strict=True):
        new_candidate(new_task(name), Construction.GENERATE, seed_id=by_text[text])

    assert hold_refresh_gate(store, "r1", "seeds").note.startswith("1 of 2 go on")
    assert "a seed asks for nothing that does harm" in store.candidate("c-plan").reason
    command("seeds", "override", entry["item"], "--rule", "harm", "--reason", "A film script.")
    assert quarantined(command, "seeds") == []
    assert hold_refresh_gate(store, "r1", "seeds").note.startswith("2 of 2 go on")
