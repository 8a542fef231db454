"""Details of a request in which two texts on the same topic differ: numbers, file formats, names.

Sentence encoders place "a trip to Lisbon" and "a trip to Porto" closer together than two wordings
of one request. What a text names exactly is therefore compared by code, also across languages.
"""

import re
import unicodedata
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache

from stages.intake.wording import words

SHARED_WORDING = 0.6
"""Least share of words in the same order (Ratcliff and Obershelp) from which two texts count as
one wording with replacements; chosen on the calibration part of the labelled pairs."""

_STEM = 4
_NAME_STEM = 3
_MOST_CAPITALS = 0.3
"""With a larger share of capitalised words, as in German, capitals do not mark names."""
_MOST_WORDS = 400
"""Words of a text that are compared in order; the comparison takes quadratic time."""

_NUMBER_WORDS = {
    "2": "two zwei deux dos due twee dwa dwie dwóch dois duas",
    "3": "three drei trois tres tre drie trzy trzech três",
    "4": "four vier quatre cuatro quattro cztery quatro",
    "5": "five fünf cinq cinco cinque vijf pięć",
    "6": "six sechs seis sei zes sześć",
    "7": "seven sieben sept siete sette zeven siedem sete",
    "8": "eight acht huit ocho otto osiem oito",
    "9": "nine neun neuf nueve nove negen dziewięć",
    "10": "ten zehn dix diez dieci tien dziesięć dez",
    "11": "eleven elf onze once undici jedenaście",
    "12": "twelve zwölf douze doce dodici twaalf dwanaście doze",
    "15": "fifteen fünfzehn quinze quince quindici vijftien piętnaście",
    "16": "sixteen sechzehn seize dieciséis sedici zestien szesnaście",
    "20": "twenty zwanzig vingt veinte venti twintig dwadzieścia vinte",
    "30": "thirty dreißig trente treinta trenta dertig trzydzieści trinta",
    "40": "forty vierzig quarante cuarenta quaranta veertig quarenta",
    "50": "fifty fünfzig cinquante cincuenta cinquanta vijftig cinquenta",
    "60": "sixty sechzig soixante sesenta sessanta zestig sessenta",
    "90": "ninety neunzig noventa novanta negentig",
    "100": "hundred hundert cent cien cento honderd sto",
}
_FORMAT_WORDS = {
    "xlsx": "excel xlsx xls workbook spreadsheet mappe",
    "csv": "csv",
    "pdf": "pdf pdfs",
    "docx": "word docx",
    "json": "json",
    "html": "html",
    "png": "png",
    "jpg": "jpg jpeg",
    "pptx": "powerpoint pptx slides slide deck presentation",
    "ics": "icalendar ics",
    "md": "markdown",
}
_FUNCTION_WORD_LIST = (
    "a an the of for to in on at by with and or is are was be it its that which who what i we my "
    "our me you your please need want would like each every one from as into no not than so there "
    "them this how do can could give make should have has must"
)
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())

_FILE_NAME = re.compile(r"\b\w+\.[a-z]\w{1,4}\b")
_THOUSANDS = re.compile(r"(?<=\d)[ ,.\u202f\u00a0](?=\d{3}\b)")
# With the letter of a quarter, a paper size or a level: Q1, A3, B2.
_NUMBER = re.compile(r"(?:\b[a-z])?\d+(?:[.,]\d+)?")
_LETTERS = re.compile(r"[^\W\d_]+")
# A capital neither at the beginning of the text nor at that of a sentence.
_CAPITALISED = re.compile(r"(?<![.!?:] )(?<!^)\b[^\W\d_a-z]\w+")


@dataclass(frozen=True)
class Details:
    """What is compared exactly between two texts."""

    numbers: frozenset[str]
    """Numbers from 2 on, in digits."""
    formats: frozenset[str]
    """File formats by their usual ending."""
    names: frozenset[str]
    """Capitalised words inside sentences, without case and accents."""
    said: tuple[str, ...]
    """The words, with numbers in digits."""
    stems: frozenset[str]
    """Beginnings of all words, for finding a name in its other inflections."""


def details_of(text: str) -> Details:
    """Return the details of a text."""
    spelled = words(text)
    said = tuple(_number_words().get(word, word) for word in spelled)
    return Details(
        numbers=_numbers(text),
        formats=frozenset(_format_words()[word] for word in said if word in _format_words()),
        names=_names(text),
        said=said,
        stems=frozenset(_plain(word)[:_NAME_STEM] for word in spelled),
    )


def contradict(one: Details, other: Details) -> bool:
    """Return whether each text names a number, a file format or a name that the other lacks.

    A detail that only one text names is no contradiction: a shortened request leaves some out.
    """
    if one.numbers - other.numbers and other.numbers - one.numbers:
        return True
    if one.formats - other.formats and other.formats - one.formats:
        return True
    return _has_name_beside(one, other) and _has_name_beside(other, one)


def replaces_words(one: Details, other: Details, least: int = 1) -> bool:
    """Return whether two texts of one wording differ in content words.

    "The cheapest supplier" and "the fastest supplier" in the same sentence ask for something else;
    between differently worded texts, other words say nothing.

    Args:
        one: A text.
        other: Another text.
        least: Content words that one of the texts has in place of those of the other.
    """
    mine, others = one.said[:_MOST_WORDS], other.said[:_MOST_WORDS]
    matcher = SequenceMatcher(None, mine, others, autojunk=False)
    if matcher.real_quick_ratio() < SHARED_WORDING or matcher.ratio() < SHARED_WORDING:
        return False
    for change, start, end, other_start, other_end in matcher.get_opcodes():
        if change == "replace":
            before, after = _content(mine[start:end]), _content(others[other_start:other_end])
            swapped, instead = before - after, after - before
            if swapped and instead and max(len(swapped), len(instead)) >= least:
                return True
    return False


def _content(said: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in said if word not in _FUNCTION_WORDS)


def _has_name_beside(one: Details, other: Details) -> bool:
    return any(name[:_NAME_STEM] not in other.stems for name in one.names)


def _numbers(text: str) -> frozenset[str]:
    plain = _THOUSANDS.sub("", _FILE_NAME.sub(" ", text))
    digits = {number.replace(",", ".") for number in _NUMBER.findall(plain.casefold())}
    spelled = {_number_words().get(word) for word in _LETTERS.findall(plain.casefold())}
    return frozenset(digits | {number for number in spelled if number}) - {"0", "1"}


def _names(text: str) -> frozenset[str]:
    found = _CAPITALISED.findall(text)
    if len(found) > _MOST_CAPITALS * len(text.split()):
        return frozenset()
    return frozenset(_plain(name) for name in found if name.casefold() not in _format_words())


def _plain(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@cache
def _number_words() -> dict[str, str]:
    # The keys are folded as the texts are: "dreißig" is "dreissig" there.
    return {word.casefold(): n for n, said in _NUMBER_WORDS.items() for word in said.split()}


@cache
def _format_words() -> dict[str, str]:
    return {word: ending for ending, said in _FORMAT_WORDS.items() for word in said.split()}
