"""Views of many files: from one sandbox where that is safe, from one each where it is not."""

import asyncio

from environments.ports import Sandbox
from environments.renderers.render import Rendered, render
from environments.sandbox.providers import sandbox_provider
from stages.score.rendering.views import Renderer
from taskdata.schema.run import Deliverable
from taskdata.schema.views import CsvView, TextView, UnreadableView


def test_what_is_unreadable_among_others_is_looked_at_alone(store, tmp_path, monkeypatch):
    alone: list[str] = []

    async def counted(sandbox: Sandbox, name: str) -> Rendered:
        alone.append(name)
        return await render(sandbox, name)

    def left(name: str, content: bytes) -> Deliverable:
        sha256 = store.artifacts.put_bytes(content)
        return Deliverable(name=name, sha256=sha256, size_bytes=len(content))

    monkeypatch.setattr("stages.score.rendering.views.render", counted)
    renderer = Renderer(sandbox_provider("bubblewrap"), store.artifacts, tmp_path / "w", "run-1")
    files = (
        left("a.txt", b"alone, for it is the first"),
        left("b.csv", b"with,others\n1,2\n"),
        left("c.xlsx", b"no workbook"),
        left("d.txt", b"with others again"),
    )

    async def inside() -> list[Rendered]:
        try:
            return [await renderer.render(file) for file in files]
        finally:
            await renderer.close()

    views = [rendered.view for rendered in asyncio.run(inside())]

    assert [type(view) for view in views] == [TextView, CsvView, UnreadableView, TextView]
    assert alone == ["deliverable.txt", "deliverable.xlsx"]
    assert list((tmp_path / "w").iterdir()) == []
