"""The signs of a printed formula: found as patches of ink, named by their likeness to fonts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from environments.tools.images.boxes import Box
from environments.tools.images.recognition.formula.alphabet import drawn_signs
from taskdata.errors import ToolRefused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

    Ink = NDArray[np.bool_]
    Shape = NDArray[np.float32]

BAR = "bar"
DOT = "dot"
ROOT = "root"
"""A radical with its bar, around what it covers."""

MAX_SIGNS = 150

_SIDE = 24
_DRAWN_PX = 80
_LONGEST_SIDE = 2_400
_WANTED_HEIGHT = 48
_LEAST_HEIGHT = 15
_LEAST_CONTRAST = 40
_TOWARDS_GROUND = 0.2
_FULL = 0.65
_TALLEST = 1.9
_PARTS = {"i", "j", "!", ":", "=", "≤", "≥", "≈", "±", "÷"}
"""Signs of several patches, one above the other."""
_LIKE_PARTS = 0.8


@dataclass(frozen=True)
class Sign:
    """A sign and its place in the picture."""

    name: str
    box: Box
    likeness: float
    """Cosine similarity to the most similar sign of the alphabet, 0 to 1; 1 for plain bars."""
    is_upright: bool = False


@dataclass(frozen=True)
class _Patch:
    box: Box
    ink: "Ink"


def read_signs(image: "Image") -> list[Sign]:
    """Return the signs in an RGB `image`, from left to right.

    Raises `ToolRefused` when there are none, or far too many for a formula.
    """
    grey, scale = _grey(image)
    patches = _patches(_ink(grey))
    height = _typical_height(patches) if patches else _WANTED_HEIGHT
    if height < _LEAST_HEIGHT:
        raise ToolRefused(
            f"The marks in the image are only about {height:.0f} pixels high: a formula can be "
            f"read from about {_LEAST_HEIGHT} on. Use a larger or sharper image of it."
        )
    if patches and (enlargement := _enlargement(height, grey.shape)) > 1:
        # Letters of a few pixels run together; between the pixels of a larger copy they part.
        scale *= enlargement
        patches = _patches(_ink(_scaled(grey, enlargement)))
    if not patches:
        raise ToolRefused("There is no formula in the image: it has no marks on a plain ground.")
    if len(patches) > 2 * MAX_SIGNS:
        raise ToolRefused(
            f"The image does not read as a formula: it has {len(patches)} separate marks. Cut "
            "out the formula first, or read text with OCR."
        )
    typical = _typical_height(patches)
    signs = [_name(patch, typical, patches) for patch in _joined(patches, typical)]
    return [
        replace(sign, box=Box(*(round(side / scale) for side in sign.box)))
        for sign in sorted(signs, key=lambda sign: sign.box.left)
    ]


def _grey(image: "Image") -> tuple["NDArray[np.uint8]", float]:
    """Return the picture in grey, shrunk if it is large, and the scale of that."""
    import numpy as np

    grey = np.asarray(image.convert("L"))
    scale = min(1.0, _LONGEST_SIDE / max(grey.shape))
    return (grey if scale == 1.0 else _scaled(grey, scale)), scale


def _scaled(grey: "NDArray[np.uint8]", scale: float) -> "NDArray[np.uint8]":
    import cv2
    import numpy as np

    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    scaled = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=method)
    return np.asarray(scaled, dtype=np.uint8)


def _enlargement(height: float, shape: tuple[int, ...]) -> float:
    """Return how much to enlarge a picture with letters of `height`; 1 or less for not at all."""
    return min(_WANTED_HEIGHT / height, 1.5 * _LONGEST_SIDE / max(shape))


def _ink(grey: "NDArray[np.uint8]") -> "Ink":
    """Return where the picture has ink, be it dark or light."""
    import cv2
    import numpy as np

    if int(grey.max()) - int(grey.min()) < _LEAST_CONTRAST:
        return np.zeros(grey.shape, dtype=bool)
    limit, light = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    is_dark_ink = float((np.asarray(light) == 0).mean()) <= 0.5
    # Hair strokes are hardly darker than the ground, so the limit moves towards it.
    ground = float(np.median(grey[grey > limit] if is_dark_ink else grey[grey <= limit]))
    limit += _TOWARDS_GROUND * (ground - limit)
    return grey < limit if is_dark_ink else grey > limit


def _patches(ink: "Ink") -> list[_Patch]:
    import cv2
    import numpy as np

    number, labels, stats, _ = cv2.connectedComponentsWithStats(ink.astype(np.uint8))
    found = []
    for label in range(1, min(number, 20 * MAX_SIGNS)):
        left, top, width, height, area = (int(value) for value in stats[label])
        if area < 4:
            continue
        window = labels[top : top + height, left : left + width] == label
        found.append(_Patch(Box(left, top, left + width, top + height), window))
    tallest = max((max(p.box.height, p.box.width) for p in found), default=0)
    # Specks of a scan are far below the size of any sign.
    return [p for p in found if max(p.box.height, p.box.width) >= tallest / 150]


def _typical_height(patches: Sequence[_Patch]) -> float:
    heights = sorted(p.box.height for p in patches if not _is_bar(p))
    if not heights:
        return float(max(p.box.width for p in patches))
    tall = [height for height in heights if height >= heights[-1] / 6]
    return float(tall[len(tall) * 2 // 3])


def _is_bar(patch: _Patch) -> bool:
    return patch.box.width >= 2 * patch.box.height and float(patch.ink.mean()) > _FULL


def _is_dot(patch: _Patch, typical: float) -> bool:
    box = patch.box
    return (
        max(box.width, box.height) < 0.38 * typical
        and 0.6 < box.width / box.height < 1.7
        and float(patch.ink.mean()) > 0.6
    )


def _joined(patches: Sequence[_Patch], typical: float) -> list[_Patch]:
    """Return the patches, those of one sign (the dot and stem of an i) made one."""
    left = sorted(patches, key=lambda patch: patch.box.top)
    joined: list[_Patch] = []
    while left:
        patch = left.pop(0)
        partners = [
            other
            for other in left
            if _stacked(patch.box, other.box, typical) and _may_join(patch, other, typical)
        ]
        for parts in [[*partners[:2]], *([other] for other in partners)]:
            whole = _union([patch, *parts])
            if parts and _is_known_whole(whole, len(parts) + 1, typical):
                left = [other for other in left if all(other is not part for part in parts)]
                patch = whole
                break
        joined.append(patch)
    return joined


def _may_join(upper: _Patch, lower: _Patch, typical: float) -> bool:
    simple = [_is_bar(p) or _is_dot(p, typical) for p in (upper, lower)]
    similar = 0.8 < upper.box.width / lower.box.width < 1.25
    return any(simple) or similar


def _stacked(upper: Box, lower: Box, typical: float) -> bool:
    shared = min(upper.right, lower.right) - max(upper.left, lower.left)
    gap = lower.top - upper.bottom
    return shared > 0.3 * min(upper.width, lower.width) and -0.1 * typical < gap < 0.6 * typical


def _is_known_whole(whole: _Patch, parts: int, typical: float) -> bool:
    if max(whole.box.height, whole.box.width) > _TALLEST * typical:
        return False
    name, likeness, _ = _most_like(whole)
    if name not in _PARTS or (name == "÷") != (parts == 3):
        return False
    return likeness >= _LIKE_PARTS


def _union(patches: Sequence[_Patch]) -> _Patch:
    import numpy as np

    box = Box(
        min(p.box.left for p in patches),
        min(p.box.top for p in patches),
        max(p.box.right for p in patches),
        max(p.box.bottom for p in patches),
    )
    ink = np.zeros((box.height, box.width), dtype=bool)
    for patch in patches:
        top, left = patch.box.top - box.top, patch.box.left - box.left
        ink[top : top + patch.box.height, left : left + patch.box.width] |= patch.ink
    return _Patch(box, ink)


def _name(patch: _Patch, typical: float, patches: Sequence[_Patch]) -> Sign:
    if _is_bar(patch):
        return Sign(BAR, patch.box, 1.0)
    if _is_dot(patch, typical):
        return Sign(DOT, patch.box, 1.0)
    if _is_root(patch, patches):
        return Sign(ROOT, patch.box, 1.0)
    name, likeness, is_upright = _most_like(patch)
    return Sign(name, patch.box, likeness, is_upright)


def _is_root(patch: _Patch, patches: Sequence[_Patch]) -> bool:
    """Return whether the patch has a straight top edge to its right with other marks below it."""
    box = patch.box
    covered = [
        other.box
        for other in patches
        if other is not patch
        and box.left < other.box.left < box.right - 3
        and other.box.right <= box.right + 3
        and box.top < other.box.top
        and other.box.bottom <= box.bottom + box.height // 4
    ]
    if not covered:
        return False
    # A degree stands left of the bar, so what reaches furthest right tells where the bar is.
    right = max(covered, key=lambda inner: inner.right)
    bar = patch.ink[:, right.left - box.left : right.right - box.left]
    tops = bar.argmax(axis=0)
    thick = bar.sum(axis=0)
    return bool(
        bar.any(axis=0).all()
        and tops.max() - tops.min() <= 1
        and thick.max() <= max(4, box.height / 6)
        and box.width >= 0.5 * box.height
    )


def _shape(ink: "Ink") -> "Shape":
    """Return the ink as a small picture of unit length, its proportions kept."""
    import cv2
    import numpy as np

    height, width = ink.shape
    share = (_SIDE - 4) / max(height, width)
    size = (max(1, round(width * share)), max(1, round(height * share)))
    small = cv2.resize(ink.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    canvas = np.zeros((_SIDE, _SIDE), dtype=np.float32)
    top, left = (_SIDE - size[1]) // 2, (_SIDE - size[0]) // 2
    canvas[top : top + size[1], left : left + size[0]] = small
    soft: Shape = np.asarray(cv2.GaussianBlur(canvas, (0, 0), 0.8), dtype=np.float32).ravel()
    return soft / max(float(np.linalg.norm(soft)), 1e-6)


def _most_like(patch: _Patch) -> tuple[str, float, bool]:
    names, shapes = _known_shapes()
    likeness = shapes @ _shape(patch.ink)
    best = int(likeness.argmax())
    return (names[best][0], float(likeness[best]), names[best][1])


@cache
def _known_shapes() -> tuple[list[tuple[str, bool]], "Shape"]:
    import numpy as np
    from PIL import ImageFont

    names, shapes = [], []
    faces: dict[Path, FreeTypeFont] = {}
    for sign, is_upright, file, letter in drawn_signs():
        face = faces.get(file) or ImageFont.truetype(
            file, _DRAWN_PX, layout_engine=ImageFont.Layout.BASIC
        )
        faces[file] = face
        mask = face.getmask(letter, mode="L")
        ink = np.array(mask, dtype=np.uint8).reshape(mask.size[::-1]) > 127
        rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
        cut = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        names.append((sign, is_upright))
        shapes.append(_shape(cut))
    return names, np.stack(shapes)
