"""The parts of CSS that hide text: which declarations apply to which element of a page.

Media queries are evaluated for a wide screen. Rules that depend on interaction (`:hover`, a class
that a script sets) do not apply, but are recorded: what they would show can become visible.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bs4 import BeautifulSoup, Tag
from PIL import ImageColor
from soupsieve import SelectorSyntaxError

from environments.renderers.limits import refuse_beyond
from environments.renderers.unseen import Colour

MAX_RULES = 5_000
WIDE_PIXELS = 1_000
"""A rule for screens of at least this width in pixels applies."""

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_DECLARATION = re.compile(
    r"(?P<name>-{0,2}[\w-]+)\s*:\s*(?P<value>(?:[^;\"'(]|\([^)]*\)|\"[^\"]*\"|'[^']*')*)"
)
_HIDING = re.compile(
    r"^(?:display|visibility|opacity|color|background|background-(?:color|image|clip)"
    r"|-webkit-(?:text-fill-color|background-clip)|font|font-size|position|left|right|top|bottom"
    r"|text-indent|margin|margin-(?:left|top)|clip|clip-path|width|height|max-width|max-height"
    r"|overflow|transform|--.*)$"
)
_WIDE = re.compile(r"min-width\s*:\s*([0-9.]+)(px|em|rem)")
_DOING = re.compile(
    r":(?:hover|focus(?:-within|-visible)?|active|target|checked|open|popover-open)\b|\[open\]"
    r"|\[(?:aria|data)-[\w-]+(?:[~|^$*]?=[^]]*)?\]"
)
_CLASS = re.compile(r"\.(-?[_a-zA-Z][\w-]*)")
_SHOWN = re.compile(
    r"(?:display:(?!none)|visibility:visible|opacity:(?!0(?:\.0+)?$)|(?:max-)?height:(?!0))"
)
_ROOTS = re.compile(r"(?::root|html|body)$")
_LENGTH = re.compile(r"(-?[0-9]*\.?[0-9]+)(px|pt|em|rem|%|vw|vh|in|cm|mm|pc|ch|ex)?")
_PIXELS = {
    "": 1.0,
    "px": 1.0,
    "pt": 4 / 3,
    "em": 16.0,
    "rem": 16.0,
    "vw": 12.8,
    "vh": 8.0,
    "in": 96.0,
}
_PIXELS |= {"cm": 37.8, "mm": 3.78, "pc": 16.0, "ch": 8.0, "ex": 8.0}
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+%?")

Declarations = Mapping[str, str]


class _Rule(NamedTuple):
    selector: str
    declarations: dict[str, tuple[bool, str]]
    """Whether the declaration is important, and its value."""


class Styles:
    """The declarations of a page's style sheets and style attributes, by element."""

    def __init__(self, page: BeautifulSoup) -> None:
        self._won: dict[int, dict[str, tuple[tuple[int, ...], str]]] = {}
        self._shown: set[int] = set()
        self.variables: dict[str, str] = {}
        classes = {name for tag in page.find_all(True) for name in tag.get_attribute_list("class")}
        sheets = "\n".join(tag.get_text() for tag in page.find_all("style"))
        scripts = "\n".join(tag.get_text() for tag in page.find_all("script"))
        rules = list(_rules(_COMMENT.sub("", sheets)))
        refuse_beyond(len(rules), MAX_RULES, "rules of style")
        for order, rule in enumerate(rules):
            self._apply(page, rule, order)
            self._remember(page, rule, classes)
        self._scripted = set(re.findall(r"[\w-]+", scripts))

    def of(self, tag: Tag) -> Declarations:
        """Return the declarations for an element, its own style attribute last."""
        won = self._won.get(id(tag), {})
        found = {name: value for name, (_, value) in won.items()}
        for name, (important, value) in _declarations(str(tag.get("style", ""))).items():
            if name not in won or important or not won[name][0][0]:
                found[name] = value
        return {name: self._resolved(value) for name, value in found.items()}

    def inline(self, tag: Tag) -> Declarations:
        """Return the declarations of an element's own style attribute."""
        declared = _declarations(str(tag.get("style", "")))
        return {name: self._resolved(value) for name, (_, value) in declared.items()}

    def can_be_shown(self, tag: Tag) -> bool:
        """Return whether interaction or a script can show what a style sheet hides."""
        if id(tag) in self._shown:
            return True
        names = {*tag.get_attribute_list("class"), str(tag.get("id", ""))}
        return bool(names & self._scripted - {""})

    def _apply(self, page: BeautifulSoup, rule: _Rule, order: int) -> None:
        for tag in _selected(page, rule.selector):
            won = self._won.setdefault(id(tag), {})
            for name, (important, value) in rule.declarations.items():
                weight = (int(important), *_specificity(rule.selector), order)
                if name not in won or won[name][0] <= weight:
                    won[name] = (weight, value)
        if _ROOTS.match(rule.selector):
            self.variables |= {
                name: value
                for name, (_, value) in rule.declarations.items()
                if name.startswith("--")
            }

    def _remember(self, page: BeautifulSoup, rule: _Rule, classes: set[str]) -> None:
        shows = any(_SHOWN.match(f"{n}:{v}") for n, (_, v) in rule.declarations.items())
        done = _DOING.sub("", rule.selector)
        done = _CLASS.sub(lambda name: name[0] if name[1] in classes else "", done)
        if shows and done != rule.selector:
            self._shown.update(id(tag) for tag in _selected(page, done))

    def _resolved(self, value: str) -> str:
        for _ in range(5):
            if "var(" not in value:
                break
            value = re.sub(
                r"var\(\s*(--[\w-]+)\s*(?:,([^()]*))?\)",
                lambda name: self.variables.get(name[1], name[2] or "unknown"),
                value,
            )
        return value


def _rules(sheet: str, depth: int = 0) -> Iterator[_Rule]:
    """Yield a rule for each selector, including those in media queries for wide screens."""
    place = 0
    while depth < 8 and (opening := sheet.find("{", place)) >= 0:
        head = sheet[place:opening].rpartition(";")[2].rpartition("}")[2].strip()
        closing = _closing(sheet, opening)
        body, place = sheet[opening + 1 : closing], closing + 1
        if head.startswith("@"):
            if _holds(head.lower()):
                yield from _rules(body, depth + 1)
            continue
        declarations = {n: v for n, v in _declarations(body).items() if _HIDING.match(n)}
        for selector in head.split(",") if declarations else ():
            yield _Rule(selector.strip(), declarations)


def _closing(sheet: str, opening: int) -> int:
    level = 0
    for brace in re.finditer(r"[{}]", sheet[opening:]):
        level += 1 if brace[0] == "{" else -1
        if not level:
            return opening + brace.start()
    return len(sheet)


def _holds(head: str) -> bool:
    if head.startswith(("@supports", "@layer", "@container")):
        return True
    if not head.startswith("@media") or "print" in head or "not" in head:
        return False
    wide = _WIDE.search(head)
    if wide is None:
        return "(" not in head
    pixels = float(wide[1]) * _PIXELS[wide[2]]
    return pixels <= WIDE_PIXELS and "max-width" not in head


def _declarations(text: str) -> dict[str, tuple[bool, str]]:
    found = {}
    for match in _DECLARATION.finditer(text):
        value = " ".join(match["value"].lower().split())
        important = value.endswith("!important")
        name = match["name"] if match["name"].startswith("--") else match["name"].lower()
        found[name] = (important, value.removesuffix("!important").strip())
    return found


def _selected(page: BeautifulSoup, selector: str) -> list[Tag]:
    try:
        return list(page.select(selector)) if selector else []
    except (SelectorSyntaxError, NotImplementedError, ValueError):
        return []


def _specificity(selector: str) -> tuple[int, int, int]:
    ids = len(re.findall(r"#[\w-]+", selector))
    classes = len(re.findall(r"\.[\w-]+|\[[^]]*\]|(?<!:):[\w-]+", selector))
    return ids, classes, len(re.findall(r"(?:^|[\s>+~])[a-zA-Z]", selector))


def pixels(value: str | None, base: float = 16.0) -> float | None:
    """Return a length in pixels, em and per cent relative to `base`; None if it is invalid."""
    match = _LENGTH.fullmatch((value or "").strip())
    if match is None:
        return None
    unit = match[2] or ""
    if unit == "%":
        return float(match[1]) * base / 100
    return float(match[1]) * (base if unit == "em" else _PIXELS[unit])


def paint(value: str | None) -> tuple[Colour, float] | None:
    """Return a colour and its opacity (0-1), None if it is not a plain colour."""
    text = (value or "").strip().lower()
    if text == "transparent":
        return (0, 0, 0), 0.0
    function = re.fullmatch(r"(rgb|hsl)a?\((.*)\)", text)
    try:
        if function is None:
            parts = ImageColor.getrgb(text)
            return parts[:3], parts[3] / 255 if len(parts) > 3 else 1.0
        numbers = _NUMBER.findall(function[2])
        if len(numbers) < 3:
            return None
        alpha = _share(numbers[3]) if len(numbers) > 3 else 1.0
        red, green, blue = ImageColor.getrgb(f"{function[1]}({','.join(numbers[:3])})")[:3]
    except ValueError:
        return None
    return (red, green, blue), alpha


def _share(number: str) -> float:
    return float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
