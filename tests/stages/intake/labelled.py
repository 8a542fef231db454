"""The labelled pairs of requests, in two parts: one to calibrate with, one held out."""

from pathlib import Path
from typing import NamedTuple

import yaml

_FILE = Path(__file__).with_name("paraphrases.yaml")


class Pair(NamedTuple):
    """Two texts, and whether they ask for the same."""

    request: str
    text: str
    same: bool
    language: str | None
    """Language of the second text; None: both are English."""
    calibrates: bool
    """60 %: thresholds are derived from it; all pairs of one request are in one part."""


def labelled_pairs() -> list[Pair]:
    """Return the 200 pairs."""
    groups = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return [
        Pair(group["request"], one["text"], kind == "same", one.get("language"), number % 5 < 3)
        for number, group in enumerate(groups)
        for kind in ("same", "other")
        for one in group[kind]
    ]
