"""Which of a task's files a model is shown."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from environments.tool_runtime.toolbox import Toolbox
from stages.execute.assignment import Assignment
from stages.execute.dialogue.inputs import MAX_FILES, MAX_TOGETHER_BYTES, shown_inputs
from taskdata.schema.agent import AgentSpec

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
FILES = {
    "photo.PNG": PNG,
    "scan.jpg": b"\xff\xd8\xff\xe0",
    "clip.gif": b"GIF89a",
    "shot.webp": b"RIFF\0\0\0\0WEBP",
    "talk.wav": b"RIFF\0\0\0\0WAVE",
    "song.mp3": b"ID3",
    "report.pdf": b"%PDF-1.7",
    "table.csv": b"a,b\n",
    "lying.png": b"<svg></svg>",
    "mixed.jpeg": b"%PDF-1.7",
}


@pytest.fixture
def shown(tmp_path: Path, new_task):
    """Put files into an input folder and return what an agent's model is shown of them."""

    def show(files: dict[str, bytes], agent: str, **settings: object):
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
        task = new_task(
            files=tuple(
                {"path": name, "sha256": hashlib.sha256(data).hexdigest(), "size_bytes": len(data)}
                for name, data in files.items()
            )
        )
        assignment = Assignment(
            brief=task.brief(),
            agent=AgentSpec.parse(agent, **settings),
            tools=Toolbox((), sandbox=None),  # type: ignore[arg-type]
            input_folder=tmp_path,
        )
        return asyncio.run(shown_inputs(assignment))

    return show


def names(shown) -> list[str]:
    return [item.media.name for item in shown]


def test_a_known_model_is_shown_what_it_takes(shown):
    found = shown(FILES, "react:anthropic/claude-haiku-4-5")
    assert names(found) == ["photo.PNG", "scan.jpg", "clip.gif", "shot.webp", "report.pdf"]
    assert found[0].file.model_dump() == {
        "name": "input/photo.PNG",
        "sha256": hashlib.sha256(PNG).hexdigest(),
        "media_type": "image/png",
    }
    assert found[0].media.data == PNG


@pytest.mark.parametrize(
    "agent", ["react:compatible/m", "react:local/m", "react:openai-chat/gpt-9"]
)
def test_an_unknown_model_is_shown_nothing_unless_its_agent_says_so(shown, agent):
    assert shown(FILES, agent) == ()
    assert names(shown(FILES, agent, native_inputs=("audio",))) == ["talk.wav", "song.mp3"]


def test_recordings_that_its_requests_cannot_carry_take_no_pictures_along(shown):
    found = shown(FILES, "react:anthropic/claude-haiku-4-5", native_inputs=("audio", "image"))
    assert names(found) == ["photo.PNG", "scan.jpg", "clip.gif", "shot.webp"]


def test_an_agent_can_do_without(shown):
    assert shown(FILES, "react:anthropic/claude-haiku-4-5", native_inputs=()) == ()


def test_number_and_size_are_bounded(shown):
    many = {f"{n}.png": PNG for n in range(MAX_FILES + 5)}
    assert names(shown(many, "react:compatible/m", native_inputs=("image",))) == [
        f"{n}.png" for n in range(MAX_FILES)
    ]
    pdf = b"%PDF-1.7" + bytes(MAX_TOGETHER_BYTES // 2)
    large = {"a.pdf": pdf, "b.pdf": pdf, "c.pdf": pdf[:1000], "d.png": PNG + bytes(3_600_000)}
    kinds = ("image", "pdf")
    assert names(shown(large, "react:compatible/m", native_inputs=kinds)) == ["a.pdf", "c.pdf"]


def test_what_is_no_plain_file_is_not_followed(shown, tmp_path):
    (tmp_path / "secret").write_bytes(PNG)
    assert names(shown({"a.png": PNG, "b.png": PNG}, "react:openai/gpt-5.2")) == ["a.png", "b.png"]
    (tmp_path / "a.png").unlink()
    (tmp_path / "a.png").symlink_to(tmp_path / "secret")
    (tmp_path / "b.png").unlink()
    files = {"c.png": PNG}
    assert names(shown(files, "react:openai/gpt-5.2")) == ["c.png"]
