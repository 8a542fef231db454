"""Personal data in arriving seeds: masked or refused before anything is stored."""

from pathlib import PurePosixPath

from quality.safety.personal import masked, personal_data, told
from stages.intake.readers.raw import Fault
from taskdata.schema.safety import SafetyRules
from taskdata.schema.seed import SeedQuery

_TEXTS = frozenset({".csv", ".html", ".json", ".jsonl", ".md", ".tsv", ".txt", ".xml", ".yaml"})
"""Endings of the attachments that are read."""
_MAX_BYTES = 1 << 20


def protected(seed: SeedQuery, rules: SafetyRules) -> SeedQuery | Fault:
    """Return the seed without personal data in its text, or the fault that it has some.

    Under `mask` it is the seed with [IBAN] and the like in its place. The message names kind and
    place, never what was found.
    """
    found = personal_data(seed.text, rules.allowed_personal_data)
    if not found:
        return seed
    if rules.personal_data == "mask":
        text = masked(seed.text, rules.allowed_personal_data)
        return seed.model_copy(update={"text": text})
    return Fault("text", f"holds personal data: {told(found)}")


def file_fault(path: str, data: bytes, rules: SafetyRules) -> str | None:
    """Return what is wrong with an attachment that holds personal data, None if it has none.

    Files of text up to a megabyte are read. A file is never masked: what a task is about may be
    in it.
    """
    if PurePosixPath(path).suffix.lower() not in _TEXTS or len(data) > _MAX_BYTES:
        return None
    found = personal_data(data.decode("utf-8", "replace"), rules.allowed_personal_data)
    return f"holds personal data: {told(found)}" if found else None
