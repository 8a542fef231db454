"""Serving the pages on which a person scores leaves, to the owner of a home alone.

A score is stored in a transaction of its own before the next page is shown. It is taken only from
a page of this server: the browser must name this server as the origin of the form, and the form
must carry a token that other sites cannot read.
"""

import hmac
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from flows.serving.dashboards import HEADERS
from flows.serving.guard import behind_login
from taskdata.errors import NightshiftError
from taskdata.schema.agreement import Annotation

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from flows.agreement.questions import Question
    from taskdata.schema.views import RenderedDeliverable
    from taskdata.store import Store

UNKNOWN = "unknown"
_SCORES = {str(score): float(score) for score in range(11)}
_FORM_BYTES = 4_096


def annotation_app(
    store: "Store", run_id: str, asked: "Sequence[Question]", annotator: str, login: str
) -> "Starlette":
    """Return the server on which `annotator` answers these questions.

    Args:
        store: Where answers go.
        run_id: The run that the questions are of.
        asked: The questions, in the order in which they are asked.
        annotator: Whose answers they are.
        login: What it asks for, `user:password`.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    from dashboards.annotation import annotation_policy

    policy = {
        "Content-Security-Policy": annotation_policy(),
        # Without any referrer a browser would not name the origin of a form either.
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
    pages = _Pages(store, run_id, asked, annotator, login)
    return Starlette(
        routes=[
            Route("/", pages.first),
            Route("/done", pages.done),
            Route("/leaf/{number:int}", pages.leaf),
            Route("/leaf/{number:int}", pages.save, methods=["POST"]),
            Route("/leaf/{number:int}/{what}/{sha256}", pages.file),
        ],
        middleware=behind_login(login, lambda _path: HEADERS | policy),
    )


class _Pages:
    """What is answered to each kind of request."""

    def __init__(
        self,
        store: "Store",
        run_id: str,
        asked: "Sequence[Question]",
        annotator: str,
        login: str,
    ) -> None:
        self._store, self._run_id, self._asked = store, run_id, asked
        self._annotator = annotator
        self._token = hmac.digest(login.encode(), b"annotate\n" + run_id.encode(), "sha256").hex()

    def first(self, _request: "Request") -> "Response":
        return self._onward(0)

    def done(self, _request: "Request") -> "Response":
        from starlette.responses import HTMLResponse

        from dashboards.annotation import done_page

        given = self._given().values()
        unknown = sum(score is None for score in given)
        return HTMLResponse(done_page(self._run_id, len(given) - unknown, unknown))

    def leaf(self, request: "Request") -> "Response":
        from starlette.responses import HTMLResponse

        from dashboards.annotation import Place, annotation_page

        number, question = self._question(request)
        given = self._given()
        before: float | str | None = None
        if question.key in given:
            before = given[question.key]
            before = UNKNOWN if before is None else before
        outcome = question.result.outcome
        page = annotation_page(
            Place(number, len(self._asked), len(given)),
            question.task,
            question.leaf,
            "" if outcome is None else outcome.final_answer,
            () if outcome is None else outcome.deliverables,
            self._rendered(question),
            before,
            self._token,
        )
        return HTMLResponse(page)

    async def save(self, request: "Request") -> "Response":
        from starlette.concurrency import run_in_threadpool
        from starlette.exceptions import HTTPException

        number, question = self._question(request)
        if request.headers.get("origin") != f"http://{request.headers.get('host')}":
            raise HTTPException(403, "Scores are taken from this server's own page only.")
        form = parse_qs((await _body(request)).decode("ascii", "replace"))
        if not hmac.compare_digest(form.get("token", [""])[0].encode(), self._token.encode()):
            raise HTTPException(403, "This page is from another session; load it again.")
        text = form.get("score", [""])[0]
        if text != UNKNOWN and text not in _SCORES:
            raise HTTPException(400, "A score is a whole number from 0 to 10.")
        trial_id, leaf_id = question.key
        annotation = Annotation(
            trial_id=trial_id,
            leaf_id=leaf_id,
            annotator=self._annotator,
            score=_SCORES.get(text),
        )
        await run_in_threadpool(self._store.save_annotation, annotation)
        return await run_in_threadpool(self._onward, number)

    def file(self, request: "Request") -> "Response":
        from starlette.exceptions import HTTPException
        from starlette.responses import Response

        _number, question = self._question(request)
        kinds = self._files(question, request.path_params["what"])
        sha256 = request.path_params["sha256"]
        if sha256 not in kinds:
            raise HTTPException(404)
        kind, headers = kinds[sha256]
        return Response(self._store.artifacts.read_bytes(sha256), media_type=kind, headers=headers)

    def _question(self, request: "Request") -> "tuple[int, Question]":
        from starlette.exceptions import HTTPException

        number = int(request.path_params["number"])
        if not 1 <= number <= len(self._asked):
            raise HTTPException(404)
        return number, self._asked[number - 1]

    def _given(self) -> dict[tuple[str, str], float | None]:
        """Return the annotator's answers to these questions so far."""
        asked = {question.key for question in self._asked}
        found = self._store.annotations(self._run_id, self._annotator)
        scores = {(one.trial_id, one.leaf_id): one.score for one in found}
        return {key: score for key, score in scores.items() if key in asked}

    def _onward(self, number: int) -> "Response":
        """Send to the next question without an answer: after that one, else from the start."""
        from starlette.responses import RedirectResponse

        given = self._given()
        order = [*range(number, len(self._asked)), *range(number)]
        open_ = next((i for i in order if self._asked[i].key not in given), None)
        return RedirectResponse("/done" if open_ is None else f"/leaf/{open_ + 1}", 303)

    def _rendered(self, question: "Question") -> "tuple[RenderedDeliverable, ...]":
        # A view that is lost leaves the file itself, as a download.
        with suppress(NightshiftError):
            return self._store.rendered(question.result.trial.id)
        return ()

    def _files(
        self, question: "Question", what: str
    ) -> Mapping[str, tuple[str, Mapping[str, str]]]:
        """Return, by hash, what may be fetched of a question, as which type and how."""
        from dashboards.annotation import RECORDINGS
        from dashboards.pages.trial.files import save_as

        outcome = question.result.outcome
        files = () if outcome is None else outcome.deliverables
        if what == "file":
            return {
                file.sha256: (
                    "application/octet-stream",
                    {"Content-Disposition": f'attachment; filename="{_ascii(save_as(file.name))}"'},
                )
                for file in files
            }
        if what == "play":
            endings = {f.sha256: PurePosixPath(f.name).suffix.lower()[1:] for f in files}
            return {sha: (RECORDINGS[e], {}) for sha, e in endings.items() if e in RECORDINGS}
        if what != "picture":
            return {}
        pictures = [
            sha256
            for view in self._rendered(question)
            for sha256 in (
                view.preview_png_sha256,
                *(view.pages.pictures if view.pages is not None else ()),
            )
            if sha256 is not None
        ]
        return dict.fromkeys(pictures, ("image/png", {}))


async def _body(request: "Request") -> bytes:
    """Return the request's body; HTTP 413 for more than a form of ours holds."""
    from starlette.exceptions import HTTPException

    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _FORM_BYTES:
            raise HTTPException(413)
    return body


def _ascii(name: str) -> str:
    return name.encode("ascii", "replace").decode().replace("?", "_").replace('"', "_")
