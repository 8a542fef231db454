"""By whom the labels of failed trials are: by rules, or by a model for what they left open."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from taskdata.schema.diagnosis import TOOL_USE, Diagnosis, FailureStage, Taxonomy
from taskdata.schema.failures import FailureShare


def by_model(failed: Sequence[Diagnosis]) -> dict[str, Any]:
    """Return which labels of failed trials a model gave; nothing if none was asked."""
    asked = [one.by_model for one in failed if one.by_model is not None]
    asked = [one for one in asked if one.error is None]
    if not asked:
        return {}
    found = [label for one in failed for label in _all_labels(one)]
    of_model: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, name, is_model in found:
        if is_model:
            of_model[kind][name] += 1
    for names in (_of_model(one, Taxonomy.TOOL_USE) for one in failed):
        of_model["tool_use_category"].update(
            category for category, all_names in TOOL_USE.items() if names.intersection(all_names)
        )
    given = [is_model for *_, is_model in found]
    return {
        "given_by": {
            "rules": FailureShare(n=len(given) - sum(given), of=len(given)),
            "model": FailureShare(n=sum(given), of=len(given)),
        },
        "of_model": {kind: dict(names.most_common()) for kind, names in of_model.items() if names},
        "asked": len(asked),
        "rejected": sum(one.rejected is not None for one in asked),
    }


def _of_model(diagnosis: Diagnosis, taxonomy: Taxonomy) -> set[str]:
    """Return the labels of a taxonomy that a model gave."""
    own = (one for one in diagnosis.labels if one.by is not None)
    return {one.name for one in own if one.taxonomy is taxonomy}


def _all_labels(diagnosis: Diagnosis) -> Iterator[tuple[str, str, bool]]:
    """Yield kind and name of each label of a failed trial, and whether a model gave it."""
    if diagnosis.stage not in (None, FailureStage.UNDETERMINED):
        yield "stage", str(diagnosis.stage), diagnosis.is_by_model("stage")
    if diagnosis.type is not None:
        yield "type", diagnosis.type.value, diagnosis.is_by_model("type")
    for label in diagnosis.labels:
        yield label.taxonomy.value, label.name, label.by is not None
