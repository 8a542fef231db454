"""Serving the pages on which a person scores leaves, to the owner of a home alone.

A score is stored in a transaction of its own before the next page is shown.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flows.serving.annotation.asking import RunPages
from flows.serving.annotation.files import file_of, rendered_of
from flows.serving.annotation.forms import posted
from taskdata.schema.agreement import Annotation

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from flows.agreement.questions import Question
    from taskdata.store import Store

UNKNOWN = "unknown"
_SCORES = {str(score): float(score) for score in range(11)}


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
    from dashboards.agreement.annotation import annotation_policy

    return _Pages(store, run_id, asked, annotator, login).app(login, annotation_policy())


class _Pages(RunPages["Question"]):
    """What is answered to each kind of request."""

    noun = "leaf"
    form = "annotate"

    def key(self, question: "Question") -> tuple[str, str]:
        return question.key

    def answered(self) -> dict[tuple[str, str], float | None]:
        """Return the annotator's answers to these questions so far."""
        asked = {question.key for question in self._asked}
        found = self._store.annotations(self._run_id, self._annotator)
        scores = {(one.trial_id, one.leaf_id): one.score for one in found}
        return {key: score for key, score in scores.items() if key in asked}

    def done(self, _request: "Request") -> "Response":
        from starlette.responses import HTMLResponse

        from dashboards.agreement.annotation import done_page

        given = self.answered().values()
        unknown = sum(score is None for score in given)
        return HTMLResponse(done_page(self._run_id, len(given) - unknown, unknown))

    def show(self, request: "Request") -> "Response":
        from starlette.responses import HTMLResponse

        from dashboards.agreement.annotation import Place, annotation_page

        number, question = self.question(request)
        given = self.answered()
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
            rendered_of(self._store, question.result),
            before,
            self._token,
        )
        return HTMLResponse(page)

    async def save(self, request: "Request") -> "Response":
        from starlette.concurrency import run_in_threadpool
        from starlette.exceptions import HTTPException

        number, question = self.question(request)
        form = await posted(request, self._token)
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
        return await run_in_threadpool(self.onward, number)

    def file(self, request: "Request") -> "Response":
        _number, question = self.question(request)
        wanted = request.path_params["what"], request.path_params["sha256"]
        return file_of(self._store, question.result, *wanted)
