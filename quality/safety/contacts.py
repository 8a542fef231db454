"""E-mail addresses and telephone numbers of people.

Addresses and numbers that are reserved for examples are nobody's, and those of an office
(info@..., toll-free lines) are no person's. Telephone numbers are read by `phonenumbers`.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quality.safety.numbers import Span
from taskdata.schema.safety import PersonalKind

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber

_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+\-])([A-Za-z0-9._%+\-]{1,64})@((?:[A-Za-z0-9\-]{1,63}\.){1,6}[A-Za-z]{2,24})"
    r""
)
# RFC 2606 and RFC 6761.
_RESERVED_DOMAIN = re.compile(
    r"(?:^|\.)(?:example|test|invalid|localhost|local|example\.(?:com|org|net|edu))$", re.IGNORECASE
)
_OFFICE = re.compile(
    r"(?:info|support|office|contact|kontakt|sales|press|presse|hello|hallo|help|service|admin|team"
    r"|billing|orders?|no-?reply|newsletter|jobs|careers|mail|post|webmaster|booking|reservations?"
    r"|contacto?|bonjour|hola|ciao|enquiries|inquiries|feedback|security|abuse|privacy)\d{0,3}",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?<![A-Za-zÀ-ÿ])(?:tel|telephone|phone|mobile|cell|call me|call|ring|whatsapp"
    r"|telefon\w*|handy\w*"
    r"|mobil\w*|ruf\w{0,3}|erreichbar|t[eé]l[eé]phone|portable|appel\w*|tel[eé]fono"
    r"|m[oó]vil|ll[aá]m\w*"
    r"|cellulare|chiam\w*|telem[oó]vel|celular|telefone|lig\w{1,4}|bel|telefoon|电话|手机|電話|携帯)"
    r"[^\n0-9+]{0,30}?(?=[+(]?\d|\(\+)",
    re.IGNORECASE,
)
_REGIONS = (
    "DE",
    "GB",
    "US",
    "FR",
    "ES",
    "IT",
    "BR",
    "PT",
    "NL",
    "CH",
    "AT",
    "CN",
    "IN",
    "JP",
    "PL",
)
"""Countries whose national numbers are read, beside a word that announces a number."""
_ANNOUNCED = 24
"""Within so many characters after a word that announces a number, the number must stand."""
# Numbers that are reserved for films and books: by NANPA (555-01xx), Ofcom, ACMA and ARCEP.
_FICTION = re.compile(
    r"\+1\d{3}55501\d\d|\+44(?:1632960|2079460|1134960|1144960|1154960|1164960|1174960|1184960"
    r"|1214960|1314960|1414960|1514960|1614960|1914980|7700900)\d{3}|\+61[2378]5550\d{4}"
    r"|\+61491570\d{3}|\+331990[0-9]{5}|\+336399[0-9]{5}"
)


def contacts(text: str) -> Iterator[Span]:
    """Yield the e-mail addresses and telephone numbers of people in a text."""
    for found in _EMAIL.finditer(text):
        if not _OFFICE.fullmatch(found[1]) and not _RESERVED_DOMAIN.search(found[2]):
            yield PersonalKind.EMAIL, found.start(), found.end()
    if "+" in text:
        yield from _numbers(text, None, 0)
    for label in _LABEL.finditer(text):
        yield from _announced(text, label.end())


def _announced(text: str, start: int) -> Iterator[Span]:
    stretch = text[start : start + _ANNOUNCED].split("\n", maxsplit=1)[0]
    for region in _REGIONS:
        found = list(_numbers(stretch, region, start))
        if found:
            yield from found
            return


def _numbers(text: str, region: str | None, offset: int) -> Iterator[Span]:
    from phonenumbers import Leniency, PhoneNumberMatcher

    for match in PhoneNumberMatcher(text, region, leniency=Leniency.VALID, max_tries=10_000):
        if _is_of_a_person(match.number):
            yield PersonalKind.PHONE, offset + match.start, offset + match.end


def _is_of_a_person(number: "PhoneNumber") -> bool:
    from phonenumbers import PhoneNumberFormat, PhoneNumberType, format_number, number_type

    office = {
        PhoneNumberType.TOLL_FREE,
        PhoneNumberType.PREMIUM_RATE,
        PhoneNumberType.SHARED_COST,
        PhoneNumberType.UAN,
        PhoneNumberType.VOICEMAIL,
    }
    written = format_number(number, PhoneNumberFormat.E164)
    return number_type(number) not in office and not _FICTION.fullmatch(written)
