"""What a judge is shown of a trial: settings of a run's judge."""

from typing import ClassVar, Literal

from pydantic import Field

from taskdata.schema.agent import InputKind
from taskdata.schema.base import GrowingValue

JudgeProfile = Literal["full", "gta2-published"]
"""`gta2-published`: what the judge of GTA-2's published evaluator could see, and no more."""


class JudgeSettings(GrowingValue):
    """The `[judge]` table: what the judge takes and how much it is shown."""

    added_later: ClassVar[frozenset[str]] = frozenset({"blind"})

    profile: JudgeProfile = "full"
    """`full`: every file as text and pictures; `gta2-published`: as the published evaluator."""
    inputs: tuple[InputKind, ...] | None = None
    """Kinds of files that its model reads beside text; empty: those it is known to read."""
    max_tokens: int = Field(default=100_000, ge=2_000)
    """Most tokens of one question, by a generous estimate; files are cut to it."""
    blind: bool = False
    """Whether plans are judged without the reference and the grade rules of their case, as a study
    of the judge does; nothing else is judged differently."""

    def qualifier(self) -> str:
        """Return what tells its verdicts from those of the full profile, for a verifier's name."""
        parts: list[str] = [] if self.profile == "full" else [self.profile]
        parts += ["blind"] if self.blind else []
        return f"[{', '.join(parts)}]" if parts else ""
