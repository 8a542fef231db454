"""Input files that a model is shown itself, at the wire and in the transcript."""

import hashlib

import pytest

from taskdata.errors import ModelRejected
from taskdata.schema.transcript import Ending, MessageEvent, ShownFile

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
PDF = b"%PDF-1.7 pages"
FILES = {"photo.png": PNG, "report.pdf": PDF, "table.csv": b"a\n"}
SEES = {"native_inputs": ("image", "pdf")}


@pytest.fixture(params=["react", "function_calling"])
def agent(request) -> str:
    return f"{request.param}:compatible/m"


@pytest.fixture
def picture_task(new_answer_task):
    return new_answer_task(
        files=tuple(
            {"path": name, "sha256": hashlib.sha256(data).hexdigest(), "size_bytes": len(data)}
            for name, data in FILES.items()
        )
    )


def task_message(seen) -> object:
    return seen.body["messages"][1]["content"]


def test_files_go_to_the_model_with_the_task_at_every_turn(wire, play, picture_task, agent):
    wire.then(wire.says("What?"), wire.says("Final Answer: a cat"))

    transcript = play(agent, picture_task, files=FILES, settings=SEES)

    for seen in wire.seen:
        kinds = [part["type"] for part in task_message(seen)]
        assert kinds == ["image_url", "file", "text"]
    said = task_message(wire.seen[0])[-1]["text"]
    assert said.endswith(
        "Shown with this message, in this order: input/photo.png, input/report.pdf"
    )
    assert "input/table.csv" in said
    given = [e for e in transcript.events if isinstance(e, MessageEvent)]
    assert given[1].text == said
    assert given[1].shown == (
        ShownFile(
            name="input/photo.png", sha256=hashlib.sha256(PNG).hexdigest(), media_type="image/png"
        ),
        ShownFile(
            name="input/report.pdf",
            sha256=hashlib.sha256(PDF).hexdigest(),
            media_type="application/pdf",
        ),
    )
    assert "pixels" not in transcript.model_dump_json()


def test_a_model_of_unknown_powers_gets_text(wire, play, picture_task, agent):
    wire.then(wire.says("Final Answer: ?"))

    transcript = play(agent, picture_task, files=FILES)

    assert "Shown" not in task_message(wire.seen[0])
    assert "shown" not in transcript.model_dump_json()


def test_a_provider_that_turns_the_files_down_is_asked_without_them(
    wire, play, picture_task, agent
):
    wire.then(wire.fails(400, "image_url is not supported"), wire.says("Final Answer: a cat"))

    transcript = play(agent, picture_task, files=FILES, settings=SEES)

    assert transcript.final_answer.endswith("a cat")
    assert "does not take the files" in task_message(wire.seen[1])
    assert any("does not take the files" in getattr(e, "text", "") for e in transcript.events)


def test_a_rejection_that_has_another_cause_stays_one(wire, play, picture_task, agent):
    wire.respond = lambda seen: wire.fails(401)
    with pytest.raises(ModelRejected):
        play(agent, picture_task, files=FILES, settings=SEES)
    assert len(wire.seen) == 2


def test_files_that_fill_the_window_are_given_up_before_the_task_is(
    wire, play, picture_task, agent
):
    wire.then(
        wire.fails(400, "too long", code="context_length_exceeded"),
        wire.says("Final Answer: ok"),
    )

    transcript = play(agent, picture_task, files=FILES, settings=SEES)

    assert transcript.ending is Ending.FINISHED
    assert isinstance(task_message(wire.seen[1]), str)
