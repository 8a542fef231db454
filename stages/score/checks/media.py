"""Checks of images, sound and video."""

import math
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from stages.score.check import CheckArgs, CheckSpec, Verdict, failed, holds, share, within
from taskdata.schema.scores import Shortcoming
from taskdata.schema.views import AudioView, ImageView, VideoView

_WINDOW_SECONDS = 0.1
"""Length of one value of `AudioView.envelope`."""

Colour = Annotated[str, StringConstraints(pattern=r"^#?[0-9A-Fa-f]{6}$")]
Pixels = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Level = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ImageSize(CheckArgs):
    """Size in pixels."""

    width: Pixels | None = None
    height: Pixels | None = None
    min_width: Pixels | None = None
    min_height: Pixels | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("needs width, height, min_width or min_height")
        return self


def image_size(view: ImageView, args: ImageSize) -> Verdict:
    """Give 10 when width and height are as asked."""
    fits = [
        args.width is None or view.width == args.width,
        args.height is None or view.height == args.height,
        args.min_width is None or view.width >= args.min_width,
        args.min_height is None or view.height >= args.min_height,
    ]
    asked = args.model_dump(exclude_none=True).items()
    expected = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in asked)
    return holds(all(fits), f"{view.width} x {view.height} pixels; expected {expected}")


class ImageFormat(CheckArgs):
    """Format of the file's content: PNG, JPEG, ..."""

    format: str


def image_format(view: ImageView, args: ImageFormat) -> Verdict:
    """Give 10 for this format."""
    right = view.format.casefold() == args.format.casefold()
    return holds(right, f"the image is {view.format}; expected {args.format}")


def near(found: str, wanted: str, tolerance: int) -> bool:
    """Return whether two colours (RRGGBB) differ by at most `tolerance` in every channel."""
    pairs = zip(bytes.fromhex(found), bytes.fromhex(wanted.removeprefix("#")), strict=True)
    return all(abs(a - b) <= tolerance for a, b in pairs)


class ImageColour(CheckArgs):
    """Share of the picture in (about) one colour."""

    colour: Colour
    min_share: Share
    max_share: Share = 1.0
    tolerance: Annotated[int, Field(ge=0, le=255)] = 32


def image_colour(view: ImageView, args: ImageColour) -> Verdict:
    """Give 10 when the share of pixels near the colour is within the bounds."""
    found = sum(
        part for colour, part in view.colours.items() if near(colour, args.colour, args.tolerance)
    )
    fits = args.min_share <= found <= args.max_share + 1e-9
    expected = f"{args.min_share:.0%} to {args.max_share:.0%}"
    return holds(fits, f"{found:.1%} of the image is near {args.colour}; expected {expected}")


class ImageRegion(CheckArgs):
    """Colour of a region."""

    box: tuple[Share, Share, Share, Share]
    """Left, top, right, bottom as shares of width and height."""
    colour: Colour
    tolerance: Annotated[int, Field(ge=0, le=255)] = 48
    min_share: Annotated[float, Field(gt=0, le=1)] = 0.5

    @model_validator(mode="after")
    def _box_has_an_area(self) -> Self:
        if self.box[0] >= self.box[2] or self.box[1] >= self.box[3]:
            raise ValueError("box must be left, top, right, bottom with left < right, top < bottom")
        return self


def image_region(view: ImageView, args: ImageRegion) -> Verdict:
    """Give 10 when enough of the grid cells whose centre is in the box are near the colour."""
    left, top, right, bottom = args.box
    size = len(view.grid)
    cells = [
        colour
        for y, row in enumerate(view.grid)
        for x, colour in enumerate(row)
        if left <= (x + 0.5) / len(row) <= right and top <= (y + 0.5) / size <= bottom
    ]
    if not cells:
        return failed(f"the box {args.box} is smaller than a cell of the grid")
    found = sum(near(colour, args.colour, args.tolerance) for colour in cells) / len(cells)
    reason = f"{found:.0%} of the region is near {args.colour}; expected {args.min_share:.0%}"
    return holds(found >= args.min_share, reason)


class ImageContrast(CheckArgs):
    """Standard deviation of brightness (0-127.5): an empty picture has none."""

    min: Annotated[float, Field(gt=0, le=127.5)]


def image_contrast(view: ImageView, args: ImageContrast) -> Verdict:
    """Give 10 when the contrast is high enough."""
    reason = f"contrast {view.contrast:.1f}; expected at least {args.min:g}"
    return holds(view.contrast >= args.min, reason)


class ImageTransparency(CheckArgs):
    """Whether the image has an alpha channel."""

    has_alpha: bool


def image_transparency(view: ImageView, args: ImageTransparency) -> Verdict:
    """Give 10 when there is, or is not, an alpha channel, as asked."""
    found, expected = ("has" if flag else "no" for flag in (view.has_alpha, args.has_alpha))
    return holds(view.has_alpha == args.has_alpha, f"alpha: {found}; expected: {expected}")


class AudioDuration(CheckArgs):
    """Length in seconds."""

    seconds: Seconds
    tolerance: Seconds


def audio_duration(view: AudioView, args: AudioDuration) -> Verdict:
    """Give 10 when the length is within the tolerance."""
    spare = args.tolerance + 1e-9
    reason = f"{view.seconds:.2f} s; expected {args.seconds:g} s give or take {args.tolerance:g} s"
    if view.seconds <= 0:
        return failed(reason, Shortcoming.NO_SOUND)
    return within(view.seconds, args.seconds - spare, args.seconds + spare, reason)


class AudioFormat(CheckArgs):
    """Sample rate in Hz and number of channels."""

    sample_rate: Annotated[int, Field(ge=1)] | None = None
    channels: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.sample_rate is None and self.channels is None:
            raise ValueError("needs sample_rate or channels")
        return self


def audio_format(view: AudioView, args: AudioFormat) -> Verdict:
    """Give the share of what is asked that holds."""
    fits = []
    if args.sample_rate is not None:
        fits.append(view.sample_rate == args.sample_rate)
    if args.channels is not None:
        fits.append(view.channels == args.channels)
    asked = f"{args.sample_rate or 'any'} Hz, {args.channels or 'any number of'} channels"
    reason = f"{view.sample_rate} Hz, {view.channels} channels; expected {asked}"
    return share(sum(fits), len(fits), reason)


class AudioLevel(CheckArgs):
    """Loudness of the whole: RMS and peak, 1 is full scale."""

    min_rms: Level | None = None
    max_peak: Level | None = None
    min_peak: Level | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("needs min_rms, max_peak or min_peak")
        return self


def audio_level(view: AudioView, args: AudioLevel) -> Verdict:
    """Give the share of the bounds that hold."""
    if not view.envelope or view.peak <= 0:
        return failed("there is no sound", Shortcoming.NO_SOUND)
    fits = []
    if args.min_rms is not None:
        fits.append(view.rms >= args.min_rms)
    if args.max_peak is not None:
        fits.append(view.peak <= args.max_peak)
    if args.min_peak is not None:
        fits.append(view.peak >= args.min_peak)
    asked = args.model_dump(exclude_none=True).items()
    expected = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in asked)
    reason = f"RMS {view.rms:.3f}, peak {view.peak:.3f}; expected {expected}"
    return share(sum(fits), len(fits), reason)


class Span(CheckArgs):
    """A part of the sound, in seconds from its start."""

    start: Seconds
    end: Seconds

    @model_validator(mode="after")
    def _has_a_length(self) -> Self:
        if self.end <= self.start:
            raise ValueError("end must be after start")
        return self


def levels_in(view: AudioView, span: Span) -> tuple[float, ...]:
    """Return the RMS of the 100 ms windows wholly within the span, or of the one in its middle.

    None at all when the sound ends before the span does.
    """
    if view.seconds < span.end - _WINDOW_SECONDS:
        return ()
    first = math.ceil(span.start / _WINDOW_SECONDS - 1e-6)
    last = math.floor(span.end / _WINDOW_SECONDS + 1e-6)
    middle = int((span.start + span.end) / 2 / _WINDOW_SECONDS)
    return view.envelope[first:last] or view.envelope[middle : middle + 1]


class AudioSilence(Span):
    """Silence in a part of the sound; a recording that is silent throughout has no such part."""

    max_rms: Level = 0.01


def audio_silence(view: AudioView, args: AudioSilence) -> Verdict:
    """Give 10 when no 100 ms window of the part is louder, and something else is heard."""
    levels = levels_in(view, args)
    if not levels:
        return failed(f"the sound ends at {view.seconds:.2f} s", Shortcoming.TOO_FEW)
    if view.peak <= args.max_rms:
        return failed("the recording is silent throughout", Shortcoming.NO_SOUND)
    reason = (
        f"loudest RMS from {args.start:g} to {args.end:g} s is {max(levels):.3f}; "
        f"expected at most {args.max_rms:g}"
    )
    return holds(max(levels) <= args.max_rms, reason)


class AudioSound(Span):
    """Something to hear in a part of the sound."""

    min_rms: Annotated[float, Field(gt=0, allow_inf_nan=False)]


def audio_sound(view: AudioView, args: AudioSound) -> Verdict:
    """Give 10 when the part as a whole is loud enough."""
    levels = levels_in(view, args)
    if not levels:
        return failed(f"the sound ends at {view.seconds:.2f} s", Shortcoming.TOO_FEW)
    rms = (sum(level**2 for level in levels) / len(levels)) ** 0.5
    reason = (
        f"RMS from {args.start:g} to {args.end:g} s is {rms:.3f}; "
        f"expected at least {args.min_rms:g}"
    )
    return holds(rms >= args.min_rms, reason)


class VideoDuration(CheckArgs):
    """Length in seconds."""

    seconds: Seconds
    tolerance: Seconds


def video_duration(view: VideoView, args: VideoDuration) -> Verdict:
    """Give 10 when the length is within the tolerance."""
    spare = args.tolerance + 1e-9
    reason = f"{view.seconds:.2f} s; expected {args.seconds:g} s give or take {args.tolerance:g} s"
    return within(view.seconds, args.seconds - spare, args.seconds + spare, reason)


class VideoForm(CheckArgs):
    """Size of the frames in pixels, and whether there is sound."""

    width: Pixels | None = None
    height: Pixels | None = None
    has_sound: bool | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("needs width, height or has_sound")
        return self


def video_form(view: VideoView, args: VideoForm) -> Verdict:
    """Give the share of what is asked that holds."""
    asked = args.model_dump(exclude_none=True)
    fits = [getattr(view, name) == value for name, value in asked.items()]
    found = f"{view.width} x {view.height} pixels, {_sound(view.has_sound)}"
    size = f"{args.width or 'any'} x {args.height or 'any'} pixels"
    sound = "" if args.has_sound is None else f", {_sound(args.has_sound)}"
    return share(sum(fits), len(fits), f"{found}; expected {size}{sound}")


def _sound(has_sound: bool) -> str:
    return f"with{'' if has_sound else 'out'} sound"


CHECKS = (
    CheckSpec("image_size", ImageSize, (ImageView,), image_size),
    CheckSpec("image_format", ImageFormat, (ImageView,), image_format),
    CheckSpec("image_colour", ImageColour, (ImageView,), image_colour),
    CheckSpec("image_region", ImageRegion, (ImageView,), image_region),
    CheckSpec("image_contrast", ImageContrast, (ImageView,), image_contrast),
    CheckSpec("image_transparency", ImageTransparency, (ImageView,), image_transparency),
    CheckSpec("audio_duration", AudioDuration, (AudioView,), audio_duration),
    CheckSpec("audio_format", AudioFormat, (AudioView,), audio_format),
    CheckSpec("audio_level", AudioLevel, (AudioView,), audio_level, version=2),
    CheckSpec("audio_silence", AudioSilence, (AudioView,), audio_silence, version=2),
    CheckSpec("audio_sound", AudioSound, (AudioView,), audio_sound),
    CheckSpec("video_duration", VideoDuration, (VideoView,), video_duration),
    CheckSpec("video_form", VideoForm, (VideoView,), video_form),
)
