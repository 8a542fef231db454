"""The grade of a plan from the errors found in it (APB, appendix C.1.1)."""

from collections.abc import Iterable

from taskdata.schema.planning_score import ErrorFlag, PlanError, Severity

RANK = tuple(Severity)
"""From the least severity to the highest."""


def grade_of(flags: Iterable[ErrorFlag]) -> float:
    """Return the grade (0, 0.2, 0.4, 0.6, 0.8 or 1) of a plan with these errors, in either form.

    An error counts once for each of the six kinds, with the highest severity that it has there, as
    the six flags of the paper are each raised or not. 1: no error; 0.8: one that is trivial; 0.6:
    one that is minor; 0.4: several of these, or one that is moderate; 0.2: one that is major, or
    several that are moderate; 0: several that are major, or one that leaves nothing of the plan.
    """
    worst: dict[PlanError, Severity] = {}
    for flag in flags:
        known = worst.get(flag.error, flag.severity)
        worst[flag.error] = max(known, flag.severity, key=RANK.index)
    found = list(worst.values())
    if Severity.TOTAL in found or found.count(Severity.MAJOR) > 1:
        return 0.0
    if Severity.MAJOR in found or found.count(Severity.MODERATE) > 1:
        return 0.2
    if Severity.MODERATE in found or len(found) > 1:
        return 0.4
    if not found:
        return 1.0
    return 0.6 if found == [Severity.MINOR] else 0.8
