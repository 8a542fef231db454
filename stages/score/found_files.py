"""Files of tasks that name a format and no file: whatever of that type was left is meant."""

from collections.abc import Iterable, Sequence

from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.deliverable import ANY, is_meant
from taskdata.schema.scores import LeafScore
from taskdata.schema.task import DeliverableSpec, Task

MAX_FILES = 20
"""Files of one type that are looked at: those in the fewest folders first."""
SPARE_FILES = 3
"""Files among which the best one counts for a check; with more of them it counts less."""


def found_files(spec: DeliverableSpec, delivered: Sequence[str]) -> tuple[str, ...]:
    """Return the files that are meant by a deliverable without a name, at most `MAX_FILES`."""
    found = sorted(filter(spec.matches, delivered), key=_nearest)
    return tuple(found[:MAX_FILES])


def with_found_files(task: Task, delivered: Sequence[str]) -> Task:
    """Return the task with the found files in the place of deliverables without a name.

    A judge is shown all of them. A check that looks at them is left as it is, because it gives a
    score for each (see `files_of`). Where none was left, what the task says stays. Of a published
    task a judge is shown whatever else was left, too, as the published scorer attaches all files:
    such a task names the files of no requirement, and may name none at all.
    """
    found = {d.name: found_files(d, delivered) for d in task.deliverables if d.is_any}
    if any(found.values()):
        specs = {
            name: spec.model_copy(update={"name": name})
            for spec in task.deliverables
            for name in found.get(spec.name) or (spec.name,)
        }
        tree = _with_files(task.checkpoints, found)
        task = task.model_copy(update={"deliverables": tuple(specs.values()), "checkpoints": tree})
    if task.provenance.as_published and delivered:
        nearest = tuple(sorted(delivered, key=_nearest)[:MAX_FILES])
        task = task.model_copy(update={"checkpoints": _with_all(task.checkpoints, nearest)})
    return task


def looked_at(task: Task) -> frozenset[str]:
    """Return the names of the files that can earn something: requested, or shown to a judge."""
    judged = (
        name
        for leaf in task.checkpoints.leaves()
        if isinstance(leaf.verifier, Judge)
        for name in leaf.verifier.deliverables
    )
    return frozenset({*(spec.name for spec in task.deliverables), *judged, *task.state_files})


def _nearest(name: str) -> tuple[int, str]:
    return name.count("/"), name


def _with_files(node: Checkpoint, found: dict[str, tuple[str, ...]]) -> Checkpoint:
    if isinstance(node.verifier, Judge):
        shown = (one for n in node.verifier.deliverables for one in found.get(n) or (n,))
        judge = node.verifier.model_copy(update={"deliverables": tuple(dict.fromkeys(shown))})
        return node.model_copy(update={"verifier": judge})
    children = tuple(_with_files(child, found) for child in node.children)
    return node.model_copy(update={"children": children}) if children else node


def _with_all(node: Checkpoint, names: tuple[str, ...]) -> Checkpoint:
    """Return the tree with these files after those that judged leaves name."""
    if isinstance(node.verifier, Judge):
        shown = tuple(dict.fromkeys((*node.verifier.deliverables, *names)))
        judge = node.verifier.model_copy(update={"deliverables": shown})
        return node.model_copy(update={"verifier": judge})
    children = tuple(_with_all(child, names) for child in node.children)
    return node.model_copy(update={"children": children}) if children else node


def files_of(check: Check, views: Iterable[str]) -> tuple[str, ...]:
    """Return which of the files a check without a file name looks at; none where it has one."""
    name = check.deliverable or ""
    return tuple(sorted(v for v in views if is_meant(v, name))) if name.startswith(ANY) else ()


def best_of(leaf_id: str, scores: Sequence[LeafScore], names: Sequence[str]) -> LeafScore:
    """Return the score of a leaf whose check has looked at several files.

    The best file counts. With more than `SPARE_FILES`, it counts `SPARE_FILES` in that number, so
    that nobody gains from many guesses.
    """
    known = [-1.0 if one.score is None else one.score for one in scores]
    best = known.index(max(known))
    found, more = scores[best], ""
    score = found.score
    if score is not None and len(scores) > SPARE_FILES:
        score *= SPARE_FILES / len(scores)
        more = f"; {len(scores)} files where at most {SPARE_FILES} are expected"
    reason = f"{names[best]}: {found.reason}{more}"
    return found.model_copy(update={"leaf_id": leaf_id, "score": score, "reason": reason})
