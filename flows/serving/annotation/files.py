"""Files of a trial as the annotation pages serve them: downloads, pictures of ours, recordings."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from taskdata.errors import NightshiftError

if TYPE_CHECKING:
    from starlette.responses import Response

    from taskdata.schema.run import TrialResult
    from taskdata.schema.views import RenderedDeliverable
    from taskdata.store import Store


def rendered_of(store: "Store", result: "TrialResult") -> "tuple[RenderedDeliverable, ...]":
    """Return the views of a trial's deliverables; none where one is lost, the files are left."""
    with suppress(NightshiftError):
        return store.rendered(result.trial.id)
    return ()


def download(store: "Store", name: str, sha256: str) -> "Response":
    """Return a file as bytes without a type, to be saved under a harmless name."""
    from starlette.responses import Response

    return Response(store.artifacts.read_bytes(sha256), **_as_download(name))


def _as_download(name: str) -> dict[str, Any]:
    from dashboards.pages.trial.files import save_as

    disposition = f'attachment; filename="{_ascii(save_as(name))}"'
    return {
        "media_type": "application/octet-stream",
        "headers": {"Content-Disposition": disposition},
    }


def file_of(store: "Store", result: "TrialResult", what: str, sha256: str) -> "Response":
    """Return a file of the trial.

    Args:
        store: Where it is.
        result: The trial.
        what: `file` for a download, `picture` or `play`.
        sha256: Its hash.

    Raises:
        HTTPException: 404 if the trial has no such file.
    """
    from starlette.exceptions import HTTPException
    from starlette.responses import Response

    kinds = _files(store, result, what)
    if sha256 not in kinds:
        raise HTTPException(404)
    kind, headers = kinds[sha256]
    return Response(store.artifacts.read_bytes(sha256), media_type=kind, headers=headers)


def _files(
    store: "Store", result: "TrialResult", what: str
) -> Mapping[str, tuple[str, Mapping[str, str]]]:
    """Return, by hash, what may be fetched of a trial, as which type and how."""
    from dashboards.agreement.annotation import RECORDINGS

    files = () if result.outcome is None else result.outcome.deliverables
    if what == "file":
        as_saved = {file.sha256: _as_download(file.name) for file in files}
        return {sha: (kind["media_type"], kind["headers"]) for sha, kind in as_saved.items()}
    if what == "play":
        endings = {f.sha256: PurePosixPath(f.name).suffix.lower()[1:] for f in files}
        return {sha: (RECORDINGS[e], {}) for sha, e in endings.items() if e in RECORDINGS}
    if what != "picture":
        return {}
    pictures = [
        sha256
        for view in rendered_of(store, result)
        for sha256 in (
            view.preview_png_sha256,
            *(view.pages.pictures if view.pages is not None else ()),
        )
        if sha256 is not None
    ]
    return dict.fromkeys(pictures, ("image/png", {}))


def _ascii(name: str) -> str:
    return name.encode("ascii", "replace").decode().replace("?", "_").replace('"', "_")
