"""How the verdicts of several reviewers about one draft become a decision.

A verdict counts once as many different people have given it as the refresh asks for; until then the
candidate stays in review. Before that many have voted, a reviewer does not see what others said.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from taskdata.schema.base import Value
from taskdata.schema.construct import ReviewDecision
from taskdata.schema.review import VERDICTS, Verdict


class Standing(Value):
    """How far the review of one draft has come."""

    needed: int
    """How many different people must give the same verdict."""
    votes: tuple[ReviewDecision, ...] = ()
    """The latest verdict of each reviewer about this draft, in the order of their first ones."""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that enough reviewers gave; None: there is none yet."""
        for verdict in VERDICTS:
            if sum(vote.decision == verdict for vote in self.votes) >= self.needed:
                return verdict
        return None

    @property
    def is_open_to_all(self) -> bool:
        """Whether enough people have voted that nobody needs to be kept from seeing it."""
        return len(self.votes) >= self.needed

    @property
    def is_disputed(self) -> bool:
        """Whether enough people have voted and do not agree."""
        return self.is_open_to_all and self.verdict is None


def same_person(first: str, second: str) -> bool:
    """Return whether two names are one reviewer's, whatever their case and spaces."""
    return _folded(first) == _folded(second)


def outcome(decisions: Sequence[ReviewDecision], needed: int) -> Standing:
    """Return where the review of the draft that was judged last is.

    Args:
        decisions: All decisions about the candidate, oldest first.
        needed: How many different people must give the same verdict.
    """
    return Standing(needed=needed, votes=_latest(_rounds(decisions, needed)[-1]))


def standing(decisions: Sequence[ReviewDecision], needed: int) -> Standing:
    """Return where the review of the current draft is; the arguments are those of `outcome`."""
    found = outcome(decisions, needed)
    # The candidate was sent back, so nobody has judged its current draft yet.
    return Standing(needed=needed) if found.verdict == "send_back" else found


def visible(
    decisions: Sequence[ReviewDecision], needed: int, viewer: str
) -> tuple[ReviewDecision, ...]:
    """Return the decisions without those that `viewer` must not know before voting.

    These are the verdicts of others about the current draft, until enough people have voted.
    """
    current = _rounds(decisions, needed)[-1]
    if Standing(needed=needed, votes=_latest(current)).is_open_to_all:
        return tuple(decisions)
    hidden = [vote for vote in current if not same_person(vote.reviewer, viewer)]
    return tuple(one for one in decisions if not any(one is vote for vote in hidden))


def blind_pairs(
    decisions: Sequence[ReviewDecision], needed: int
) -> Iterator[tuple[ReviewDecision, ReviewDecision]]:
    """Yield each two verdicts that different people gave to a draft without seeing the other's.

    Of a person who gave several verdicts it is the last one given while nothing could be seen.
    """
    for round_ in _rounds(decisions, needed):
        blind: list[ReviewDecision] = []
        for vote in round_:
            blind.append(vote)
            if len(_latest(blind)) >= needed:
                break
        yield from combinations(_latest(blind), 2)


def _rounds(decisions: Sequence[ReviewDecision], needed: int) -> list[list[ReviewDecision]]:
    """Return the verdicts by draft; an edit, and what sends the candidate back, ends a draft."""
    rounds: list[list[ReviewDecision]] = [[]]
    for decision in decisions:
        if decision.decision == "edit":
            rounds.append([])
            continue
        if Standing(needed=needed, votes=_latest(rounds[-1])).verdict == "send_back":
            rounds.append([])
        rounds[-1].append(decision)
    return rounds


def _latest(votes: Sequence[ReviewDecision]) -> tuple[ReviewDecision, ...]:
    return tuple({_folded(vote.reviewer): vote for vote in votes}.values())


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
