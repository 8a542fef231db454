"""ImageQualityTest: measurements of a picture's quality without a reference.

Sharpness is the variance of the Laplacian (Pech-Pacheco et al. 2000), noise is Immerkær's estimate
(1996), colourfulness the metric of Hasler and Süsstrunk (2003, equation 15 and table 2). The limits
of the verdicts are our own, except those for colourfulness, which are from the paper.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.images.pictures import ImagePath, flat, open_picture, size_text
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

_COMPARED_SIDE = 1_024
"""Sharpness depends on size, so it is measured at this one; a smaller copy hides noise."""
_NOISE_SIDE = 2_000
_DARKEST, _BRIGHTEST = 2, 253
_GOOD = ""

Steps = tuple[tuple[float, str, str], ...]
"""Upper limit, verdict, and the fault (empty for none), in ascending order."""

_MEGAPIXELS: Steps = (
    (0.3, "low", "low resolution"),
    (2, "moderate", _GOOD),
    (math.inf, "high", _GOOD),
)
_SHARPNESS: Steps = (
    (30, "very blurred", "very blurred"),
    (100, "blurred", "blurred"),
    (300, "fairly sharp", _GOOD),
    (math.inf, "sharp", _GOOD),
)
_BRIGHTNESS: Steps = (
    (50, "dark", "too dark"),
    (90, "rather dark", _GOOD),
    (170, "balanced", _GOOD),
    (210, "bright", _GOOD),
    (math.inf, "very bright", "too bright"),
)
_CONTRAST: Steps = (
    (20, "low", "low contrast"),
    (40, "moderate", _GOOD),
    (80, "good", _GOOD),
    (math.inf, "very high", _GOOD),
)
_NOISE: Steps = (
    (3, "hardly any", _GOOD),
    (8, "visible", _GOOD),
    (math.inf, "strong", "noisy"),
)
_CLIPPED: Steps = (
    (0.01, "none to speak of", _GOOD),
    (0.1, "some detail lost", _GOOD),
    (math.inf, "much detail lost", "clipped"),
)
_COLOURFULNESS: Steps = (
    (15, "not colourful", _GOOD),
    (33, "slightly colourful", _GOOD),
    (45, "moderately colourful", _GOOD),
    (59, "averagely colourful", _GOOD),
    (82, "quite colourful", _GOOD),
    (109, "highly colourful", _GOOD),
    (math.inf, "extremely colourful", _GOOD),
)


@dataclass(frozen=True)
class Quality:
    """The measurements of one picture."""

    megapixels: float
    sharpness: float
    """Variance of the Laplacian of the luma, the longer side scaled down to 1024 pixels."""
    brightness: float
    """Mean luma, 0 to 255."""
    contrast: float
    """Standard deviation of the luma (RMS contrast), 0 to 127.5."""
    noise: float
    """Estimated standard deviation of the noise, in steps of 255; texture counts in part."""
    blown: float
    """Share of pixels with a luma of 253 or more, 0 to 1."""
    crushed: float
    """Share of pixels with a luma of 2 or less, 0 to 1."""
    colourfulness: float
    """0 for greys; about 109 and more for extreme colours."""


class ImageQualityTestArguments(Arguments):
    """Arguments of ImageQualityTest."""

    image: ImagePath


def image_quality_test(args: ImageQualityTestArguments, workspace: Path) -> ToolResult:
    """Return the measurements, each with a verdict in words, and the faults among them."""
    import numpy as np

    picture = flat(open_picture(workspace, args.image))
    found = measure(np.asarray(picture))
    rows: list[tuple[str, str, float, Steps]] = [
        ("resolution", f"{found.megapixels:.2f} megapixels", found.megapixels, _MEGAPIXELS),
        ("sharpness", f"{found.sharpness:.0f} (variance)", found.sharpness, _SHARPNESS),
        ("brightness", f"{found.brightness:.0f} of 255", found.brightness, _BRIGHTNESS),
        ("contrast", f"{found.contrast:.0f} (RMS)", found.contrast, _CONTRAST),
        ("noise", f"{found.noise:.1f} of 255", found.noise, _NOISE),
        ("highlights clipped", f"{found.blown:.1%} of pixels", found.blown, _CLIPPED),
        ("shadows clipped", f"{found.crushed:.1%} of pixels", found.crushed, _CLIPPED),
        ("colourfulness", f"{found.colourfulness:.0f}", found.colourfulness, _COLOURFULNESS),
    ]
    lines, faults = [f"{args.image}: {size_text(picture)}"], []
    for name, shown, value, steps in rows:
        verdict, fault = _verdict(value, steps)
        lines.append(f"{name}: {shown}: {verdict}")
        if fault:
            faults.append(f"{name.split()[0]} clipped" if fault == "clipped" else fault)
    lines.append(f"Faults: {', '.join(faults) or 'none found'}")
    return ToolResult(text="\n".join(lines))


def measure(pixels: "Pixels") -> Quality:
    """Return the measurements of RGB `pixels`."""
    import cv2
    import numpy as np

    grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), dtype=np.uint8)
    height, width = grey.shape
    share = _COMPARED_SIDE / max(height, width)
    compared = grey
    if share < 1:
        size = (max(1, round(width * share)), max(1, round(height * share)))
        smaller = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
        compared = np.asarray(smaller, dtype=np.uint8)
    return Quality(
        megapixels=height * width / 1e6,
        sharpness=float(cv2.Laplacian(compared, cv2.CV_64F).var()),
        brightness=float(grey.mean()),
        contrast=float(grey.std()),
        noise=_noise(grey),
        blown=float((grey >= _BRIGHTEST).mean()),
        crushed=float((grey <= _DARKEST).mean()),
        colourfulness=_colourfulness(pixels),
    )


def _noise(grey: "Pixels") -> float:
    """Return the noise of the middle of the picture: sqrt(pi/2) times the mean of |I * N| / 6."""
    import cv2
    import numpy as np

    height, width = grey.shape
    top, left = max(0, (height - _NOISE_SIDE) // 2), max(0, (width - _NOISE_SIDE) // 2)
    middle = grey[top : top + _NOISE_SIDE, left : left + _NOISE_SIDE].astype(np.float32)
    mask = np.array(((1, -2, 1), (-2, 4, -2), (1, -2, 1)), dtype=np.float32)
    response = np.abs(cv2.filter2D(middle, cv2.CV_32F, mask))
    return float(math.sqrt(math.pi / 2) * response.mean() / 6)


def _colourfulness(pixels: "Pixels") -> float:
    import numpy as np

    red, green, blue = (pixels[:, :, channel].astype(np.int16) for channel in range(3))
    red_green = red - green
    # Twice the yellow-blue of the paper, to stay with whole numbers.
    yellow_blue = red + green - 2 * blue
    deviation = math.hypot(red_green.std(), yellow_blue.std() / 2)
    mean = math.hypot(red_green.mean(), yellow_blue.mean() / 2)
    return float(deviation + 0.3 * mean)


def _verdict(value: float, steps: Steps) -> tuple[str, str]:
    return next((verdict, fault) for limit, verdict, fault in steps if value < limit)


TOOLS = (
    ToolDefinition(
        name="ImageQualityTest",
        description=(
            "Measure the technical quality of an image: resolution, sharpness, brightness, "
            "contrast, noise, clipping and colourfulness, each with a verdict in words."
        ),
        category=Capability.PERCEPTION,
        arguments=ImageQualityTestArguments,
        run=image_quality_test,
        backend="OpenCV",
        paging="Use a smaller image.",
        modules=("cv2",),
        extra="tools-vision",
    ),
)
