"""The canary of a bank: a string that stands nowhere else, so that text with it was exported.

A corpus that holds it holds benchmark data, and a model that can complete it has been trained on
some.
"""

import re
from uuid import UUID, uuid5

FIELD = "export_canary"
"""The field of an exported task that holds the canary; no part of the task."""

PATTERN = re.compile(
    r"nightshift-canary-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)

_BANKS = UUID("5b0c5a5e-6d0a-4f0e-9d43-0e6f3c1a7b52")
"""Random; every bank's GUID is derived from it, so that none has to be kept."""


def canary_of(bank: str) -> str:
    """Return the canary of the bank of that name, the same for all its releases."""
    return f"nightshift-canary-{uuid5(_BANKS, bank)}"


def notice(bank: str) -> str:
    """Return the text that stands beside exported tasks."""
    return (
        f"These tasks of the bank {bank} measure models. Please keep them out of training data.\n"
        f"{canary_of(bank)}\n"
    )
