"""Serving the pages on which a person reviews candidates, to the owner of a home alone.

A verdict with its checklist is stored in a transaction of its own before the next page is shown.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flows.serving.annotation.asking import AskingPages
from flows.serving.annotation.files import file_of, rendered_of
from flows.serving.annotation.forms import form_token, posted, text_in
from stages.construct.assembling import available_files
from stages.release.review import ReviewSheet, awaiting, find, sheet
from stages.release.reviewing.deciding import decide
from stages.release.reviewing.votes import same_person, standing
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.review import NOTE_CHARACTERS, VERDICTS, Checklist, ChecklistItem, ItemAnswer

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from dashboards.agreement.review_page import EnteredReview
    from taskdata.schema.construct import Candidate, ReviewDecision
    from taskdata.schema.input_file import InputFile
    from taskdata.store import Store

_FORM_BYTES = 300_000
_HEAD_BYTES = 8_000


def review_app(
    store: "Store", asked: "Sequence[Candidate]", reviewer: str, login: str
) -> "Starlette":
    """Return the server on which `reviewer` decides about these candidates.

    Args:
        store: Where they are.
        asked: Those that wait, in the order in which they are shown.
        reviewer: Who decides.
        login: What it asks for, `user:password`.
    """
    from dashboards.agreement.review_page import review_policy

    return _Pages(store, asked, reviewer, login).app(login, review_policy())


class _Pages(AskingPages["Candidate"]):
    """What is answered to each kind of request."""

    noun = "task"

    def __init__(
        self, store: "Store", asked: "Sequence[Candidate]", reviewer: str, login: str
    ) -> None:
        super().__init__(asked, form_token(login, f"review\n{reviewer}"))
        self._store, self._reviewer = store, reviewer

    def key(self, question: "Candidate") -> str:
        return question.id

    def answered(self) -> set[str]:
        """Return the candidates that wait no longer, or about which the reviewer has decided."""
        waiting = {candidate.id for candidate in awaiting(self._store)}
        return {
            one.id for one in self._asked if one.id not in waiting or self._own(one) is not None
        }

    def done(self, _request: "Request") -> "Response":
        from starlette.responses import HTMLResponse

        from dashboards.agreement.review_page import reviewed_page

        return HTMLResponse(reviewed_page(len(self.answered()), len(self._asked)))

    def show(self, request: "Request") -> "Response":
        from dashboards.agreement.review_page import EnteredReview

        number, candidate = self.question(request)
        return self._page(number, candidate, EnteredReview.of(self._own(candidate)))

    async def save(self, request: "Request") -> "Response":
        from starlette.concurrency import run_in_threadpool

        number, candidate = self.question(request)
        form = await posted(request, self._token, _FORM_BYTES)
        return await run_in_threadpool(self._saved, number, candidate, form)

    def file(self, request: "Request") -> "Response":
        from starlette.exceptions import HTTPException

        _number, candidate = self.question(request)
        what, sha256 = request.path_params["what"], request.path_params["sha256"]
        if what == "input":
            return self._input(candidate, sha256)
        played = sheet(self._store, candidate.id, self._reviewer).played
        if played is None:
            raise HTTPException(404)
        return file_of(self._store, played, what, sha256)

    def _saved(
        self, number: int, candidate: "Candidate", form: Mapping[str, list[str]]
    ) -> "Response":
        from dashboards.agreement.review_page import EnteredReview

        answers = {item.value: text_in(form, item.value) for item in ChecklistItem}
        notes = {item.value: text_in(form, f"note_{item.value}").strip() for item in ChecklistItem}
        verdict, comment = text_in(form, "verdict"), text_in(form, "comment").strip()
        try:
            chosen = next((one for one in VERDICTS if one == verdict), None)
            if chosen is None:
                raise Misuse("Choose a verdict.")
            checklist = _checklist(answers, notes)
            current = find(self._store, candidate.id)
            decide(self._store, current, chosen, self._reviewer, comment, checklist)
        except (Misuse, BadTaskData) as exc:
            entered = EnteredReview(answers, notes, verdict, comment, str(exc))
            return self._page(number, candidate, entered, 400)
        return self.onward(number)

    def _page(
        self, number: int, candidate: "Candidate", entered: "EnteredReview", status: int = 200
    ) -> "Response":
        from starlette.responses import HTMLResponse

        from dashboards.agreement.annotation import Place
        from dashboards.agreement.review_page import Reviewed, gone_page, review_page

        found = sheet(self._store, candidate.id, self._reviewer)
        place = Place(number, len(self._asked), len(self.answered()))
        waits = any(one.id == candidate.id for one in awaiting(self._store))
        if found.draft is None or not waits:
            now = found.candidate
            where = f"at {now.stage.value}" if now.status == "open" else now.status.value
            return HTMLResponse(
                gone_page(place, f"{now.task_id} waits no longer: it is {where}."), status
            )
        files = self._files(candidate, found)
        reviewed = Reviewed(
            candidate=found.candidate,
            draft=found.draft,
            evidence=found.evidence,
            reference=found.reference,
            seed=found.seed,
            steps=found.steps,
            disputed=found.confirmation.reasons if found.confirmation else (),
            decisions=found.decisions,
            mending=found.mending,
            files=files,
            heads={file.sha256: self._head(file) for file in files},
            played=found.played,
            rendered=rendered_of(self._store, found.played) if found.played else (),
        )
        page = review_page(place, reviewed, entered, self._token, _standing(found))
        return HTMLResponse(page, status)

    def _own(self, candidate: "Candidate") -> "ReviewDecision | None":
        """Return what the reviewer decided about the present draft."""
        needed = self._store.refresh(candidate.refresh_id).config.reviewers
        votes = standing(self._store.reviews(candidate.id), needed).votes
        return next((vote for vote in votes if same_person(vote.reviewer, self._reviewer)), None)

    def _files(self, candidate: "Candidate", found: ReviewSheet) -> "list[InputFile]":
        named = set(found.draft.files) if found.draft else set()
        available = available_files(self._store, candidate)
        return [file for path, file in available.items() if path in named]

    def _head(self, file: "InputFile") -> str:
        """Return the beginning of a file that is text, else nothing."""
        head = self._store.artifacts.head(file.sha256, _HEAD_BYTES) or b""
        text = head.decode("utf-8", "ignore")
        is_text = b"\0" not in head and len(text.encode()) >= len(head) - 3
        return text if is_text else ""

    def _input(self, candidate: "Candidate", sha256: str) -> "Response":
        from starlette.exceptions import HTTPException

        from flows.serving.annotation.files import download

        found = available_files(self._store, candidate).values()
        file = next((file for file in found if file.sha256 == sha256), None)
        if file is None:
            raise HTTPException(404)
        return download(self._store, file.path, sha256)


def _standing(found: ReviewSheet) -> str:
    if found.reviewers == 1:
        return ""
    if found.is_disputed:
        return "The reviewers disagree; one of them can decide again, or somebody else."
    return f"{found.voted} of {found.reviewers} reviewers have decided."


def _checklist(answers: Mapping[str, str], notes: Mapping[str, str]) -> Checklist:
    """Return the checklist of a form; a note without an answer is refused."""
    found = []
    for item in ChecklistItem:
        answer, note = answers[item.value], notes[item.value]
        if len(note) > NOTE_CHARACTERS:
            raise Misuse(f"The note on `{item.question}` is longer than {NOTE_CHARACTERS}.")
        match answer:
            case "yes" | "no" | "unsure":
                found.append(ItemAnswer(item=item, answer=answer, note=note))
            case "":
                if note:
                    raise Misuse(f"There is a note on `{item.question}`, but no answer.")
            case _:
                raise Misuse(f"{answer[:60]!r} is no answer.")
    return tuple(found)
