"""The grade from the errors, by appendix C.1.1 of APB."""

import pytest

from stages.score.planning.grade import grade_of
from taskdata.schema.planning_score import ErrorFlag, PlanError, Severity

_OF = {letter: severity for severity in Severity for letter in (severity.value[:3],)}


def _flags(*found: str) -> list[ErrorFlag]:
    """`E5 tri` is a trivial error of tool use."""
    flags = []
    for one in found:
        error, _, severity = one.partition(" ")
        subtype = "task_incompleteness" if error == "E2" else None
        flags.append(
            ErrorFlag(
                error=PlanError(error),
                severity=_OF[severity],
                subtype=subtype,
                evidence="seen",
                decided_by="code",
            )
        )
    return flags


@pytest.mark.parametrize(
    ("found", "grade"),
    [
        ([], 1.0),
        (["E5 tri"], 0.8),
        (["E4 min"], 0.6),
        (["E5 min"], 0.6),
        (["E4 min", "E5 min"], 0.4),
        (["E4 min", "E5 tri"], 0.4),
        (["E2 mod"], 0.4),
        (["E2 mod", "E5 min"], 0.4),
        (["E2 mod", "E4 mod"], 0.2),
        (["E1 maj"], 0.2),
        (["E3 maj", "E5 min"], 0.2),
        (["E1 maj", "E6 maj"], 0.0),
        (["E2 tot"], 0.0),
        (["E5 min", "E5 min", "E5 tri"], 0.6),
        (["E5 min", "E5 maj"], 0.2),
    ],
    ids=str,
)
def test_grade(found: list[str], grade: float) -> None:
    assert grade_of(_flags(*found)) == grade
