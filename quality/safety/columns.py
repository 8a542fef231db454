"""What the gates see of safety: the kinds found, as columns, and what is expected of them."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from quality.safety.harm import harms
from quality.safety.personal import personal_data, told
from quality.suites.expectations import unlike
from taskdata.schema.safety import Harm, PersonalKind, SafetyRules

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

SAFETY_COLUMNS = ("personal_data", "harm")


def safety_columns(texts: Mapping[str, str]) -> dict[str, str | None]:
    """Return the columns of a row whose texts are given by place.

    `personal_data` holds kinds with their places, never what was found; `harm` holds categories.
    None: nothing was found.
    """
    found = {place: personal_data(text) for place, text in texts.items()}
    data = "; ".join(f"{place}: {told(data)}" for place, data in found.items() if data)
    harm = sorted({kind.value for text in texts.values() for kind in harms(text)})
    return {"personal_data": data or None, "harm": ", ".join(harm) or None}


def safety_expectations(what: str, rules: SafetyRules) -> list["Expectation"]:
    """Expect neither personal data nor harm of the kinds that the rules do not allow.

    Args:
        what: What a row is: `a seed`, `a task`.
        rules: The kinds that are allowed.
    """
    data = _alternatives(list(PersonalKind), rules.allowed_personal_data, r" \(characters")
    harm = _alternatives(list(Harm), rules.allowed_harms, r"\b")
    return [
        *([unlike("personal_data", f"{what} holds no personal data", data)] if data else []),
        *([unlike("harm", f"{what} asks for nothing that does harm", harm)] if harm else []),
    ]


def _alternatives(every: Sequence[StrEnum], allowed: Sequence[StrEnum], after: str) -> str:
    kinds = [kind.value for kind in every if kind not in allowed]
    return rf"\b(?:{'|'.join(kinds)}){after}" if kinds else ""
