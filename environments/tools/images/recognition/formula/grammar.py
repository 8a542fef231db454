"""Whether what was read can be a formula at all."""

from collections.abc import Iterator, Sequence

from environments.tools.images.recognition.formula.layout import LARGE, Row
from environments.tools.images.recognition.formula.wording import NoPlainForm, Word, plain, words
from environments.tools.logic.expressions import parse_expression
from taskdata.errors import ToolRefused

_BETWEEN = set("+-=<>×÷±≤≥≠≈→⋅/")
_SIGNED = set("+-±")
_CLOSING = {")": "(", "]": "[", "}": "{"}
_MOST_LETTERS = 5
_RELATIONS = ("<=", ">=", "=", "<", ">")


def fault(row: Row) -> str | None:
    """Return what keeps `row` from being a formula, or None."""
    has_structure = False
    for part in _rows(row):
        read = words(part)
        found = _fault_of(read)
        if found:
            return found
        has_structure |= len(read) > 1 and any(
            word.text in _BETWEEN or word.item.parts or word.item.power or word.item.index
            for word in read
        )
        has_structure |= any(word.item.parts or word.item.power for word in read)
    if not has_structure:
        return "it has no operation, power, fraction or root"
    return None


def plain_form(row: Row) -> str:
    """Return the plain form of `row`, parsed to be sure of it.

    Raises:
        NoPlainForm: it has none, or that does not parse.
    """
    text = plain(row)
    rest = text
    for relation in _RELATIONS:
        rest = rest.replace(f" {relation} ", "\n")
    try:
        for side in rest.split("\n"):
            parse_expression(side)
    except ToolRefused as exc:
        raise NoPlainForm(f"something unclear in {text[:200]!r}") from exc
    return text


def _rows(row: Row) -> Iterator[Row]:
    yield row
    for item in row:
        for part in (*item.parts, item.power, item.index):
            if part:
                yield from _rows(part)


def _fault_of(read: Sequence[Word]) -> str | None:
    return _letters(read) or _brackets(read) or _operators(read)


def _letters(read: Sequence[Word]) -> str | None:
    run = ""
    for word in read:
        run = run + word.text if len(word.text) == 1 and word.text.isalpha() else ""
        if len(run) > _MOST_LETTERS:
            return f"it has words in it ({run}…)"
        if word.item.index and word.is_number:
            return f"the number {word.text} has an index"
    return None


def _brackets(read: Sequence[Word]) -> str | None:
    opened: list[str] = []
    for word in read:
        if word.text in _CLOSING.values():
            opened.append(word.text)
        elif word.text in _CLOSING and (not opened or opened.pop() != _CLOSING[word.text]):
            return f"a {word.text} closes nothing"
    return f"a {opened[-1]} is not closed" if opened else None


def _operators(read: Sequence[Word]) -> str | None:
    before = "("
    for word in read:
        is_first = before in _BETWEEN or before in _CLOSING.values()
        if word.text in _BETWEEN and is_first and word.text not in _SIGNED:
            return f"nothing stands before a {word.text}"
        if word.text in _CLOSING and before in _BETWEEN:
            return f"nothing stands after a {before}"
        before = word.text
    if before in _BETWEEN or before in LARGE:
        return f"nothing stands after a {before}"
    return None
