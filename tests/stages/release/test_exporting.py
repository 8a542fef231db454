"""A bank goes out whole with its canary, or without anything that scores or answers it."""

import hashlib
import json

import pytest

from stages.release.exporting import Parts, export_bank, export_parts, export_public
from stages.release.importing import import_bank
from stages.release.withdrawing import withdraw
from taskdata.canary import FIELD, canary_of
from taskdata.errors import Misuse
from taskdata.formats.parts import public_ids
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.outline import outline
from taskdata.schema.package import SimulatedUser, TaskPackage
from taskdata.schema.public import PublicTask
from taskdata.schema.task import (
    Category,
    InputFile,
    ObjectiveAnswer,
    Provenance,
    ReferenceSolution,
    ReferenceStep,
    TaskEnvironment,
)

SECRET = "hidden-4711"
"""Stands in everything of a task that would score or answer it."""


def hidden(store, path):
    content = f"{path} {SECRET}".encode()
    sha256 = store.artifacts.put_bytes(content)
    return InputFile(path=path, sha256=sha256, size_bytes=len(content))


@pytest.fixture
def office(store, new_task):
    """A bank of ten tasks whose hidden parts hold the secret."""
    shown = b"what the agent reads"
    given = InputFile(path="a.txt", sha256=store.artifacts.put_bytes(shown), size_bytes=len(shown))
    secret = Checkpoint(
        id="root",
        requirement=f"the total is {SECRET}",
        verifier=Check(name="answer_contains", args={"texts": [SECRET]}),
    )
    parts = {
        "files": (given,),
        "checkpoints": secret,
        "answer": ObjectiveAnswer(whitelist=((SECRET,),)),
        "reference": ReferenceSolution(
            steps=(ReferenceStep(tool="OCR", arguments={"a": SECRET}),), final_answer=SECRET
        ),
        "provenance": Provenance(url=f"https://example.org/{SECRET}", seed_id=SECRET),
        "extras": {"gta": SECRET},
        "package": TaskPackage(turn_mode="multi", user=SimulatedUser(instructions=SECRET)),
        "environment": TaskEnvironment(
            servers=("memory",),
            distractors=("Calculator", "mcp:excel"),
            preprocess=(hidden(store, "preprocess/main.py"),),
            evaluation=(hidden(store, "evaluation/main.py"),),
            groundtruth=(hidden(store, "groundtruth/out.txt"),),
        ),
    }
    kinds = [Category.DATA_ANALYSIS] * 6 + [Category.RETRIEVAL_QA] * 4
    tasks = [new_task(f"task-{n}", category=kind, **parts) for n, kind in enumerate(kinds)]
    folder = store.add_release("unlisted", tasks, {})
    assert folder.task_hashes
    return tasks


@pytest.fixture
def bank(store, office, tmp_path):
    """Its name in the store."""
    from taskdata.formats.registry import writer

    writer("jsonl")(office, tmp_path / "in", store.artifacts.copy_to, force=False)
    assert import_bank(store, "office", "jsonl", tmp_path / "in").imported == 10
    return "office"


def texts_below(folder):
    return {p.relative_to(folder): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_a_public_export_holds_nothing_that_scores_or_answers(store, bank, office, tmp_path):
    report = export_public(store, bank, "jsonl", tmp_path / "out")
    assert report.tasks == 10
    written = texts_below(tmp_path / "out")
    assert not [name for name, text in written.items() if SECRET in text]
    rows = [json.loads(line) for line in (tmp_path / "out/public.jsonl").read_text().splitlines()]
    assert {row["hash"] for row in rows} == {task.content_hash for task in office}
    first = rows[0]
    assert first["query"] == office[0].query
    assert first["tools"] == sorted({*office[0].tools, "Calculator"})
    assert first["servers"] == ["excel", "memory"]
    (file,) = first["files"]
    assert (tmp_path / "out/files" / file["sha256"]).read_bytes() == b"what the agent reads"
    assert len(list((tmp_path / "out/files").iterdir())) == 1


def test_the_parts_of_a_split_match_its_manifest_and_the_private_one_comes_back(
    store, bank, office, tmp_path
):
    wanted = Parts(public_share=0.5, seed=7)
    report = export_parts(store, bank, "jsonl", tmp_path / "out", wanted)
    assert (report.tasks, report.private) == (10, 5)
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    hashes = {task.id: task.content_hash for task in office}
    assert manifest["public"].items() <= hashes.items()
    kinds = [task.category for task in office if task.id in manifest["public"]]
    assert (kinds.count(Category.DATA_ANALYSIS), kinds.count(Category.RETRIEVAL_QA)) == (3, 2)
    assert not [n for n, text in texts_below(tmp_path / "out/public").items() if SECRET in text]

    again = import_bank(store, "held-back", "jsonl", tmp_path / "out/private")
    assert again.imported == 5
    stored = {h for _, h in store.members_of_release(again.release)}
    assert (
        stored
        == set(manifest["private"])
        == set(hashes.values()) - set(manifest["public"].values())
    )


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
def test_a_split_is_the_same_for_a_seed_and_gives_every_category_its_share(office, share):
    outlines = [outline(task, task.content_hash) for task in office]
    chosen = public_ids(outlines, share, 1)
    assert chosen == public_ids(reversed(outlines), share, 1)
    assert len(chosen) == round(share * 10)
    for category, size in ((Category.DATA_ANALYSIS, 6), (Category.RETRIEVAL_QA, 4)):
        found = sum(task.category == category for task in outlines if task.id in chosen)
        assert abs(found - share * size) < 1
    assert len({public_ids(outlines, share, seed) for seed in range(8)}) > 1


@pytest.mark.parametrize("format", ["jsonl", "inspect", "gta-workflow", "parquet"])
def test_every_exported_task_carries_the_canary_and_comes_back_as_it_was(
    store, bank, office, tmp_path, format
):
    report = export_bank(store, bank, format, tmp_path / "out")
    assert report.canary == canary_of("office")
    assert report.canary in (tmp_path / "out/CANARY.txt").read_text()
    if format == "parquet":
        from pyarrow import parquet

        table = parquet.read_table(tmp_path / "out/tasks.parquet")
        assert table.column(FIELD).to_pylist() == [report.canary] * 10
    else:
        names = {"jsonl": "tasks.jsonl", "inspect": "samples.jsonl", "gta-workflow": "end.json"}
        document = tmp_path / "out" / names[format]
        assert document.read_text().count(report.canary) == 10
    again = import_bank(store, "again", format, tmp_path / "out")
    assert (again.imported, again.ignored.keys() & {FIELD, f"metadata.{FIELD}"}) == (10, set())
    assert {h for _, h in store.members_of_release(again.release)} == {
        task.content_hash for task in office
    }


def test_withdrawn_tasks_do_not_go_out(store, bank, tmp_path):
    withdraw(store, bank, "task-3", "its answer is on the web")
    for name, export in (("whole", export_bank), ("public", export_public)):
        report = export(store, bank, "jsonl", tmp_path / name)
        assert (report.tasks, report.withdrawn) == (9, 1)
    report = export_parts(store, bank, "jsonl", tmp_path / "parts", Parts(public_share=0.4))
    assert (report.tasks, report.withdrawn, report.private) == (9, 1, 5)
    assert "task-3" not in "".join(texts_below(tmp_path / "parts").values())


def test_what_lies_in_the_folder_is_not_published_with_it(store, bank, tmp_path):
    export_bank(store, bank, "jsonl", tmp_path / "out")
    with pytest.raises(Misuse, match="would be published whole"):
        export_public(store, bank, "jsonl", tmp_path / "out")
    with pytest.raises(Misuse, match="is a folder"):
        export_public(store, bank, "jsonl", tmp_path / "out.jsonl")


def test_a_public_export_has_one_format_and_a_split_two_parts(store, bank, tmp_path):
    with pytest.raises(Misuse, match="written as jsonl"):
        export_public(store, bank, "parquet", tmp_path / "out")
    with pytest.raises(Misuse, match="0 of 10 tasks would be public"):
        export_parts(store, bank, "jsonl", tmp_path / "out", Parts(public_share=0.01))
    assert not (tmp_path / "out").exists()


def test_every_task_of_the_starter_loses_its_answers(store, tmp_path):
    export_public(store, "starter", "jsonl", tmp_path / "out")
    from taskdata.banks.loader import load_bank

    tasks = load_bank("starter").tasks
    lines = (tmp_path / "out/public.jsonl").read_text().splitlines()
    public = [PublicTask.model_validate_json(line) for line in lines]
    assert [[f.path for f in p.files] for p in public] == [[f.path for f in t.files] for t in tasks]
    given = [file for task in public for file in task.files]
    files = {p.name: p.read_bytes() for p in (tmp_path / "out/files").iterdir()}
    assert files.keys() == {file.sha256 for file in given}
    assert all(hashlib.sha256(content).hexdigest() == name for name, content in files.items())
    canary = canary_of("starter").encode()
    plain = {file.path for file in given if canary not in files[file.sha256]}
    assert {path.rpartition(".")[2] for path in plain} == {"csv", "json", "md", "txt"}
    rows = (tmp_path / "out/public.jsonl").read_text()
    for task in tasks:
        for leaf in task.checkpoints.leaves():
            assert leaf.requirement not in rows, (task.id, leaf.id)
