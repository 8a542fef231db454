"""What the gates see of safety: what was found, as parts of a row, and which kinds may be there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quality.safety.harm import harms
from quality.safety.personal import personal_data
from quality.suites.expectations import of_each, one_of, rule
from taskdata.schema.safety import SafetyRules

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

SAFETY_PARTS = {"personal_data": ("kind",), "harm": ("harm_category",)}
"""Columns of what a row lists: each piece of personal data, each category of harm."""


def safety_columns(texts: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the parts of a row whose texts are given by place: one for each finding.

    Of personal data they hold kinds and places, never what was found.
    """
    data = [
        {"kind": datum.kind.value, "finding": f"{place}: {datum}"}
        for place, text in texts.items()
        for datum in personal_data(text)
    ]
    categories = sorted({kind.value for text in texts.values() for kind in harms(text)})
    return {"personal_data": data, "harm": [{"harm_category": kind} for kind in categories]}


def safety_expectations(what: str, rules: SafetyRules) -> list["Expectation"]:
    """Expect no personal data and no harm, apart from the kinds that the rules allow.

    Args:
        what: What a row is: `a seed`, `a task`.
        rules: The kinds that are allowed.
    """
    data = one_of("kind", f"{what} holds no personal data", rules.allowed_personal_data)
    harm = one_of("harm_category", f"{what} asks for nothing that does harm", rules.allowed_harms)
    return [
        *of_each("personal_data", rule("personal_data", data, shows="finding")),
        *of_each("harm", rule("harm", harm)),
    ]
