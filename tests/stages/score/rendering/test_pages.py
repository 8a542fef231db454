"""Pictures of pages: drawn once for each content, and never at the cost of a score."""

import asyncio

import pytest

from environments.renderers.pages.draw import DrawnPages
from environments.sandbox.providers import sandbox_provider
from stages.score.rendering.pages import PageDrawer
from taskdata.errors import SandboxFailed
from taskdata.schema.run import Deliverable
from taskdata.schema.views import PagePictures

PAGES = DrawnPages(pictures=(b"first", b"second"), page_count=9)


class Drawn:
    """Stands for the sandbox's work: counts what it is asked, and answers as told."""

    def __init__(self, answer: DrawnPages | Exception) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, sandbox: object, name: str) -> DrawnPages:
        self.asked.append(name)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def drawer(store, tmp_path, monkeypatch):
    """Make a drawer, as each process and each run has its own, whose sandbox gives `answer`."""

    def make(answer: DrawnPages | Exception) -> tuple[PageDrawer, Drawn]:
        drawn = Drawn(answer)
        monkeypatch.setattr("stages.score.rendering.pages.draw", drawn)
        return PageDrawer(sandbox_provider("bubblewrap"), store, tmp_path, "run-1"), drawn

    return make


@pytest.fixture
def delivered(store):
    def put(name: str, content: bytes = b"%PDF-") -> Deliverable:
        sha256 = store.artifacts.put_bytes(content)
        return Deliverable(name=name, sha256=sha256, size_bytes=len(content))

    return put


def test_equal_contents_are_drawn_once_for_all_trials_and_runs(store, drawer, delivered):
    first, drawn = drawer(PAGES)

    async def twice():
        return await asyncio.gather(
            first.pages(delivered("a.pdf")), first.pages(delivered("other/b.PDF"))
        )

    one, other = asyncio.run(twice())
    assert one == other
    assert [store.artifacts.read_bytes(sha256) for sha256 in one.pictures] == [b"first", b"second"]
    later, again = drawer(PAGES)
    assert asyncio.run(later.pages(delivered("c.pdf"))) == one
    assert (drawn.asked, again.asked) == (["deliverable.pdf"], [])


def test_a_file_that_cannot_be_drawn_is_not_tried_again(drawer, delivered):
    first, drawn = drawer(DrawnPages(reason="it is broken"))
    for _ in range(2):
        found = asyncio.run(first.pages(delivered("a.pdf")))
        assert found == PagePictures(reason="it is broken")
    assert len(drawn.asked) == 1


@pytest.mark.parametrize("answer", [DrawnPages(needs_converter=True), SandboxFailed("no bwrap")])
def test_what_may_work_another_time_is_tried_again(drawer, delivered, answer):
    first, drawn = drawer(answer)
    assert asyncio.run(first.pages(delivered("a.docx"))) is None
    drawn.answer = PAGES
    assert asyncio.run(first.pages(delivered("a.docx"))).page_count == 9


def test_files_without_pages_are_not_asked_about(drawer, delivered):
    first, drawn = drawer(PAGES)
    assert asyncio.run(first.pages(delivered("a.json"))) is None
    assert drawn.asked == []
