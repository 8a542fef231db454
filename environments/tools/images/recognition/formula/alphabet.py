"""The signs a formula may have, and how the fonts that matplotlib ships draw them.

The fonts are those of most printed mathematics: Computer Modern (TeX), STIX (Times) and DejaVu.
"""

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_DIGITS = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SMALL_GREEK = "αβγδεζηθλμνξπρστφχψω"
_GREAT_GREEK = "ΓΔΘΛΦΨΩ"
_ROMAN_SIGNS = "+=()[]/!:,%"
_OTHER_SIGNS = "×÷±≤≥≠≈∞∂→√∑∏∫{}|<>"

# Computer Modern has places of its own for what is not ASCII.
_CM_ITALIC_CODES = {
    **dict(zip(_SMALL_GREEK, (
        0xAE, 0xAF, 0xB0, 0xB1, 0xB2, 0xB3, 0xB4, 0xB5, 0xB8, 0xB9,
        0xBA, 0xBB, 0xBC, 0xBD, 0xBE, 0xBF, 0xC1, 0xC2, 0xC3, 0x21,
    ), strict=True)),
    "∂": 0x40, "<": 0x3C, ">": 0x3E, "/": 0x3D,
}  # fmt: skip
_CM_ROMAN_CODES = dict(zip(_GREAT_GREEK, (0xA1, 0xA2, 0xA3, 0xA4, 0xA9, 0xAA, 0xAD), strict=True))
_CM_SYMBOL_CODES = {
    "×": 0xA3, "÷": 0xA5, "±": 0xA7, "≤": 0x2219, "≥": 0xB8, "≈": 0xBC, "∞": 0x31, "→": 0x21,
    "√": 0x70, "∫": 0x73, "{": 0x66, "}": 0x67, "|": 0x6A,
}  # fmt: skip
_CM_LARGE_CODES = {
    "∑": 0x50, "∏": 0x51, "∫": 0x52, "(": 0xA1, ")": 0xA2, "[": 0xA3, "]": 0xA4, "√": 0x70,
}  # fmt: skip
_CM_DISPLAY_CODES = {
    "∑": 0x58, "∏": 0x59, "∫": 0x5A, "(": 0xB3, ")": 0xB4, "{": 0xBD, "}": 0xBE,
}  # fmt: skip


def drawn_signs() -> Iterator[tuple[str, bool, Path, str]]:
    """Yield each sign, whether it is an upright letter, a font file, and its letter there."""
    for file, code in _codes("cmr10", _CM_ROMAN_CODES):
        yield code[0], False, file, code[1]
    for name, table in (
        ("cmmi10", _CM_ITALIC_CODES),
        ("cmsy10", _CM_SYMBOL_CODES),
        ("cmex10", _CM_LARGE_CODES),
        ("cmex10", _CM_DISPLAY_CODES),
    ):
        for file, (sign, letter) in _codes(name, table):
            yield sign, False, file, letter
    yield from _as_is("cmr10", _DIGITS + _ROMAN_SIGNS, False)
    yield from _as_is("cmr10", _LOWER + _UPPER, True)
    yield from _as_is("cmmi10", _LOWER + _UPPER, False)
    for upright, slanted in (
        ("STIXGeneral", "STIXGeneralItalic"),
        ("DejaVuSans", "DejaVuSans-Oblique"),
        ("DejaVuSerif", "DejaVuSerif-Italic"),
    ):
        yield from _as_is(upright, _DIGITS + _ROMAN_SIGNS + _OTHER_SIGNS + _GREAT_GREEK, False)
        yield from _as_is(upright, _LOWER + _UPPER, True)
        yield from _as_is(slanted, _LOWER + _UPPER + _SMALL_GREEK, False)
    yield from _as_is("STIXSizOneSymReg", "()[]{}√∑∏", False)
    for name in ("STIXSizTwoSymReg", "STIXSizThreeSymReg"):
        yield from _as_is(name, "()[]{}√", False)


def _codes(name: str, table: dict[str, int]) -> Iterator[tuple[Path, tuple[str, str]]]:
    for sign, code in table.items():
        yield _folder() / f"{name}.ttf", (sign, chr(code))


def _as_is(name: str, signs: str, is_upright: bool) -> Iterator[tuple[str, bool, Path, str]]:
    for sign in signs:
        yield sign, is_upright, _folder() / f"{name}.ttf", sign


@cache
def _folder() -> Path:
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise ImportError("reading formulas needs the fonts that matplotlib ships")
    return Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf"
