"""Serving the pages on which a person labels failed trials, to the owner of a home alone.

Labels are stored in a transaction of their own before the next page is shown.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flows.serving.annotation.asking import RunPages
from flows.serving.annotation.files import file_of, rendered_of
from flows.serving.annotation.forms import fault_of, posted, text_in
from taskdata.schema.label_agreement import (
    ALL_LABELS,
    ONE_OF_A_KIND,
    GivenLabels,
    LabelAnnotation,
    known_label,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from dashboards.agreement.label_page import Entered
    from flows.agreement.label_questions import LabelQuestion
    from taskdata.store import Store

_FORM_BYTES = 32_768


def labelling_app(
    store: "Store", run_id: str, asked: "Sequence[LabelQuestion]", annotator: str, login: str
) -> "Starlette":
    """Return the server on which `annotator` labels these trials.

    Args:
        store: Where labels go.
        run_id: The run that the trials are of.
        asked: The trials, in the order in which they are asked about.
        annotator: Whose labels they are.
        login: What it asks for, `user:password`.
    """
    from dashboards.agreement.label_page import label_policy

    return _Pages(store, run_id, asked, annotator, login).app(login, label_policy())


class _Pages(RunPages["LabelQuestion"]):
    """What is answered to each kind of request."""

    noun = "trial"
    form = "label"

    def key(self, question: "LabelQuestion") -> str:
        return question.result.trial.id

    def answered(self) -> dict[str, LabelAnnotation]:
        """Return the annotator's labels of these trials so far, by trial."""
        asked = {question.result.trial.id for question in self._asked}
        found = self._store.label_annotations(self._run_id, self._annotator)
        return {one.trial_id: one for one in found if one.trial_id in asked}

    def done(self, _request: "Request") -> "Response":
        from starlette.responses import HTMLResponse

        from dashboards.agreement.label_page import labelled_page

        page = labelled_page(self._run_id, len(self.answered()), len(self._asked))
        return HTMLResponse(page)

    def show(self, request: "Request") -> "Response":
        from dashboards.agreement.label_page import Entered

        number, question = self.question(request)
        before = self.answered().get(question.result.trial.id)
        return self._page(number, question, Entered.of(before))

    async def save(self, request: "Request") -> "Response":
        from starlette.concurrency import run_in_threadpool

        from dashboards.agreement.label_page import Entered

        number, question = self.question(request)
        form = await posted(request, self._token, _FORM_BYTES)
        place, note = text_in(form, "place").strip(), text_in(form, "note").strip()
        labels = {kind: tuple(filter(None, form.get(kind, []))) for kind in ALL_LABELS}
        try:
            annotation = LabelAnnotation(
                trial_id=question.result.trial.id,
                annotator=self._annotator,
                labels=_labels(labels),
                place=place,
                note=note,
            )
            await run_in_threadpool(self._require_place, question, place)
        except ValueError as exc:
            told = fault_of(exc)
        else:
            await run_in_threadpool(self._store.save_label_annotation, annotation)
            return await run_in_threadpool(self.onward, number)
        entered = Entered(labels, place, note, told)
        return await run_in_threadpool(self._page, number, question, entered, 400)

    def file(self, request: "Request") -> "Response":
        _number, question = self.question(request)
        wanted = request.path_params["what"], request.path_params["sha256"]
        return file_of(self._store, question.result, *wanted)

    def _page(
        self, number: int, question: "LabelQuestion", entered: "Entered", status: int = 200
    ) -> "Response":
        from starlette.responses import HTMLResponse

        from dashboards.agreement.annotation import Place
        from dashboards.agreement.label_page import label_page

        result = question.result
        outcome = result.outcome
        page = label_page(
            Place(number, len(self._asked), len(self.answered())),
            question.task,
            result,
            None if outcome is None else self._store.transcript_of(outcome),
            rendered_of(self._store, result),
            self._places(question),
            entered,
            self._token,
        )
        return HTMLResponse(page, status)

    def _places(self, question: "LabelQuestion") -> tuple[str, ...]:
        from flows.agreement.label_questions import places_of

        outcome = question.result.outcome
        transcript = None if outcome is None else self._store.transcript_of(outcome)
        return places_of(question.task, question.result, transcript)

    def _require_place(self, question: "LabelQuestion", place: str) -> None:
        if place and place not in self._places(question):
            raise ValueError(
                f"{place[:60]!r} is no place of this trial; click one in the record, or leave it "
                "empty"
            )


def _labels(marked: Mapping[str, Sequence[str]]) -> GivenLabels:
    """Return the labels that were marked in the form; ValueError says what is wrong with them."""
    single = {
        kind: known_label(kind, marked[kind][0]) if marked[kind] else None for kind in ONE_OF_A_KIND
    }
    return GivenLabels.model_validate({**marked, **single})
