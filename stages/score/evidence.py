"""What a trial left, as far as its score may depend on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stages.score.matching import listed
from taskdata.schema.run import TrialOutcome
from taskdata.schema.task import Task
from taskdata.schema.transcript import Transcript
from taskdata.schema.views import Heard, PagePictures, PictureTexts, RenderedDeliverable, View


@dataclass(frozen=True)
class TrialEvidence:
    """The views of the requested deliverables, the final answer, and the tool log."""

    views: Mapping[str, View]
    """By the deliverable's name."""
    delivered: tuple[str, ...] = ()
    """Names of all delivered files, including those that the task does not ask for."""
    final_answer: str = ""
    transcript: Transcript | None = None
    task: Task | None = None
    """What was asked; None: only the deliverables are known."""
    pages: Mapping[str, PagePictures] = field(default_factory=dict)
    """By the deliverable's name: pictures of pages, of moments, or of itself."""
    heard: Mapping[str, Heard] = field(default_factory=dict)
    """By the deliverable's name: what a speech recogniser heard in it."""
    lettering: Mapping[str, PictureTexts] = field(default_factory=dict)
    """By the deliverable's name: what is written in its pictures."""

    @classmethod
    def of_trial(
        cls,
        task: Task,
        outcome: TrialOutcome,
        transcript: Transcript | None,
        delivered: Sequence[str],
        files: Sequence[RenderedDeliverable],
    ) -> "TrialEvidence":
        """Return the evidence of a trial; `files` are those that were rendered of the delivered."""
        return cls(
            views={item.name: item.view for item in files},
            delivered=tuple(delivered),
            final_answer=outcome.final_answer,
            transcript=transcript,
            task=task,
            pages={item.name: item.pages for item in files if item.pages is not None},
            heard={item.name: item.heard for item in files if item.heard is not None},
            lettering={item.name: item.lettering for item in files if item.lettering is not None},
        )

    def not_delivered(self, name: str) -> str:
        """Return the reason for a score of 0 when a file is missing."""
        return f"{name} was not delivered (delivered: {listed(self.delivered, 8) or 'nothing'})"
