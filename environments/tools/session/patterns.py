"""Untrusted regular expressions over untrusted texts.

RE2 takes time proportional to the text, whatever the expression, so no expression can block us. It
comes with Arrow, which can only mark matches, not list their positions.
"""

from itertools import islice

from taskdata.errors import ToolRefused

MAX_MATCHES = 1_000

_OPEN, _CLOSE = "\x01", "\x02"
_UNMARKED = str.maketrans({_OPEN: " ", _CLOSE: " "})
_MAX_FAULT_CHARS = 200


def matches(pattern: str, text: str, start: int = 0) -> list[tuple[int, int]]:
    """Return where `pattern` matches in `text` from `start` on, ignoring case.

    At most `MAX_MATCHES`; `^` and `$` match at lines.

    Raises:
        ToolRefused: RE2 cannot parse the pattern, or it matches the empty text.
    """
    # Arrow takes a third of a second to import.
    import pyarrow as pa
    import pyarrow.compute as pc

    searched = _plain(text[start:]).translate(_UNMARKED)
    try:
        matches_nothing = pc.match_substring_regex(pa.array([""]), _plain(pattern))[0].as_py()
        marked = pc.replace_substring_regex(
            pa.array([searched]),
            pattern=f"(?im:{_plain(pattern)})",
            replacement=rf"{_OPEN}\0{_CLOSE}",
        )[0].as_py()
    except pa.ArrowInvalid as exc:
        fault = str(exc).partition("\n")[0][:_MAX_FAULT_CHARS]
        raise ToolRefused(f"The pattern {pattern!r} cannot be used: {fault}") from exc
    if matches_nothing:
        raise ToolRefused(f"The pattern {pattern!r} matches no text at all; ask for some.")
    places, place = [], start
    # Marks come in pairs, so the pieces alternate: outside, match, outside.
    pieces = marked.replace(_CLOSE, _OPEN).split(_OPEN, 2 * MAX_MATCHES)
    for outside, match in zip(islice(pieces, 0, None, 2), islice(pieces, 1, None, 2), strict=False):
        place += len(outside)
        places.append((place, place + len(match)))
        place += len(match)
    return places


def _plain(text: str) -> str:
    """Return `text` with lone surrogates, which UTF-8 cannot encode, as question marks."""
    return text.encode("utf-8", "replace").decode()
