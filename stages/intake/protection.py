"""Personal data in arriving seeds, masked or refused before anything is stored; what files hold."""

from collections.abc import Iterator
from dataclasses import dataclass

from quality.safety.files import FileFinding, found_in
from quality.safety.personal import masked, personal_data, told
from stages.intake.attached_text import attached_text
from stages.intake.readers.raw import Fault
from taskdata.schema.safety import SafetyRules
from taskdata.schema.seed import SeedQuery


def protected(seed: SeedQuery, rules: SafetyRules) -> SeedQuery | Fault:
    """Return the seed without personal data in its text and address, or the fault that it has some.

    Under `mask` it is the seed with [IBAN] and the like in its place. The message names kind and
    place, never what was found.
    """
    found = {
        field: personal_data(text, rules.allowed_personal_data) for field, text in _fields(seed)
    }
    held = {field: data for field, data in found.items() if data}
    if not held:
        return seed
    if rules.personal_data == "mask":
        texts = {
            field: masked(text, rules.allowed_personal_data)
            for field, text in _fields(seed)
            if field in held
        }
        return seed.model_copy(update=texts)
    field, data = next(iter(held.items()))
    return Fault(field, f"holds personal data: {told(data)}")


def _fields(seed: SeedQuery) -> Iterator[tuple[str, str]]:
    yield "text", seed.text
    if seed.url is not None:
        yield "url", seed.url


def name_fault(path: str, rules: SafetyRules) -> str | None:
    """Return what is wrong with the name of an attachment that holds personal data, or None."""
    found = personal_data(path.replace("_", " "), rules.allowed_personal_data)
    return f"has personal data in its name: {told(found)}" if found else None


@dataclass(frozen=True)
class Inspected:
    """What was found in the text of a file."""

    personal_data: str | None
    """Kinds and places, never what was found; None: there is none."""
    findings: tuple[FileFinding, ...]
    """Orders to the model and requests for harm."""

    @property
    def fault(self) -> str | None:
        """Why an attachment is refused; None: it is not."""
        return self.personal_data and f"holds personal data: {self.personal_data}"


def inspected(path: str, data: bytes, rules: SafetyRules) -> Inspected:
    """Return what the text of a file holds.

    Text up to a megabyte, and office files, PDF, HTML and mail up to twenty are read. A file is
    never masked: what a task is about may be in it.
    """
    text = attached_text(path, data)
    if not text:
        return Inspected(None, ())
    found = personal_data(text, rules.allowed_personal_data)
    return Inspected(
        told(found) if found else None,
        found_in(path, text, rules.allowed_harms),
    )
