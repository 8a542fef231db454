"""From the signs of a formula and their places to its structure.

Fractions are found by their bars, roots and large operators by what they cover or carry, the rest
are rows of signs of which some stand higher or lower: powers and indices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from environments.tools.images.boxes import Box
from environments.tools.images.recognition.formula.signs import BAR, DOT, ROOT, Sign
from taskdata.errors import ToolRefused

Level = Literal["base", "power", "index"]

LARGE = {"∑", "∏", "lim"}

_X_HIGH = set("acemnorsuvwxzαεινπστωκ")
_HANGING = set("gpqyγημρχ")
_TALL_AND_HANGING = set("jQβζξφψ")
_TALL = set("0123456789bdhikltABCDEFGHIJKLMNOPRSTUVWXYZδθλΓΔΘΛΦΨΩ")
_SAME_SHAPE = {**{c: c for c in "csvwxz"}, **{c.upper(): c for c in "csvwxz"}}
_ROUND = set("0oO")
# Heights as shares of the height of a digit.
_X_HEIGHT = 0.66
_AXIS = 0.37
_DEPTH = 0.3
_ANOTHER_LINE = 0.8


@dataclass(frozen=True)
class Item:
    """A sign of a row, or a part of the formula that stands there like one."""

    name: str
    """The sign, or `fraction`, `root`, or the name of a large operator."""
    box: Box
    is_upright: bool = False
    parts: tuple["Row", ...] = ()
    """Numerator and denominator; degree (maybe empty) and radicand; limits below and above."""
    power: "Row" = field(default=())
    index: "Row" = field(default=())
    axis: float | None = None
    """Height of the middle line, for parts whose box is not even about it."""

    @property
    def middle(self) -> tuple[float, float]:
        """Where it is, its axis counting as the height."""
        across = (self.box.left + self.box.right) / 2
        return across, (self.box.top + self.box.bottom) / 2 if self.axis is None else self.axis


Row = tuple[Item, ...]


def structure(signs: Sequence[Sign]) -> Row:
    """Return the row of items that `signs` form; raises `ToolRefused` where they form none."""
    return _row([Item(sign.name, sign.box, sign.is_upright) for sign in signs])


def _row(items: list[Item]) -> Row:
    items = _with_limits(_with_fractions(_with_roots(items)))
    items.sort(key=lambda item: item.box.left)
    line = _line(items)
    if line is None:
        return tuple(_plain_named(item) for item in items)
    settled = [_settled(item, line) for item in items]
    levels = [_level(item, line) for item in settled]
    return tuple(_with_scripts(settled, levels))


def _with_roots(items: list[Item]) -> list[Item]:
    for root in sorted(items, key=lambda item: -item.box.width):
        if root.name != ROOT or root.parts:
            continue
        inside = sorted(
            (item for item in items if item is not root and _holds(root.box, item)),
            key=lambda item: item.box.left,
        )
        degree: list[Item] = []
        while len(inside) > 1 and _is_degree(inside[0], root.box):
            degree.append(inside.pop(0))
        used = {id(item) for item in (root, *inside, *degree)}
        items = [item for item in items if id(item) not in used]
        whole = replace(root, name="root", parts=(_row(degree), _row(inside)))
        items.append(whole)
    return items


def _holds(box: Box, item: Item) -> bool:
    across, down = item.middle
    return box.left < across < box.right and box.top < down < box.bottom


def _is_degree(item: Item, root: Box) -> bool:
    small = item.box.height < 0.45 * root.height
    return (
        small
        and item.box.bottom < root.top + 0.6 * root.height
        and (item.box.left < root.left + 0.3 * root.height)
    )


def _with_fractions(items: list[Item]) -> list[Item]:
    for bar in sorted(items, key=lambda item: -item.box.width):
        if bar.name != BAR or all(bar is not item for item in items):
            continue
        beside = 0.15 * bar.box.height
        near = [
            item
            for item in items
            if item is not bar and bar.box.left - 2 < item.middle[0] < bar.box.right + 2
        ]
        above = [item for item in near if item.box.bottom <= bar.box.top + beside]
        below = [item for item in near if item.box.top >= bar.box.bottom - beside]
        if not above or not below:
            continue
        used = {id(item) for item in (bar, *above, *below)}
        items = [item for item in items if id(item) not in used]
        items.append(
            Item(
                "fraction",
                _around([bar, *above, *below]),
                parts=(_row(above), _row(below)),
                axis=(bar.box.top + bar.box.bottom) / 2,
            )
        )
    return items


def _with_limits(items: list[Item]) -> list[Item]:
    items = _with_lim(items)
    for large in [item for item in items if item.name in LARGE]:
        reach = 0.7 * large.box.height if large.name != "lim" else 0.5 * large.box.width
        near = [
            item
            for item in items
            if item is not large
            and large.box.left - reach < item.middle[0] < large.box.right + reach
        ]
        slack = 0.1 * large.box.height
        below = [item for item in near if item.box.top >= large.box.bottom - slack]
        above = [item for item in near if item.box.bottom <= large.box.top + slack]
        used = {id(item) for item in (large, *above, *below)}
        items = [item for item in items if id(item) not in used]
        items.append(
            replace(
                large,
                parts=(_row(below), _row(above)),
                axis=(large.box.top + large.box.bottom) / 2,
            )
        )
    return items


def _with_lim(items: list[Item]) -> list[Item]:
    """Return the items, upright l, i and m next to each other made one."""
    for ell in [item for item in items if item.name in ("l", "1", "I", "|")]:
        height = ell.box.height
        letters = sorted(
            (
                item
                for item in items
                if item.is_upright
                and abs(item.box.bottom - ell.box.bottom) < 0.15 * height
                and 0 < item.box.left - ell.box.left < 1.6 * height
            ),
            key=lambda item: item.box.left,
        )
        if [item.name for item in letters[:2]] == ["i", "m"]:
            used = {id(item) for item in (ell, *letters[:2])}
            items = [item for item in items if id(item) not in used]
            items.append(Item("lim", _around([ell, *letters[:2]]), is_upright=True))
    return items


def _around(items: Sequence[Item]) -> Box:
    boxes = [item.box for item in items]
    return Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )


@dataclass(frozen=True)
class _Line:
    """The line a row stands on: where its letters end below, and how high its digits are."""

    foot: float
    digit: float

    @property
    def axis(self) -> float:
        return self.foot - _AXIS * self.digit


def _digit_height(item: Item) -> float | None:
    """Return how high a digit beside this sign would be, or None if the sign does not tell."""
    height = item.box.height
    if _is_doubtful(item) or item.parts:
        return None
    if item.name in _X_HIGH:
        return height / _X_HEIGHT
    if item.name in _HANGING:
        return height / (_X_HEIGHT + _DEPTH)
    if item.name in _TALL_AND_HANGING:
        return height / (1 + _DEPTH)
    return float(height) if item.name in _TALL else None


def _foot(item: Item, digit: float) -> float:
    hangs = item.name in _HANGING or item.name in _TALL_AND_HANGING
    return item.box.bottom - (_DEPTH * digit if hangs else 0)


def _line(items: Sequence[Item]) -> _Line | None:
    """Return the line of the largest letters, or None for a row without any."""
    sized = [(digit, item) for item in items if (digit := _digit_height(item))]
    sized += [(_doubtful_height(item, sized), item) for item in items if _is_doubtful(item)]
    if not sized:
        return None
    largest = max(digit for digit, _ in sized)
    on_line = sorted((_foot(item, digit), digit) for digit, item in sized if digit > 0.8 * largest)
    foot = on_line[len(on_line) // 2][0]
    digits = sorted(digit for _, digit in on_line)
    return _Line(foot, digits[len(digits) // 2])


def _is_doubtful(item: Item) -> bool:
    return item.name in _SAME_SHAPE or item.name in _ROUND


def _doubtful_height(item: Item, sized: Sequence[tuple[float, Item]]) -> float:
    """Return how high a digit beside a sign would be that looks the same as a capital."""
    height = item.box.height
    for digit, other in sized:
        is_beside = abs(_foot(other, digit) - item.box.bottom) < 0.15 * digit
        if is_beside and 0.85 * digit < height < 1.15 * digit:
            return height
    return height if item.name in _ROUND else height / _X_HEIGHT


def _plain_named(item: Item) -> Item:
    return replace(item, name={BAR: "-", DOT: "⋅"}.get(item.name, item.name))


def _settled(item: Item, line: _Line) -> Item:
    """Return the item under its right name where size or height decide between two."""
    if item.name == BAR:
        return replace(item, name="-")
    if item.name == DOT:
        is_low = item.middle[1] > (line.foot + line.axis) / 2
        return replace(item, name="." if is_low else "⋅")
    is_high = item.box.height > (1 + _X_HEIGHT) / 2 * line.digit
    if item.name in _SAME_SHAPE:
        small = _SAME_SHAPE[item.name]
        return replace(item, name=small.upper() if is_high else small)
    if item.name in _ROUND and not item.is_upright:
        return replace(item, name="0" if is_high or _is_script_high(item, line) else "o")
    return item


def _is_script_high(item: Item, line: _Line) -> bool:
    return abs(item.box.bottom - line.foot) > 0.15 * line.digit


def _level(item: Item, line: _Line) -> Level:
    digit = _digit_height(item)
    is_letter = digit is not None or _is_doubtful(item)
    if item.name == ".":
        return "base" if item.middle[1] < line.foot + 0.3 * line.digit else "index"
    if item.name == ",":
        return "base" if item.box.top < line.foot + 0.2 * line.digit else "index"
    if not is_letter:
        rise = (line.axis - item.middle[1]) / line.digit
        if abs(rise) < (0.3 if item.box.height < line.digit else 0.6):
            return "base"
        return "power" if rise > 0 else "index"
    rise = (line.foot - _foot(item, digit or line.digit)) / line.digit
    is_small = digit is None or digit < 0.88 * line.digit
    if rise > 0.25 and (is_small or rise > 0.5):
        return "power"
    if rise < -0.08 and is_small:
        return "index"
    if abs(rise) > _ANOTHER_LINE:
        raise ToolRefused(
            "The image does not read as one formula: it has several lines. Cut out a single one."
        )
    return "base"


def _with_scripts(items: Sequence[Item], levels: Sequence[Level]) -> list[Item]:
    row: list[Item] = []
    scripts: list[tuple[list[Item], list[Item]]] = []
    for item, level in zip(items, levels, strict=True):
        if level == "base":
            row.append(item)
            scripts.append(([], []))
        elif not row:
            raise ToolRefused(
                "The image does not read as one formula: it begins with a raised or lowered sign. "
                "Cut out a single formula on one line."
            )
        else:
            scripts[-1][level == "index"].append(_unsettled(item))
    return [
        replace(item, power=_row(powers), index=_row(indices)) if powers or indices else item
        for item, (powers, indices) in zip(row, scripts, strict=True)
    ]


def _unsettled(item: Item) -> Item:
    return replace(item, name={"-": BAR, ".": DOT, "⋅": DOT}.get(item.name, item.name))
