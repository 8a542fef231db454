"""What all annotation servers share: one page per question, and on to the next open one."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from flows.serving.annotation.forms import form_token, policy_headers
from flows.serving.dashboards import HEADERS
from flows.serving.guard import behind_login

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from taskdata.store import Store

Q = TypeVar("Q")


class AskingPages(ABC, Generic[Q]):
    """Pages that ask one person about one thing after another, each at `/noun/number`.

    A subclass stores an answer in a transaction of its own before it sends to the next page.
    """

    noun: ClassVar[str]
    """What is asked about, as addresses have it."""

    def __init__(self, asked: Sequence[Q], token: str) -> None:
        """Ask about these things.

        Args:
            asked: In the order in which they are asked about.
            token: What the forms carry.
        """
        self._asked, self._token = asked, token

    @abstractmethod
    def done(self, request: "Request") -> "Response":
        """Return the page after the last question."""

    @abstractmethod
    def show(self, request: "Request") -> "Response":
        """Return the page of a question."""

    @abstractmethod
    async def save(self, request: "Request") -> "Response":
        """Store the answer to a question and send on, or say what is wrong with it."""

    @abstractmethod
    def file(self, request: "Request") -> "Response":
        """Return a file that the page of a question shows or offers."""

    @abstractmethod
    def key(self, question: Q) -> Hashable:
        """Return by what an answer to the question is known."""

    @abstractmethod
    def answered(self) -> Collection[Hashable]:
        """Return the keys of the questions that the person has answered so far."""

    def app(self, login: str, content_policy: str) -> "Starlette":
        """Return the server of these pages.

        Args:
            login: What it asks for, `user:password`.
            content_policy: The content security policy of the pages.
        """
        from starlette.applications import Starlette
        from starlette.routing import Route

        policy, path = policy_headers(content_policy), f"/{self.noun}/{{number:int}}"
        return Starlette(
            routes=[
                Route("/", lambda _request: self.onward(0)),
                Route("/done", self.done),
                Route(path, self.show),
                Route(path, self.save, methods=["POST"]),
                Route(f"{path}/{{what}}/{{sha256}}", self.file),
            ],
            middleware=behind_login(login, lambda _path: HEADERS | policy),
        )

    def question(self, request: "Request") -> tuple[int, Q]:
        """Return the question of a request, with its number from 1; HTTPException 404: none."""
        from starlette.exceptions import HTTPException

        number = int(request.path_params["number"])
        if not 1 <= number <= len(self._asked):
            raise HTTPException(404)
        return number, self._asked[number - 1]

    def onward(self, number: int) -> "Response":
        """Send to the next question without an answer: after that one, else from the start."""
        from starlette.responses import RedirectResponse

        answered = self.answered()
        order = [*range(number, len(self._asked)), *range(number)]
        open_ = next((i for i in order if self.key(self._asked[i]) not in answered), None)
        return RedirectResponse("/done" if open_ is None else f"/{self.noun}/{open_ + 1}", 303)


class RunPages(AskingPages[Q]):
    """Pages that ask an annotator about trials of one run."""

    form: ClassVar[str]
    """What tells the token of these pages from that of others about the same run."""

    def __init__(
        self, store: "Store", run_id: str, asked: Sequence[Q], annotator: str, login: str
    ) -> None:
        """Ask `annotator` about these things of the run, and store the answers there."""
        super().__init__(asked, form_token(login, f"{self.form}\n{run_id}"))
        self._store, self._run_id, self._annotator = store, run_id, annotator
