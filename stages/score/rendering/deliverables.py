"""The deliverables of one trial, rendered for its checks, its judge and its readers."""

import asyncio
from collections.abc import Collection, Sequence

from stages.score.rendering.listening import Listener, has_sound
from stages.score.rendering.pages import PageDrawer
from stages.score.rendering.reading import PictureReader
from stages.score.rendering.views import Renderer
from taskdata.artifacts import ArtifactStore
from taskdata.schema.run import Deliverable
from taskdata.schema.views import RenderedDeliverable, UnreadableView


async def render_all(
    deliverables: Sequence[Deliverable],
    asked: Collection[str],
    renderer: Renderer,
    drawer: PageDrawer | None,
    listener: Listener | None,
    reader: PictureReader | None,
    artifacts: ArtifactStore,
) -> tuple[RenderedDeliverable, ...]:
    """Return the requested deliverables, rendered; other files cannot earn anything.

    Args:
        deliverables: What the agent left.
        asked: Names of the files that the task asks for.
        renderer: Makes the views.
        drawer: Draws pictures of pages; None: no pictures.
        listener: Writes down what is said in recordings and videos; None: nobody wants to know.
        reader: Reads the text in pictures; None: no judge sees them.
        artifacts: Stores small pictures.
    """
    found = []
    for deliverable in deliverables:
        if deliverable.name not in asked:
            continue
        result = await renderer.render(deliverable)
        preview, pages, heard, lettering = None, None, None, None
        if result.preview_png is not None:
            preview = await asyncio.to_thread(artifacts.put_bytes, result.preview_png)
        if drawer is not None and not isinstance(result.view, UnreadableView):
            pages = await drawer.pages(deliverable)
        if listener is not None and has_sound(result.view):
            heard = await listener.hear(deliverable)
        if reader is not None and pages is not None and pages.pictures:
            lettering = await reader.read(deliverable, pages)
        found.append(
            RenderedDeliverable(
                name=deliverable.name,
                sha256=deliverable.sha256,
                view=result.view,
                preview_png_sha256=preview,
                pages=pages,
                heard=heard,
                lettering=lettering,
            )
        )
    return tuple(found)
