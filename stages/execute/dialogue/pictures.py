"""The pictures of tool results: how many are kept, and what the model gets of them.

A model that can see gets them as pictures, any other a description in the result's text. They are
sent again with every turn, so both one result and one trial have only so many.
"""

import hashlib
from collections.abc import Sequence

from environments.models.capabilities import native_inputs
from environments.models.money.media import picture_tokens
from environments.ports import Media
from taskdata.artifacts import ArtifactStore
from taskdata.schema.agent import AgentSpec
from taskdata.schema.tool import ToolPicture, ToolResult
from taskdata.schema.transcript import ResultPicture, ShownFile

MAX_OF_RESULT = 8
MAX_OF_RESULT_BYTES = 4_000_000
MAX_OF_TRIAL = 100
MAX_OF_TRIAL_BYTES = 24_000_000

_MAX_BYTES = 3_600_000
"""Of one picture: below the lowest limit of any provider, 5 MB of base64."""
_MAX_WORDS_CHARS = 4_000


class TrialPictures:
    """The pictures that the tools of one trial have returned; the same content is kept once."""

    def __init__(self) -> None:
        self._count = 0
        self._bytes = 0
        self._data: dict[str, bytes] = {}
        self._files: dict[str, ShownFile] = {}
        self._stored: set[str] = set()

    def taken(self, result: ToolResult, *, sees: bool) -> ToolResult:
        """Return a result with the pictures that fit and with text that says what became of each.

        Args:
            result: As the tool returned it.
            sees: Whether the model is shown pictures.
        """
        if not result.pictures:
            return result
        kept: list[ToolPicture] = []
        reason = ""
        for picture in result.pictures:
            reason = self._refusal(picture, kept, failed=result.error is not None)
            if reason:
                break
            kept.append(picture)
            self._count += 1
            self._bytes += len(picture.data)
        lines = [_announced(kept)] if sees and kept else [_described(one) for one in kept]
        if left := len(result.pictures) - len(kept):
            are = "picture of this result is" if left == 1 else "pictures of this result are"
            lines.append(f"[{left} {are} left out: {reason}]")
        text = "\n".join([*lines, result.text])
        return result.model_copy(update={"text": text, "pictures": tuple(kept)})

    def _refusal(self, picture: ToolPicture, kept: Sequence[ToolPicture], *, failed: bool) -> str:
        """Return why a picture is left out; empty: it is kept."""
        size = len(picture.data)
        if failed:
            return "the call failed"
        if size > _MAX_BYTES:
            return f"{picture.name} has {size:,} bytes, and a picture may have {_MAX_BYTES:,}"
        if len(kept) >= MAX_OF_RESULT:
            return f"one result may show {MAX_OF_RESULT}; ask for fewer at once"
        if sum(len(one.data) for one in kept) + size > MAX_OF_RESULT_BYTES:
            return f"those of one result may have {MAX_OF_RESULT_BYTES:,} bytes together"
        if self._count >= MAX_OF_TRIAL:
            return f"your {MAX_OF_TRIAL} pictures are used up"
        if self._bytes + size > MAX_OF_TRIAL_BYTES:
            return f"your {MAX_OF_TRIAL_BYTES:,} bytes of pictures are used up"
        return ""

    def recorded(self, result: ToolResult, *, shown: bool) -> tuple[ResultPicture, ...]:
        """Keep a result's pictures and return what the transcript has of them."""
        return tuple(self._recorded(picture, shown) for picture in result.pictures)

    def _recorded(self, picture: ToolPicture, shown: bool) -> ResultPicture:
        sha256 = hashlib.sha256(picture.data).hexdigest()
        file = ShownFile(name=picture.name, sha256=sha256, media_type=picture.media_type)
        self._data.setdefault(sha256, picture.data)
        self._files.setdefault(sha256, file)
        return ResultPicture(
            **file.model_dump(),
            size_bytes=len(picture.data),
            width=picture.width,
            height=picture.height,
            was_shown=shown,
        )

    def store(self, artifacts: ArtifactStore) -> None:
        """Store the pictures that are not stored yet; blocks."""
        for sha256, data in self._data.items():
            if sha256 not in self._stored:
                artifacts.put_bytes(data)
                self._stored.add(sha256)

    @property
    def stored(self) -> tuple[ShownFile, ...]:
        """The pictures that `store` has stored, each content once."""
        return tuple(self._files[sha256] for sha256 in self._files if sha256 in self._stored)


def sees_pictures(agent: AgentSpec) -> bool:
    """Return whether the agent's model is shown pictures, as its input files are."""
    return "image" in native_inputs(agent)


def as_media(result: ToolResult, agent: AgentSpec) -> tuple[Media, ...]:
    """Return a result's pictures in the form in which the agent's model gets them."""
    most = None if agent.model is None else picture_tokens(agent.model)
    return tuple(Media(p.media_type, p.data, p.name, most) for p in result.pictures)


def _announced(pictures: Sequence[ToolPicture]) -> str:
    return f"[Shown with this result, in this order: {'; '.join(map(_named, pictures))}]"


def _described(picture: ToolPicture) -> str:
    words = picture.words.strip()
    told = f"The text on it: {words[:_MAX_WORDS_CHARS]}" if words else "Text on it is not known."
    if len(words) > _MAX_WORDS_CHARS:
        told += " [cut]"
    size = f"{len(picture.data):,} bytes"
    return (
        f"[A picture that you cannot see, because your model is given no pictures: "
        f"{_named(picture)}, {size}. {told}]"
    )


def _named(picture: ToolPicture) -> str:
    facts = f"{picture.media_type}, {picture.width} x {picture.height} pixels"
    return f"{picture.name} ({facts})"
