"""SVG drawings, read without running or loading anything."""

import re
from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from environments.renderers.limits import (
    MAX_SVG_BYTES,
    MAX_SVG_ELEMENTS,
    Meter,
    Unreadable,
    read_bytes,
    refuse_beyond,
)
from environments.renderers.text import decode
from environments.renderers.unseen import Unseen
from taskdata.schema.views import SvgView

_SPACE = "{http://www.w3.org/2000/svg}"
_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:px)?\s*")
_WRITTEN = frozenset({"text", "tspan", "textPath"})
_UNSEEN_STYLES = {
    "display": ("none",),
    "visibility": ("hidden", "collapse"),
    "opacity": ("0", "0.0", "0%"),
    "fill-opacity": ("0", "0.0", "0%"),
    "fill": ("none", "transparent"),
}
"""Styles that hide a text."""
_WHITE = ("white", "#fff", "#ffffff")
_SHAPES = frozenset({"rect", "path", "circle", "ellipse", "polygon", "image", "use"})
_MOST_KINDS = 100


def read_svg(path: Path) -> SvgView:
    """Return what is written in the drawing, its size, and the number of elements by kind."""
    source = decode(read_bytes(path, MAX_SVG_BYTES))
    try:
        root = fromstring(source, forbid_dtd=False)
    except (ParseError, DefusedXmlException, RecursionError) as exc:
        raise Unreadable(f"its content is not that of an SVG drawing: {exc}") from exc
    if root.tag not in (f"{_SPACE}svg", "svg"):
        raise Unreadable(f"its content is XML, but no SVG drawing: {_name(root)[:40]!r}")
    names = Counter(_name(element) for element in root.iter())
    refuse_beyond(names.total(), MAX_SVG_ELEMENTS, "elements")
    meter, unseen = Meter(), Unseen()
    is_white = not any(_name(e) in _SHAPES and _style(e, "fill") not in _WHITE for e in root.iter())
    texts = tuple(meter.text(text) for text in _texts(root, unseen, is_white))
    title = next((e.text for e in root if _name(e) == "title"), "")
    return SvgView(
        width=_length(root.get("width")),
        height=_length(root.get("height")),
        title=meter.text(" ".join((title or "").split())),
        texts=texts,
        elements={meter.text(name): count for name, count in names.most_common(_MOST_KINDS)},
        hidden=unseen.found(),
    )


def _texts(root: Element, unseen: Unseen, is_white: bool) -> list[str]:
    """Return the visible texts; white ones are not, where the ground is white everywhere."""
    found: list[str] = []
    waiting = [(root, False)]
    while waiting:
        element, is_hidden = waiting.pop()
        is_hidden = is_hidden or _name(element) == "defs" or _hides(element)
        if _name(element) == "text":
            said = " ".join("".join(_said(element, is_hidden, unseen, is_white)).split())
            found += [said] if said else []
            continue
        waiting += [(child, is_hidden) for child in reversed(element)]
    return found


def _said(element: Element, is_hidden: bool, unseen: Unseen, is_white: bool) -> list[str]:
    """Return the visible text of a text element, in order."""
    is_hidden = is_hidden or _hides(element) or (is_white and _style(element, "fill") in _WHITE)
    said: list[str] = []
    own = element.text or ""
    if is_hidden:
        unseen.add(own, "hidden by a style")
    else:
        said.append(own)
    for child in element:
        if _name(child) in _WRITTEN:
            said += _said(child, is_hidden, unseen, is_white)
        if not is_hidden:
            said.append(child.tail or "")
    return said


def _hides(element: Element) -> bool:
    is_text = _name(element) in _WRITTEN
    return any(
        _style(element, name) in values
        for name, values in _UNSEEN_STYLES.items()
        if is_text or not name.startswith("fill")
    )


def _style(element: Element, name: str) -> str:
    """Return what an element itself says of a style, in lower case; empty: nothing."""
    rules = [rule.partition(":") for rule in (element.get("style") or "").split(";")]
    stated = {key.strip(): value for key, _, value in rules}
    return stated.get(name, element.get(name, "")).strip().lower()


def _name(element: Element) -> str:
    return element.tag.removeprefix(_SPACE) if isinstance(element.tag, str) else "comment"


def _length(written: str | None) -> float | None:
    found = _LENGTH.fullmatch(written or "")
    return float(found[1]) if found else None
