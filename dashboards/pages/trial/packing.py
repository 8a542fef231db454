"""Fitting the details of every trial into the page.

Each trial is a JSON document of its own, gzipped and written in base64: a quarter of the size,
unpacked only when somebody looks at it, and without a character that could end a script element.
"""

import base64
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dashboards.pages.trial.caps import CAPS, Cap
from taskdata.artifacts import ArtifactStore
from taskdata.errors import NightshiftError

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_FILE_BYTES = 3_000_000
"""Largest deliverable that a page carries."""
_MOST_FAILURES = 50
"""So many trials in a row that do not fit under a cap say that none does."""
_QUOTES = 24
"""Bytes that JSON spends on one entry beside its value: key, quotes, colon, comma."""


def pack(
    trials: Sequence[str], details: Callable[[str, Cap], dict[str, Any]], room: int
) -> dict[str, str]:
    """Return the packed details by trial id, together at most `room` bytes of JSON.

    Every trial is first packed under the most generous cap. Where that is too much together, the
    trials above an equal share are packed again under tighter caps; one that does not fit even
    then is left out, and the page says so. A cap under which many in a row did not fit is
    not tried again, since a night of thousands would be packed five times over to show nothing.
    """
    packed = {trial_id: _packed(details(trial_id, CAPS[0])) for trial_id in trials}
    share = equal_share([len(text) + _QUOTES for text in packed.values()], room) - _QUOTES
    failures = dict.fromkeys(CAPS[1:], 0)
    for trial_id in [t for t, text in packed.items() if len(text) > share]:
        del packed[trial_id]
        for cap in [cap for cap, count in failures.items() if count < _MOST_FAILURES]:
            smaller = _packed(details(trial_id, cap))
            if len(smaller) <= share:
                packed[trial_id] = smaller
                failures[cap] = 0
                break
            failures[cap] += 1
    return packed


def equal_share(sizes: Sequence[int], room: int) -> int:
    """Return the largest share such that sizes cut to it fit into `room` together."""
    left = room
    for position, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - position)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def _packed(details: Mapping[str, Any]) -> str:
    text = json.dumps(details, ensure_ascii=False, separators=(",", ":"))
    return _compressed(text.encode())


def _compressed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def pack_files(artifacts: ArtifactStore, sizes: Mapping[str, int], room: int) -> dict[str, str]:
    """Return files as the details are packed, by hash, together at most `room` bytes.

    The smallest are kept first, so that one large file does not take the room of many; a file of
    more than `MAX_FILE_BYTES` is never kept.
    """
    kept: dict[str, str] = {}
    small = [sha256 for sha256, size in sizes.items() if size <= MAX_FILE_BYTES]
    for sha256 in sorted(small, key=lambda key: (sizes[key], key)):
        try:
            text = _compressed(artifacts.read_bytes(sha256))
        except NightshiftError:
            continue  # the page says how to ask for it, and then it is said what is missing
        room -= len(text) + len(sha256) + _QUOTES
        if room < 0:
            break
        kept[sha256] = text
    return kept


def pack_pictures(artifacts: ArtifactStore, hashes: Iterable[str], room: int) -> dict[str, str]:
    """Return PNG files as base64 by hash, the smallest first, together at most `room` bytes."""
    found = _pngs(artifacts, set(hashes))
    return _fitting(sorted(found, key=lambda one: (len(one[1]), one[0])), room)


def pack_pages(artifacts: ArtifactStore, places: Mapping[str, int], room: int) -> dict[str, str]:
    """Return pictures of pages like `pack_pictures`, every first page before any second one.

    Args:
        artifacts: Where the pictures are.
        places: Place of each picture within its file, by hash.
        room: Most bytes together.
    """
    return _fitting(_pngs(artifacts, sorted(places, key=lambda key: (places[key], key))), room)


def _pngs(artifacts: ArtifactStore, hashes: Iterable[str]) -> Iterator[tuple[str, str]]:
    for sha256 in hashes:
        try:
            data = artifacts.read_bytes(sha256)
        except NightshiftError:
            continue  # a lost picture is not worth the page; its deliverable still shows
        if data.startswith(_PNG_SIGNATURE):
            yield sha256, base64.b64encode(data).decode()


def _fitting(pictures: Iterable[tuple[str, str]], room: int) -> dict[str, str]:
    kept: dict[str, str] = {}
    for sha256, text in pictures:
        room -= len(text) + len(sha256) + _QUOTES
        if room < 0:
            break
        kept[sha256] = text
    return kept
