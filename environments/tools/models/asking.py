"""Questions to the multimodal model, answered in free text or in a form.

An answer that does not fit its form is requested once more; then the call fails, nothing is
guessed.
"""

import re
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from environments.ports import Message, ModelRequest
from environments.toolkit.host_tool import HostCall
from environments.tools.models.media import Picture
from taskdata.errors import ToolRefused

MAX_ASKS = 2

_ANSWER_TOKENS = 2_048
_CALL_SECONDS = 180.0
_FENCED = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL)


class AnswerForm(BaseModel):
    """Base of the forms that answers must fit: exactly, types included."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


F = TypeVar("F", bound=AnswerForm)


async def described(call: HostCall, question: str, pictures: tuple[Picture, ...]) -> str:
    """Return the model's answer in free text; raises `ToolRefused` if it is empty."""
    reply = await call.ask(_request(question, pictures))
    if not reply.text.strip():
        raise ToolRefused(f"The model behind {call.tool} gave no answer; ask again.")
    return reply.text.strip()


async def filled(
    call: HostCall, question: str, picture: Picture, form: type[F], schema: dict[str, Any]
) -> F:
    """Return the model's answer as `form`; `schema` is the same as a JSON schema.

    Raises `ToolRefused` if the second answer does not fit either.
    """
    asked = question
    for _ in range(MAX_ASKS):
        reply = await call.ask(_request(asked, (picture,), schema))
        try:
            return form.model_validate_json(_unfenced(reply.text))
        except ValidationError as exc:
            first = exc.errors(include_input=False, include_url=False)[0]
            fault = str(first["msg"])
        # The second question must differ, otherwise a recorded reply would be replayed.
        asked = f"{question}\nYour last answer did not fit: {fault}."
    raise ToolRefused(f"The model behind {call.tool} gave no usable answer: {fault}.")


def _request(
    question: str, pictures: tuple[Picture, ...], schema: dict[str, Any] | None = None
) -> ModelRequest:
    media = tuple(picture.media for picture in pictures)
    return ModelRequest(
        messages=(Message("user", question, media=media),),
        max_tokens=_ANSWER_TOKENS,
        json_schema=schema,
        timeout_seconds=_CALL_SECONDS,
    )


def _unfenced(text: str) -> str:
    fenced = _FENCED.match(text.strip())
    return fenced[1] if fenced else text.strip()
