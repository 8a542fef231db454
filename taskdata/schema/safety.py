"""What is kept out of a bank, and the policy by which it is."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from taskdata.schema.base import Value


class PersonalKind(StrEnum):
    """A kind of personal data."""

    IBAN = "iban"
    PAYMENT_CARD = "payment_card"
    PASSPORT = "passport"
    NATIONAL_ID = "national_id"
    """Identity card, social security, tax or health number."""
    EMAIL = "email"
    PHONE = "phone"
    BIRTH_DATE = "birth_date"
    PERSON_NUMBER = "person_number"
    """A person's name beside a customer, patient, staff or similar number."""


class Harm(StrEnum):
    """A category of harm."""

    MALWARE = "malware"
    PIRACY = "piracy"
    WEAPONS = "weapons"
    SELF_HARM = "self_harm"
    SEXUAL_MINORS = "sexual_minors"
    HATE = "hate"
    FRAUD = "fraud"
    DRUGS = "drugs"
    PRIVACY_INVASION = "privacy_invasion"


class SafetyRules(Value):
    """What becomes of personal data and of harm in seeds and in what a model writes."""

    personal_data: Literal["quarantine", "mask"] = "quarantine"
    """`quarantine`: what holds personal data is stopped; `mask`: each piece of it is replaced by
    its kind, such as [IBAN], before anything is stored."""
    allowed_personal_data: tuple[PersonalKind, ...] = ()
    """Kinds that are let through as they are."""
    allowed_harms: tuple[Harm, ...] = ()
    """Categories that are let through, such as `malware` for a bank of tasks against malware."""
    by_meaning: bool = True
    """Whether the gates of a refresh also compare texts with examples of attacks, where the
    multilingual encoder is installed; otherwise the rules of wording alone apply."""
    ask_model: bool = Field(default=False)
    """Whether the model of a refresh also judges each seed before it drafts a task from it, and
    each draft and rewritten query."""


NOTHING_ALLOWED = SafetyRules()
"""The rules where none are configured."""
