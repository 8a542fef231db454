"""Numbers that name a person or an account: account and card numbers, passports, identity numbers.

Checksums are those of python-stdnum. A number that has none, or whose checksum any number might
satisfy, counts only beside a word that says what it is.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from taskdata.schema.safety import PersonalKind

Span = tuple[PersonalKind, int, int]
"""Kind of the number, where it begins and where it ends."""

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ \-\u00a0]?[A-Za-z0-9]){11,30}")
_IBAN_LENGTHS = range(15, 35)
_CARD = re.compile(r"(?<![\d.,])\d(?:[ \-]?\d){12,18}(?![\d]|[.,]\d)")
_ISSUERS = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|2[2-7]"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3(?:0[0-5]|[68])"), (14,)),
    (re.compile(r"6(?:011|5|4[4-9])|35(?:2[89]|[3-8])|62"), (16, 17, 18, 19)),
)
_LABELS = {
    PersonalKind.PASSPORT: (
        r"passports?|pass[ -]?(?:nummer|nr)|reisep[aä]ss\w*|passeports?|pasaportes?"
        r"|passaport[oei]s?"
        r"|paspoort\w*|paszport\w*|паспорт\w*|护照|旅券|パスポート|여권"
    ),
    PersonalKind.NATIONAL_ID: (
        r"personalausweis\w*|ausweis(?:nummer|-?nr)|identity card|id card|national id"
        r"|carte d.identit[eé]"
        r"|documento de identidad|carta d.identit[aà]|身份证\w{0,2}|steuer-?id\w*"
        r"|steueridentifikationsnummer"
        r"|social security (?:number|no)|ssn|sozialversicherungsnummer"
        r"|num[eé]ro de s[eé]curit[eé] sociale"
        r"|national insurance (?:number|no)|nhs (?:number|no)|pesel|bsn"
        r"|burgerservicenummer|aadhaar|cpf|rg"
    ),
}
_DOCUMENT = (
    r"(?<![A-Za-z0-9])(?=[A-Z0-9]{0,8}\d)[A-Z0-9]{1,4}[A-Z0-9]{0,2}\d[A-Z0-9]{3,8}(?![A-Za-z0-9])"
)
_GAP = r"(?:[^\n.;!?0-9]|(?<=[Nn][ro])\.){0,30}?"
_MACHINE_READABLE = re.compile(r"P[A-Z<][A-Z]{3}[A-Z<]{20,39}\s{0,3}[A-Z0-9<]{28,44}")


@dataclass(frozen=True)
class _Identity:
    """A number by which a country knows a person: its form, and what checks it."""

    module: str
    """The module of `stdnum` that checks it."""
    pattern: re.Pattern[str]


def _identity(module: str, pattern: str) -> _Identity:
    return _Identity(module, re.compile(rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"))


# Their form is rare in other text, and they hold a checksum or a date.
_IDENTITIES = (
    _identity("es.dni", r"\d{8}-?[A-Z]"),
    _identity("es.nie", r"[XYZ]-?\d{7}-?[A-Z]"),
    _identity("it.codicefiscale", r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"),
    _identity("fr.nir", r"[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}"),
    _identity("cn.ric", r"\d{17}[\dX]"),
    _identity("us.ssn", r"\d{3}-\d{2}-\d{4}"),
    _identity("br.cpf", r"\d{3}\.\d{3}\.\d{3}-\d{2}"),
    _identity("ch.ssn", r"756\.\d{4}\.\d{4}\.\d{2}"),
    _identity("mx.curp", r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z\d]\d"),
    _identity("fi.hetu", r"\d{6}[-+A]\d{3}[0-9A-Y]"),
    _identity("se.personnummer", r"(?:19|20)?\d{6}[-+]\d{4}"),
)


def numbers(text: str) -> Iterator[Span]:
    """Yield the account, card, passport and identity numbers of a text."""
    yield from _ibans(text)
    yield from _cards(text)
    for kind in _LABELS:
        yield from _labelled(text, kind)
    for found in _MACHINE_READABLE.finditer(text):
        yield PersonalKind.PASSPORT, found.start(), found.end()
    for identity in _IDENTITIES:
        for found in identity.pattern.finditer(text):
            if _checks(identity.module, found[0]):
                yield PersonalKind.NATIONAL_ID, found.start(), found.end()


def _ibans(text: str) -> Iterator[Span]:
    for found in _IBAN.finditer(text):
        places = [i for i in range(found.start(), found.end()) if text[i].isalnum()]
        compact = "".join(text[i] for i in places).upper()
        # Words that follow the number may look like a part of it, so each length is tried.
        for length in _IBAN_LENGTHS:
            if length <= len(compact) and _is_iban(compact[:length]):
                yield PersonalKind.IBAN, found.start(), places[length - 1] + 1
                break


def _cards(text: str) -> Iterator[Span]:
    for found in _CARD.finditer(text):
        digits = re.sub(r"\D", "", found[0])
        issued = any(p.match(digits) and len(digits) in lengths for p, lengths in _ISSUERS)
        if issued and len(set(digits)) > 2 and _checks("luhn", digits):
            yield PersonalKind.PAYMENT_CARD, found.start(), found.end()


def _labelled(text: str, kind: PersonalKind) -> Iterator[Span]:
    for found in _beside(kind).finditer(text):
        yield kind, found.start(1), found.end(1)


@cache
def _beside(kind: PersonalKind) -> re.Pattern[str]:
    number = rf"({_DOCUMENT}|\d[\d .\-]{{6,16}}\d)"
    return re.compile(rf"(?<![A-Za-zÀ-ÿ])(?i:{_LABELS[kind]}){_GAP}{number}")


def _is_iban(number: str) -> bool:
    # The rules for single countries list the banks there, and such lists go out of date.
    return bool(_validator("iban").is_valid(number, check_country=False))


def _checks(module: str, number: str) -> bool:
    return bool(_validator(module).is_valid(number))


@cache
def _validator(module: str) -> Any:
    return importlib.import_module(f"stdnum.{module}")
