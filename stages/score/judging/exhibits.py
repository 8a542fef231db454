"""The files of a trial as a judge is shown them, and what it is not shown of them."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import NamedTuple

from environments.ports import Media
from environments.renderers.pages.formats import sampled_times
from stages.score.evidence import TrialEvidence
from stages.score.judging.addressed import Clear, cleared
from stages.score.judging.frames import Frame, Part, quoted
from stages.score.judging.showing import parts_of
from stages.score.judging.sight import Sight
from taskdata.schema.views import (
    AudioView,
    HtmlView,
    ImageView,
    SvgView,
    UnreadableView,
    VideoView,
    View,
)

MAX_PICTURES = 24
"""Of all files together; providers take at least so many, of this size."""
MAX_RECORDINGS = 4
"""The same, of models that hear."""
FROM_TEXT_ONLY = "judged from text only"
_UNSEARCHED = "not all its pictures were searched for text that speaks to the judge"
_LOOKS = frozenset({"docx", "xlsx", "pptx", "pdf", "html", "image", "video", "svg"})
"""Kinds of views whose files a person would look at."""
_NOT_PUBLISHED = frozenset({"docx", "xlsx", "pptx", "csv"})
"""Kinds that the published evaluator of GTA-2 does not open."""


@dataclass(frozen=True)
class Sensed:
    """What pictures and sounds were made of one file, for judges that take them."""

    pictures: tuple[Media, ...] = ()
    captions: tuple[str, ...] = ()
    """One for each picture."""
    more_pages: int = 0
    """Pages of which there is no picture."""
    no_pictures: str = ""
    """Why there are none of a file that has a look."""
    sound: Media | None = None
    speaking: frozenset[int] = frozenset()
    """Places of the pictures in which text speaks to the judge."""
    unread: str = ""
    """Why text in pictures was not looked for, or not in all of them."""


@dataclass(frozen=True)
class Exhibit:
    """One file for the judge."""

    frame: Frame
    unseen: tuple[str, ...] = ()
    """What a judge with eyes and ears could have seen and this one cannot, in words."""
    unsearched: tuple[str, ...] = ()
    """In what of it nobody has looked for text that speaks to the judge, in words."""
    may_speak: bool = False
    """Whether some of its sentences may address the judge."""


class Said(NamedTuple):
    """Texts without the passages that a judge shall not be shown."""

    parts: list[Part]
    words: int
    """Number of words that were left out."""
    may_speak: bool


def exhibits(
    trial: TrialEvidence,
    names: Sequence[str],
    sensed: Mapping[str, Sensed],
    sight: Sight,
    clear: Clear = cleared,
) -> dict[str, Exhibit]:
    """Return the named files as the judge is shown them, including those that are missing.

    Args:
        trial: What the trial left.
        names: Names of the files.
        sensed: Pictures and recordings of the files.
        sight: The kinds of media that the judge takes.
        clear: Removes from texts what the judge shall not be shown.
    """
    found: dict[str, Exhibit] = {}
    left, recordings = MAX_PICTURES, 0
    for number, name in enumerate(names):
        # Every file may have its part of what those before it have left.
        most = -(-left // (len(names) - number))
        made = sensed.get(name, Sensed())
        left -= min(most, len(made.pictures)) if sight.sees else 0
        if made.sound is not None:
            recordings += 1
            made = made if recordings <= MAX_RECORDINGS else replace(made, sound=None)
        found[name] = _exhibit(name, trial, made, sight, most, clear)
    return found


def _exhibit(
    name: str, trial: TrialEvidence, made: Sensed, sight: Sight, most: int, clear: Clear
) -> Exhibit:
    heading = title(name, clear)
    view = trial.views.get(name)
    if view is None:
        absent = without_addresses([Part("this file is missing", trial.not_delivered(name))], clear)
        return Exhibit(Frame(heading, absent.parts), may_speak=absent.may_speak)
    if sight.profile == "gta2-published" and (refused := _unpublished(name, view)):
        return Exhibit(Frame(heading, [Part(refused)]), (f"{name}: {refused}",))
    pictures, unseen = _pictures(name, view, made, sight, most)
    said = without_addresses([*_heard(name, trial, made, sight), *parts_of(view)], clear)
    told = f"{name}: {said.words} words that speak to the judge were left out"
    left_out = (told,) if said.words else ()
    is_shown = any(part.media is not None for part in pictures)
    unsearched = (f"{name}: {_UNSEARCHED}: {made.unread}",) if is_shown and made.unread else ()
    frame = Frame(heading, [*pictures, *said.parts])
    may_speak = said.may_speak or clear(name).may_speak
    return Exhibit(frame, (*unseen, *left_out), unsearched, may_speak)


def title(name: str, clear: Clear) -> str:
    """Return a file's title for the judge: its name, or a number if the name addresses the judge.

    The agent chooses the name if a task asks for any file of a type.
    """
    if not clear(name).words:
        return f"file {quoted(name)}"
    number = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"file {number} (its own name speaks to the judge)"


def without_addresses(parts: Sequence[Part], clear: Clear = cleared) -> Said:
    """Return the parts without passages that address the judge."""
    kept: list[Part] = []
    words, may_speak = 0, False
    for part in parts:
        # A heading holds names that the agent chose: of a sheet, a slide, an attachment.
        heading, text = clear(part.heading), clear(part.text)
        words += text.words
        may_speak = may_speak or heading.may_speak or text.may_speak
        named = "a heading that speaks to the judge was left out" if heading.words else part.heading
        kept.append(Part(named, text.text, part.media))
    if words:
        kept.append(Part(f"{words} words that speak to you as the judge were left out"))
    return Said(kept, words, may_speak)


def _unpublished(name: str, view: View) -> str:
    """Return why the published evaluator does not look at the file, or nothing."""
    if view.kind in _NOT_PUBLISHED:
        return f"{PurePosixPath(name).suffix.lower()} files are not opened under this profile"
    if isinstance(view, AudioView):
        return "this file exists and is a recording; it is not listened to under this profile"
    return ""


def _pictures(
    name: str, view: View, made: Sensed, sight: Sight, most: int
) -> tuple[list[Part], tuple[str, ...]]:
    if view.kind not in _LOOKS or isinstance(view, UnreadableView):
        return [], ()
    if not sight.sees:
        return [], (f"{name}: {FROM_TEXT_ONLY}: pictures are not shown to this judge",)
    if not made.pictures:
        reason = made.no_pictures or "no picture of it could be made"
        return [], (f"{name}: {FROM_TEXT_ONLY}: {reason}",)
    shown = list(zip(made.captions, made.pictures, strict=True))[:most]
    parts, spoken = _silent(shown, made.speaking)
    told = (f"{name}: {_left_out(spoken)}",) if spoken else ()
    hidden = len(made.pictures) - len(shown) + made.more_pages
    if not hidden:
        return parts, told
    noun = "moments" if isinstance(view, VideoView) else "pages"
    parts.append(Part(f"{hidden} more {noun} are not shown as pictures"))
    return parts, (*told, f"{name}: {hidden} more {noun} were not shown as pictures")


def _silent(
    shown: Sequence[tuple[str, Media]], speaking: Collection[int]
) -> tuple[list[Part], int]:
    """Return the pictures without those that speak to the judge, and how many these are."""
    parts, spoken = [], 0
    for place, (caption, media) in enumerate(shown):
        if place in speaking:
            spoken += 1
            parts.append(Part(f"{caption}: left out, for text in it speaks to you as the judge"))
        else:
            parts.append(Part(caption, "", media))
    return parts, spoken


def _left_out(pictures: int) -> str:
    noun = "picture" if pictures == 1 else "pictures"
    return f"{pictures} {noun} with text that speaks to the judge left out"


def _heard(name: str, trial: TrialEvidence, made: Sensed, sight: Sight) -> Iterator[Part]:
    if sight.profile == "gta2-published":
        return
    if sight.hears and made.sound is not None:
        yield Part("its sound", "", made.sound)
    heard = trial.heard.get(name)
    if heard is None:
        return
    if heard.reason:
        yield Part(f"no transcript of its sound: {heard.reason}")
    else:
        yield Part("what a speech recogniser heard in it", heard.text or "(no speech)")


def captions(view: View, count: int) -> tuple[str, ...]:
    """Return the lines above the pictures of a file."""
    if isinstance(view, ImageView | SvgView):
        return ("the picture, scaled down where it is large",) * count
    if isinstance(view, VideoView):
        times = sampled_times(view.seconds, count)
        return tuple(f"what is seen at {time:.1f} s" for time in times)
    noun = "screen" if isinstance(view, HtmlView) else "page"
    return tuple(f"picture of {noun} {number}" for number in range(1, count + 1))
