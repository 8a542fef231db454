"""The full view and the second view of a trial, which a judge may be shown."""

from collections.abc import Mapping, Sequence
from threading import Lock

from stages.score.evidence import TrialEvidence
from stages.score.judging.addressed import without_doubtful
from stages.score.judging.doubtful import stems
from stages.score.judging.exhibits import Sensed
from stages.score.judging.shown import ShownTrial, show, words_of
from stages.score.judging.sight import Sight
from taskdata.schema.checkpoint import Checkpoint


class TrialViews:
    """The views of a trial; all questions about its leaves share them."""

    def __init__(
        self,
        trial: TrialEvidence,
        leaves: Sequence[Checkpoint],
        sensed: Mapping[str, Sensed],
        sight: Sight,
    ) -> None:
        self._trial, self._leaves, self._sensed, self._sight = trial, leaves, sensed, sight
        self.whole = show(trial, leaves, sensed, sight)
        """The full view, without passages that certainly address the judge."""
        # The published judge saw every trial once only.
        self.may_speak = self.whole.may_speak and sight.profile == "full"
        """Whether the judge may be asked with a second view."""
        self._lock = Lock()
        self._second: list[ShownTrial | None] = []

    def second(self) -> ShownTrial | None:
        """Return the view without sentences that may address the judge; None if there are none."""
        with self._lock:
            if not self._second:
                self._second.append(self._without_doubtful())
            return self._second[0]

    def _without_doubtful(self) -> ShownTrial | None:
        task = self._trial.task
        said = [leaf.requirement for leaf in self._leaves] if task is None else words_of(task)
        clear = without_doubtful(stems(said))
        view = show(self._trial, self._leaves, self._sensed, self._sight, clear)
        return None if view.mark == self.whole.mark else view
