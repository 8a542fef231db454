"""Personal data in a text: kinds, places, and the text with each piece replaced by its kind."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from quality.safety.contacts import contacts
from quality.safety.numbers import Span, numbers
from taskdata.schema.safety import PersonalKind

LONGEST = 400_000
"""Characters that are looked at; nothing that is made into a task is longer."""

_BORN = (
    r"born|date of birth|birth ?date|dob|geboren|geb\.|geburtsdatum|n[eé]e? le|date de naissance"
    r"|nacid[oa]|fecha de nacimiento|nat[oa] il|data di nascita|nascid[oa]"
    r"|data de nascimento|geboortedatum"
    r"|出生日期|出生于|生年月日"
)
_DATE = (
    r"(?:\d{1,2}[./\-]\s?\d{1,2}[./\-]\s?(?:19|20)\d{2}|(?:19"
    r"|20)\d{2}[./\-年]\d{1,2}[./\-月]\d{1,2}日?"
    r"|\d{1,2}\.? [^\W\d_]{3,10}\.?,? (?:de )?(?:19|20)\d{2}"
    r"|[^\W\d_]{3,10} \d{1,2},? (?:19|20)\d{2})"
)
_BIRTH_DATE = re.compile(rf"(?<![^\W\d_])(?i:{_BORN})[^\n\d]{{0,20}}?({_DATE})")
_NAME = r"[A-ZÀ-ÖØ-Þ][\w'’\-]{1,20} (?:[A-ZÀ-ÖØ-Þ][\w'’.\-]{0,20} ){0,2}?[A-ZÀ-ÖØ-Þ][\w'’\-]{1,20}"
_NUMBERED = (
    r"(?:customer|client|patient|account|member|insurance|policy|employee|staff|student|case"
    r"|kunden|patienten|konto|mitglieds|versicherten|versicherungs|personal|matrikel|client|patient"
    r"|cliente|paciente|cuenta|empleado|paziente|conto|dipendente|conta|funcion[aá]rio|klant)"
)
_NUMBER_WORD = r"(?:[ \-]?(?:number|no\.?|id|nummer|nr\.?)|:)|(?:num[eé]ro|n[uú]mero|n[°º]) "
_OF_A_PERSON = re.compile(
    rf"({_NAME})[^\n.;!?\d]{{0,25}}?(?i:{_NUMBERED})(?i:{_NUMBER_WORD})[^\n.;!?\d]{{0,10}}"
    r"([A-Z]{0,3}[\- ]?\d[\d \-/]{4,16}\d)"
)


@dataclass(frozen=True, order=True)
class PersonalDatum:
    """A piece of personal data: never its text, only its kind and place."""

    start: int
    end: int
    kind: PersonalKind

    def __str__(self) -> str:
        return f"{self.kind.value} (characters {self.start + 1}-{self.end})"


def personal_data(text: str, allowed: Collection[PersonalKind] = ()) -> tuple[PersonalDatum, ...]:
    """Return the personal data in a text, in order; where two overlap, the longer one."""
    if not any(character.isdigit() for character in text) and "@" not in text:
        return ()
    spans = sorted(_spans(text[:LONGEST]), key=lambda span: span[1] - span[2])
    taken: list[Span] = []
    for kind, start, end in spans:
        if kind not in allowed and all(end <= s or e <= start for _kind, s, e in taken):
            taken.append((kind, start, end))
    return tuple(sorted(PersonalDatum(start, end, kind) for kind, start, end in taken))


def masked(text: str, allowed: Collection[PersonalKind] = ()) -> str:
    """Return the text with every piece of personal data replaced by its kind, such as [IBAN]."""
    parts, last = list[str](), 0
    for datum in personal_data(text, allowed):
        parts += [text[last : datum.start], f"[{datum.kind.value.upper()}]"]
        last = datum.end
    return "".join([*parts, text[last:]])


def told(found: Iterable[PersonalDatum], most: int = 5) -> str:
    """Return kinds and places in words, without what was found."""
    every = list(found)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(map(str, every[:most])) + more


def _spans(text: str) -> Iterator[Span]:
    yield from numbers(text)
    yield from contacts(text)
    for found in _BIRTH_DATE.finditer(text):
        yield PersonalKind.BIRTH_DATE, found.start(1), found.end(1)
    for found in _OF_A_PERSON.finditer(text):
        yield PersonalKind.PERSON_NUMBER, found.start(1), found.end(2)
