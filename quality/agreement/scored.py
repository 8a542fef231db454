"""The scores of a study as arrays: a row for each leaf of an output, and one for each output."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quality.agreement.measures import Scores
from quality.agreement.roots import Member, root_score
from taskdata.schema.agreement import PathNode, Rating

Output = tuple[str, str, int]
"""Task, agent, repetition."""


@dataclass(frozen=True)
class Scored:
    """Leaves that people and the judge have scored, in the order of their tasks."""

    tasks: tuple[str, ...]
    annotators: tuple[str, ...]
    leaf_of: tuple[tuple[Output, str], ...]
    """What each row of the leaf arrays is."""
    people: Scores
    """Leaves by annotators; NaN: not scored by that one."""
    judge: Scores
    """By leaf."""
    output_of: NDArray[np.intp]
    """The output of each leaf."""
    outputs: tuple[Output, ...]
    weights: Scores
    """By leaf."""
    paths: tuple[tuple[PathNode, ...], ...]
    """By leaf; empty where the mean by weight is the output's score."""
    position: Scores
    words: Scores
    """By leaf; NaN: unknown."""

    @property
    def human(self) -> Scores:
        """The mean of the annotators, by leaf."""
        return np.asarray(np.nanmean(self.people, axis=1))

    def by_output(self, scores: Scores) -> Scores:
        """Return the root scores that leaf scores make, by output; NaN where a leaf has none.

        They are weighted means, or what the tree of the task declares instead.
        """
        total = np.bincount(self.output_of, self.weights * scores, len(self.outputs))
        roots = np.asarray(total / np.bincount(self.output_of, self.weights, len(self.outputs)))
        members: dict[int, list[Member]] = defaultdict(list)
        for leaf, path in enumerate(self.paths):
            members[int(self.output_of[leaf])].append((path, float(scores[leaf])))
        for output, own in members.items():
            if any(path for path, _ in own):
                roots[output] = root_score(own)
        return roots

    def leaves_of(self, agent: str) -> NDArray[np.bool_]:
        """Return which leaves are of that agent's outputs."""
        own = np.array([output[1] == agent for output in self.outputs])
        return np.asarray(own[self.output_of])


def scored(ratings: Sequence[Rating], judge: str) -> Scored:
    """Return the leaves that at least one person and `judge` have scored on their first occasion.

    A person who scored a leaf more than once counts with the first.
    """
    own: dict[tuple[Output, str], Rating] = {}
    people: dict[tuple[Output, str], dict[str, Rating]] = defaultdict(dict)
    for rating in sorted(ratings, key=lambda r: -r.occasion):
        key = ((rating.task, rating.agent, rating.repetition), rating.leaf)
        if not rating.is_judge:
            people[key][rating.rater] = rating
        elif rating.rater == judge:
            own[key] = rating
    keys = sorted(own.keys() & people.keys())
    annotators = tuple(sorted({name for key in keys for name in people[key]}))
    outputs = tuple(sorted({key[0] for key in keys}))
    place = {output: i for i, output in enumerate(outputs)}
    facts = [_facts(own[key], *people[key].values()) for key in keys]
    return Scored(
        tasks=tuple(sorted({output[0] for output in outputs})),
        annotators=annotators,
        leaf_of=tuple(keys),
        people=np.array(
            [[r.score if (r := people[key].get(a)) else np.nan for a in annotators] for key in keys]
        ).reshape(len(keys), len(annotators)),
        judge=np.array([own[key].score for key in keys]),
        output_of=np.array([place[key[0]] for key in keys], dtype=np.intp),
        outputs=outputs,
        weights=np.array([own[key].weight for key in keys]),
        paths=tuple(own[key].path for key in keys),
        position=np.array([position for position, _ in facts], dtype=float),
        words=np.array([words for _, words in facts], dtype=float),
    )


def _facts(*ratings: Rating) -> tuple[float, float]:
    positions = [float(r.position) for r in ratings if r.position is not None]
    words = [float(r.words) for r in ratings if r.words is not None]
    return (*positions, np.nan)[0], (*words, np.nan)[0]
