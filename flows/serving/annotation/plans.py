"""Serving the pages on which a person marks plans, to the owner of a home alone.

Marks are stored in a transaction of their own before the next page is shown.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flows.serving.annotation.asking import RunPages
from flows.serving.annotation.files import download
from flows.serving.annotation.forms import fault_of, posted, text_in
from taskdata.schema.plan_agreement import PlanAnnotation
from taskdata.schema.planning_score import PredictedPlan

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from dashboards.agreement.plan_page import EnteredMarks
    from flows.agreement.plan_questions import PlanQuestion
    from taskdata.store import Store

_FORM_BYTES = 32_768


def marking_app(
    store: "Store", run_id: str, asked: "Sequence[PlanQuestion]", annotator: str, login: str
) -> "Starlette":
    """Return the server on which `annotator` marks these plans.

    Args:
        store: Where marks go.
        run_id: The run that the plans are of.
        asked: The plans, in the order in which they are asked about.
        annotator: Whose marks they are.
        login: What it asks for, `user:password`.
    """
    from dashboards.agreement.plan_page import plan_policy

    return _Pages(store, run_id, asked, annotator, login).app(login, plan_policy())


class _Pages(RunPages["PlanQuestion"]):
    """What is answered to each kind of request."""

    noun = "plan"
    form = "plan"

    def key(self, question: "PlanQuestion") -> str:
        return question.result.trial.id

    def answered(self) -> dict[str, PlanAnnotation]:
        """Return the annotator's marks of these plans so far, by trial."""
        asked = {question.result.trial.id for question in self._asked}
        found = self._store.plan_annotations(self._run_id, self._annotator)
        return {one.trial_id: one for one in found if one.trial_id in asked}

    def done(self, _request: "Request") -> "Response":
        from starlette.responses import HTMLResponse

        from dashboards.agreement.plan_page import marked_page

        return HTMLResponse(marked_page(self._run_id, len(self.answered()), len(self._asked)))

    def show(self, request: "Request") -> "Response":
        from dashboards.agreement.plan_page import EnteredMarks

        number, question = self.question(request)
        before = self.answered().get(question.result.trial.id)
        return self._page(number, question, EnteredMarks.of(before))

    async def save(self, request: "Request") -> "Response":
        from starlette.concurrency import run_in_threadpool

        from dashboards.agreement.plan_page import EnteredMarks

        number, question = self.question(request)
        form = await posted(request, self._token, _FORM_BYTES)
        grade, note = text_in(form, "grade"), text_in(form, "note").strip()
        errors = form.get("errors", [])
        try:
            annotation = PlanAnnotation.model_validate(
                {
                    "trial_id": question.result.trial.id,
                    "annotator": self._annotator,
                    "marks": {"grade": _grade(grade), "errors": errors},
                    "note": note,
                }
            )
        except ValueError as exc:
            told = fault_of(exc)
        else:
            await run_in_threadpool(self._store.save_plan_annotation, annotation)
            return await run_in_threadpool(self.onward, number)
        entered = EnteredMarks(grade, errors, note, told)
        return await run_in_threadpool(self._page, number, question, entered, 400)

    def file(self, request: "Request") -> "Response":
        from starlette.exceptions import HTTPException

        from dashboards.agreement.plan_page import shown_files

        _number, question = self.question(request)
        what, sha256 = request.path_params["what"], request.path_params["sha256"]
        files = {file.sha256: file.path for file in shown_files(question.task, question.case)}
        if what != "input" or sha256 not in files:
            raise HTTPException(404)
        return download(self._store, files[sha256], sha256)

    def _page(
        self, number: int, question: "PlanQuestion", entered: "EnteredMarks", status: int = 200
    ) -> "Response":
        from starlette.responses import HTMLResponse

        from dashboards.agreement.annotation import Place
        from dashboards.agreement.plan_page import plan_page

        outcome = question.result.outcome
        transcript = None if outcome is None else self._store.transcript_of(outcome)
        answer = None if transcript is None else transcript.predicted_plan
        place = Place(number, len(self._asked), len(self.answered()))
        page = plan_page(
            place, question.task, question.case, answer or PredictedPlan(), entered, self._token
        )
        return HTMLResponse(page, status)


def _grade(text: str) -> float:
    """Return the grade that was chosen; ValueError says what is wrong with it."""
    if not text:
        raise ValueError("Choose a grade.")
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text[:60]!r} is no grade.") from None
