"""Agreement of two solutions of one task on the values that its tree checks."""

from collections.abc import Iterator, Sequence

from stages.construct.proof.adversarial.facts import Fact, facts_of, figures_of, said_by
from stages.construct.proof.adversarial.play import Played, leaves_of
from stages.score.numbers import close, plain
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.task import Task
from taskdata.schema.views import View

_ROUNDED = 0.005
"""The most by which a value in a column may be off because it was rounded."""


def disagreements(task: Task, reference: Played, second: Played) -> tuple[str, ...]:
    """Return on which checked values two solutions differ, one sentence each.

    Both have earned the full score. They agree on a deliverable, or on the final answer, if each
    states the facts that requirements name and that the other states, and if the columns that
    checks name have as many rows and the same sums.
    """
    places: list[tuple[str, str | None]] = [("the final answer", None)]
    names = dict.fromkeys([*reference.views, *second.views])
    places += [(name, name) for name in names]
    return tuple(
        f"{place}: {difference}"
        for place, name in places
        if (leaves := leaves_of(task, name))
        for difference in _differences(leaves, _left(reference, name), _left(second, name))
    )


def _left(played: Played, name: str | None) -> View | str | None:
    return played.answer if name is None else played.views.get(name)


def _differences(
    leaves: Sequence[Checkpoint], first: View | str | None, second: View | str | None
) -> Iterator[str]:
    if first is None or second is None:
        yield f"only the {'second solution' if first is None else 'reference'} delivers it"
        return
    yield from (f"only the reference states {_shown(f)}" for f in _only(leaves, first, second))
    yield from (f"only the second states {_shown(f)}" for f in _only(leaves, second, first))
    ours, theirs = figures_of(leaves, first), figures_of(leaves, second)
    rounded = max(_ROUNDED, *(_tolerance(leaf) for leaf in leaves))
    for what in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(what, 0.0), theirs.get(what, 0.0)
        rows = ours.get(what.replace("sum of ", "rows with a "), 1.0)
        if not close(one, other, rounded * rows if what.startswith("sum of ") else 0.0):
            yield f"{what}: {plain(one)} in the reference, {plain(other)} in the second"


def _only(leaves: Sequence[Checkpoint], first: View | str, second: View | str) -> Iterator[Fact]:
    said = said_by(second)
    return (fact for fact in facts_of(leaves, first) if not fact.holds(said))


def _tolerance(leaf: Checkpoint) -> float:
    found = leaf.verifier.args.get("tolerance") if isinstance(leaf.verifier, Check) else None
    return float(found) if isinstance(found, int | float) else 0.0


def _shown(fact: Fact) -> str:
    if fact.row:
        return " with ".join(sorted(map(repr, fact.row)))
    if fact.phrases:
        return " or ".join(map(repr, fact.phrases))
    if fact.count is not None:
        return f"{fact.count[1]} of {fact.count[0]!r}"
    if fact.sum is not None:
        return f"{plain(fact.sum[1])} as sum of {fact.sum[0]!r}"
    if fact.seconds is not None:
        return f"a length of {plain(fact.seconds[0])} seconds"
    return repr(fact.name) if fact.name else f"{fact.charts} charts"
