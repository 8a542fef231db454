"""Scores of a run's leaves, by its judges and by people, in the shape that agreement needs."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from taskdata.errors import Misuse
from taskdata.schema.agreement import Annotation, PathNode, Rating
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.run import Run, TrialResult
from taskdata.schema.scores import LeafScore, NodeScore, shares
from taskdata.store import Store
from taskdata.store.agreement import JUDGE

_LEAST_WEIGHT = 1e-9


def ratings_of_run(store: Store, run: Run) -> tuple[list[Rating], list[Run]]:
    """Return the scores of first attempts, by people and by judges, and the runs they are of.

    A rescoring asks about the same outputs again: it counts with the run that it rescores, as
    another judge, or as a later occasion of the same one. A rescoring that kept verdicts asked
    nobody, and is left out.
    """
    source = store.run(run.config.rescores) if run.config.rescores else run
    again = [r for r in store.runs() if r.config.rescores == source.id]
    fresh = [r for r in reversed(again) if not r.config.keeps_verdicts]
    runs = [source, *fresh]
    found: list[Rating] = []
    occasions: Counter[str] = Counter()
    trees = {key: task.checkpoints for key, task in store.tasks_of_run(source.id).items()}
    for one in runs:
        results = store.results(one.id, round_=0)
        judged = list(_of_judges(store, results, occasions, trees))
        occasions.update({rating.rater for rating in judged})
        found += judged
        if one is source:
            found += _of_people(store.annotations(one.id), results)
    return found, runs


def matched(people: Sequence[Rating], run: Run, of_run: Sequence[Rating]) -> list[Rating]:
    """Return the scores of a file as scores of the run's outputs.

    Raises:
        Misuse: if the file does not say which agent's outputs they are of, and there are several,
            or if no score is of an output of the run.
    """
    agents = sorted({rating.agent for rating in of_run})
    if any(not rating.agent for rating in people):
        if len(agents) != 1:
            raise Misuse(
                f"run {run.id} has judged outputs of {len(agents)} agents; the file needs a column "
                "`agent`"
            )
        people = [
            rating if rating.agent else rating.model_copy(update={"agent": agents[0]})
            for rating in people
        ]
    known = {(r.task, r.agent, r.repetition, r.leaf) for r in of_run}
    if not any((r.task, r.agent, r.repetition, r.leaf) in known for r in people):
        raise Misuse(f"no score of the file is of a judged leaf of run {run.id}")
    return list(people)


def _of_judges(
    store: Store,
    results: Sequence[TrialResult],
    occasions: Mapping[str, int],
    trees: Mapping[str, Checkpoint],
) -> Iterator[Rating]:
    for result in results:
        if result.score is None:
            continue
        weights = _weights(result.score.root)
        paths = _paths(trees[result.trial.task_hash])
        words: int | None = None
        for position, leaf in enumerate(result.score.leaves):
            if leaf.score is None or not leaf.verifier.startswith(JUDGE):
                continue
            words = _words(store, result) if words is None else words
            for judge, score in _raters(leaf):
                yield Rating(
                    **_output(result),
                    leaf=leaf.leaf_id,
                    rater=judge,
                    is_judge=True,
                    score=score,
                    occasion=occasions.get(judge, 0) + 1,
                    weight=max(weights[leaf.leaf_id], _LEAST_WEIGHT),
                    path=paths.get(leaf.leaf_id, ()),
                    position=position,
                    words=words,
                )


def _raters(leaf: LeafScore) -> Iterator[tuple[str, float]]:
    """Yield who scored a judged leaf: a panel and each of its judges, or one judge alone."""
    said = [(leaf.verifier, leaf.score), *((one.verifier, one.score) for one in leaf.panel)]
    for verifier, score in said:
        if score is not None:
            yield verifier.removeprefix(JUDGE), score


def _of_people(annotations: Sequence[Annotation], results: Sequence[TrialResult]) -> list[Rating]:
    by_trial = defaultdict(list)
    for one in annotations:
        by_trial[one.trial_id].append(one)
    return [
        Rating(**_output(result), leaf=one.leaf_id, rater=one.annotator, score=one.score)
        for result in results
        for one in by_trial.get(result.trial.id, ())
        if one.score is not None
    ]


def _output(result: TrialResult) -> dict[str, Any]:
    trial = result.trial
    return {"task": trial.task_id, "agent": trial.agent, "repetition": trial.repetition}


def _weights(root: NodeScore, share: float = 1.0) -> dict[str, float]:
    """Return by leaf what it weighs in the root's score."""
    if not root.children:
        return {root.leaf.leaf_id: share} if root.leaf is not None else {}
    parts = shares(child.weight for child in root.children)
    found: dict[str, float] = {}
    for part, child in zip(parts, root.children, strict=True):
        found |= _weights(child, share * part)
    return found


def _paths(tree: Checkpoint) -> dict[str, tuple[PathNode, ...]]:
    """Return the path to each leaf; none where the score is the mean by the leaves' weights."""
    if all(node.rule == "weighted_mean" for node in tree.nodes()):
        return {}
    return dict(_paths_below(tree, (), 1.0))


def _paths_below(
    node: Checkpoint, above: tuple[PathNode, ...], share: float
) -> Iterator[tuple[str, tuple[PathNode, ...]]]:
    path = (*above, PathNode(node.id, share, node.rule, node.passes_from))
    if not node.children:
        yield node.id, path
    parts = shares(child.weight for child in node.children)
    for part, child in zip(parts, node.children, strict=True):
        yield from _paths_below(child, path, part)


def _words(store: Store, result: TrialResult) -> int:
    """Return the words of an output: of the answer and of all texts in its deliverables."""
    answer = "" if result.outcome is None else result.outcome.final_answer
    views = [view.view.model_dump() for view in store.rendered(result.trial.id)]
    return sum(len(text.split()) for text in (answer, *_texts(views)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
