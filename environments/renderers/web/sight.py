"""Which parts of an HTML page are invisible, judged by its styles."""

import re
from dataclasses import dataclass, replace

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString

from environments.renderers.unseen import (
    BLACK,
    SMALLEST_POINTS,
    WHITE,
    Colour,
    Unseen,
    alike,
)
from environments.renderers.web.css import Declarations, Styles, paint, pixels

_FAR = 500.0
"""Pixels outside the window beyond which nobody scrolls."""
_OFF = 3_000.0
"""Pixels to the right or below, for absolutely positioned elements."""
_FAINT = 0.05
_SMALLEST_PIXELS = SMALLEST_POINTS * 4 / 3
_PICTURES = ("img", "svg", "video", "canvas", "picture", "iframe")
_FONT_SIZE = re.compile(r"(?:^|\s)([0-9.]+(?:px|pt|em|rem|%))(?:/|\s)")
_MOVED = re.compile(r"translate(?:x|y|3d)?\(([^)]*)\)")


@dataclass(frozen=True)
class _State:
    """What an element passes on to its children."""

    gone: str | None = None
    """Why nothing inside is visible."""
    is_visible: bool = True
    colour: Colour | None = BLACK
    """None: unknown."""
    opacity: float = 1.0
    """Opacity of the text's colour."""
    ground: Colour | None = WHITE
    font_pixels: float = 16.0
    indent: float = 0.0

    def why_unseen(self) -> str | None:
        """Return why text directly in the element is invisible, None if it is visible."""
        if self.gone is not None:
            return self.gone
        if not self.is_visible:
            return "not displayed"
        if self.font_pixels < _SMALLEST_PIXELS:
            return "smaller than 3 pt"
        if self.indent <= -_FAR:
            return "outside the window"
        if self.opacity < _FAINT:
            return "transparent"
        if self.colour is not None and self.ground is not None and alike(self.colour, self.ground):
            return "in the colour of its background"
        return None


def drop_unseen(page: BeautifulSoup, unseen: Unseen) -> None:
    """Remove invisible parts from the page, and count their text."""
    styles = Styles(page)
    states: dict[int, _State] = {}
    gone: list[tuple[Tag, str]] = []
    texts: list[tuple[NavigableString, str]] = []
    for tag in page.find_all(True):
        parent = states.get(id(tag.parent), _State())
        state = states[id(tag)] = _state(tag, parent, styles)
        if state.gone is not None:
            if parent.gone is None:
                gone.append((tag, state.gone))
            continue
        why = state.why_unseen()
        if why is not None:
            texts += [(part, why) for part in tag.children if type(part) is NavigableString]
    for tag, why in gone:
        unseen.add(tag.get_text(" "), why)
        tag.extract()
    for text, why in texts:
        unseen.add(str(text), why)
        text.extract()


def _state(tag: Tag, parent: _State, styles: Styles) -> _State:
    if parent.gone is not None:
        return parent
    found = styles.of(tag)
    why = _why_gone(tag, found, styles)
    if why is not None:
        return replace(parent, gone=why)
    size = _font_pixels(found, parent.font_pixels)
    indent = pixels(found.get("text-indent"), size)
    visibility = found.get("visibility")
    colour, opacity = _text_colour(found, parent)
    return _State(
        is_visible=parent.is_visible if visibility is None else visibility == "visible",
        colour=colour,
        opacity=opacity,
        ground=_ground(tag, found, parent.ground),
        font_pixels=size,
        indent=parent.indent if indent is None else indent,
    )


def _why_gone(tag: Tag, found: Declarations, styles: Styles) -> str | None:
    """Return why an element and all its content is invisible; None if it may be visible."""
    if tag.has_attr("hidden") or (tag.name == "dialog" and not tag.has_attr("open")):
        return "not displayed"
    why = _why_hidden(found)
    if why is None:
        return _why_outside(found)
    # An inline style comes from the page's author; no rule or script is involved.
    own = _why_hidden(styles.inline(tag))
    return None if own is None and styles.can_be_shown(tag) else why


def _why_hidden(found: Declarations) -> str | None:
    if found.get("display") == "none":
        return "not displayed"
    opacity = found.get("opacity", "").removesuffix("%")
    if opacity.replace(".", "", 1).isdigit() and float(opacity) < _FAINT:
        return "transparent"
    clip = found.get("clip-path", "")
    inset = re.match(r"inset\(\s*([0-9.]+)%", clip)
    if (inset and float(inset[1]) >= 50) or clip.startswith(("circle(0", "ellipse(0")):
        return "cut off"
    if found.get("position") in ("absolute", "fixed") and found.get("clip", "").startswith("rect("):
        sides = [pixels(side) or 0 for side in re.split(r"[\s,]+", found["clip"][5:-1].strip())]
        if len(sides) == 4 and min(sides[1] - sides[3], sides[2] - sides[0]) <= 1:
            return "cut off"
    if "hidden" in found.get("overflow", "") or "clip" in found.get("overflow", ""):
        lengths = [pixels(found.get(n)) for n in ("height", "max-height", "width", "max-width")]
        if any(length is not None and length <= 1 for length in lengths):
            return "cut off"
    if re.search(r"scale(?:x|y)?\(\s*0(?:\.0\d*)?\s*[,)]", found.get("transform", "")):
        return "cut off"
    return None


def _why_outside(found: Declarations) -> str | None:
    moved = [pixels(part) or 0 for part in re.split(r"[\s,]+", found.get("margin", ""))]
    moved += [pixels(found.get(name)) or 0 for name in ("margin-left", "margin-top")]
    for parts in _MOVED.findall(found.get("transform", "")):
        # Per cent refer to the element's own size, and often leave it on the screen.
        moved += [pixels(part.strip()) or 0 for part in parts.split(",") if "%" not in part]
    if found.get("position") in ("absolute", "fixed", "relative"):
        sides = [pixels(found.get(name)) or 0 for name in ("left", "top", "right", "bottom")]
        if min(sides) <= -_FAR or max(sides[:2]) >= _OFF:
            return "outside the window"
    return "outside the window" if min(moved) <= -_FAR or max(moved) >= _OFF else None


def _font_pixels(found: Declarations, around: float) -> float:
    size = found.get("font-size")
    if size is None:
        short = _FONT_SIZE.search(found.get("font", ""))
        size = short[1] if short else None
    written = pixels(size, around)
    return around if written is None else written


def _text_colour(found: Declarations, parent: _State) -> tuple[Colour | None, float]:
    written = found.get("-webkit-text-fill-color", found.get("color"))
    if written is None or written in ("inherit", "currentcolor"):
        return parent.colour, parent.opacity
    clips = found.get("background-clip", found.get("-webkit-background-clip", ""))
    if clips == "text" or "text" in found.get("background", "").split():
        return None, 1.0
    colour = paint(written)
    return (None, 1.0) if colour is None else (colour[0] if colour[1] > 0.5 else None, colour[1])


def _ground(tag: Tag, found: Declarations, around: Colour | None) -> Colour | None:
    """Return the background colour of an element's text, None if it is unknown."""
    painted = found.get("background-color")
    whole = found.get("background", "")
    image = found.get("background-image", "none")
    if "url(" in whole + image or "gradient(" in whole + image:
        return None
    if painted is None and whole:
        painted = next((part for part in _words(whole) if paint(part)), "unknown")
        painted = "transparent" if whole in ("none", "transparent", "inherit") else painted
    if painted is not None:
        colour = paint(painted)
        if colour is None:
            return None
        if colour[1] > _FAINT:
            return colour[0] if colour[1] > 0.95 else None
    if tag.get("bgcolor"):
        colour = paint(str(tag["bgcolor"]))
        return colour and colour[0]
    if found.get("position") in ("absolute", "fixed", "sticky") and _lies_on_something(tag):
        return None
    return around


def _lies_on_something(tag: Tag) -> bool:
    """Return whether a freely positioned element may lie on a picture or a coloured element."""
    around = tag.parent
    if around is None:
        return False
    others = [other for other in around.find_all(True) if other is not tag]
    return any(
        other.name in _PICTURES or "background" in str(other.get("style", "")) for other in others
    )


def _words(value: str) -> list[str]:
    return re.findall(r"[\w#-]+\([^)]*\)|[^\s]+", value)
