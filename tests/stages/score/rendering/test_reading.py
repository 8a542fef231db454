"""Text in pictures: each content is read once, and never at the cost of a score."""

import asyncio

import pytest

from environments.renderers.lettering.read import ReadText
from environments.sandbox.providers import sandbox_provider
from stages.score.rendering.reading import PictureReader
from taskdata.errors import SandboxFailed
from taskdata.schema.run import Deliverable
from taskdata.schema.views import PagePictures, PictureTexts

FOUND = ReadText(texts=("Opening hours", ""))


@pytest.fixture
def reader(store, tmp_path, monkeypatch):
    """Make a reader, as each process and each run has its own, whose sandbox gives `answer`."""

    def make(answer: ReadText | Exception) -> tuple[PictureReader, list[list[str]]]:
        asked: list[list[str]] = []

        async def read(sandbox: object, names: list[str]) -> ReadText:
            asked.append(names)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr("stages.score.rendering.reading.read", read)
        return PictureReader(sandbox_provider("bubblewrap"), store, tmp_path, "run-1"), asked

    return make


@pytest.fixture
def poster(store):
    """A deliverable with two pictures."""
    pictures = tuple(store.artifacts.put_bytes(data) for data in (b"\x89PNG 1", b"\x89PNG 2"))
    sha256 = store.artifacts.put_bytes(b"%PDF")
    return Deliverable(name="poster.pdf", sha256=sha256, size_bytes=4), PagePictures(
        pictures=pictures, page_count=2
    )


def test_equal_contents_are_read_once_for_all_trials_and_runs(reader, poster):
    first, asked = reader(FOUND)

    async def twice():
        return await asyncio.gather(first.read(*poster), first.read(*poster))

    one, other = asyncio.run(twice())
    assert one == other == PictureTexts(texts=FOUND.texts)
    later, again = reader(FOUND)
    assert asyncio.run(later.read(*poster)) == one
    assert (asked, again) == ([["0.png", "1.png"]], [])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ReadText(reason="no text recogniser is installed", needs_reader=True), "no text"),
        (SandboxFailed("no bwrap"), "the sandbox for reading them failed"),
    ],
)
def test_what_may_work_another_time_is_tried_again(reader, poster, answer, reason):
    first, _ = reader(answer)
    assert asyncio.run(first.read(*poster)).reason.startswith(reason)
    second, _ = reader(FOUND)
    assert asyncio.run(second.read(*poster)).texts == FOUND.texts
