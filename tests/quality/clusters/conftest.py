"""Failed trials: their diagnosis, the reasons of their leaves, what they delivered."""

from collections.abc import Callable, Mapping

import pytest

from taskdata.schema.diagnosis import Diagnosis, Evidence, FailureLevels, Label
from taskdata.schema.run import Deliverable, TrialResult


@pytest.fixture
def failed() -> Callable[..., TrialResult]:
    """The trial with a diagnosis: its stage, and labels as (taxonomy, name, what was called)."""

    def diagnosed(
        result: TrialResult, stage: str = "reason", *labels: tuple[str, str, str]
    ) -> TrialResult:
        found = Diagnosis(
            trial_id=result.trial.id,
            stage=stage,
            type="data_extraction",
            levels=FailureLevels(leaf=True, composition=False, deliverable=False),
            evidence=(),
            labels=tuple(
                Label(
                    taxonomy=taxonomy,
                    name=name,
                    confidence=1,
                    evidence=(Evidence(says=says, call="1"),),
                )
                for taxonomy, name, says in labels
            ),
            labeller="rules@3",
        )
        return result.model_copy(update={"diagnosis": found})

    return diagnosed


@pytest.fixture
def with_reasons() -> Callable[..., TrialResult]:
    """The trial with these reasons of its leaves."""

    def told(result: TrialResult, reasons: Mapping[str, str]) -> TrialResult:
        root = result.score.root
        children = tuple(
            node.model_copy(
                update={"leaf": node.leaf.model_copy(update={"reason": reasons[node.id]})}
            )
            if node.id in reasons
            else node
            for node in root.children
        )
        if root.leaf is not None:
            root = root.model_copy(
                update={"leaf": root.leaf.model_copy(update={"reason": reasons[root.id]})}
            )
        root = root.model_copy(update={"children": children})
        score = result.score.model_copy(update={"root": root})
        return result.model_copy(update={"score": score})

    return told


@pytest.fixture
def delivered() -> Callable[..., tuple[Deliverable, ...]]:
    """Files of these names."""
    return lambda *names: tuple(
        Deliverable(name=name, sha256="c" * 64, size_bytes=1) for name in names
    )
