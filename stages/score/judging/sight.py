"""What a judge can take: kinds of media, and how long one question may be."""

from dataclasses import dataclass

from environments.models.capabilities import capabilities_of
from environments.models.money.media import picture_tokens
from environments.models.registry import takes_audio
from taskdata.schema.agent import InputKind, ModelSpec
from taskdata.schema.judging import JudgeProfile, JudgeSettings

REPLY_TOKENS = 1024
_LOCAL_WINDOW = 4096
"""Tokens of a conversation with a model that this installation serves itself."""
_ANY_PICTURE_TOKENS = 6_000


@dataclass(frozen=True)
class Sight:
    """What one judge is shown beside text, and how much."""

    inputs: frozenset[InputKind] = frozenset()
    profile: JudgeProfile = "full"
    max_tokens: int = JudgeSettings().max_tokens
    """Of one question together, by the estimate of `tokens.py`."""
    picture_tokens: int = _ANY_PICTURE_TOKENS
    """Most that one picture can count, for the money that a call reserves."""
    qualifier: str = ""
    """Part of the verifier's name."""

    @property
    def sees(self) -> bool:
        """Whether pictures are shown."""
        return "image" in self.inputs

    @property
    def hears(self) -> bool:
        """Whether recordings are played."""
        return "audio" in self.inputs


def sight_of(spec: ModelSpec, base_url: str | None, settings: JudgeSettings) -> Sight:
    """Return what the judge takes by its settings, or else what its model is known to take.

    Raises:
        Misuse: see `takes_audio`.
    """
    known = capabilities_of(spec)
    inputs = known.inputs if settings.inputs is None else settings.inputs
    if "audio" in inputs and not takes_audio(spec, base_url):
        inputs = tuple(kind for kind in inputs if kind != "audio")
    window = _LOCAL_WINDOW if spec.provider == "local" else known.window_tokens
    room = settings.max_tokens if window is None else min(settings.max_tokens, window)
    return Sight(
        inputs=frozenset(inputs),
        profile=settings.profile,
        max_tokens=room,
        picture_tokens=picture_tokens(spec),
        qualifier=settings.qualifier(),
    )
