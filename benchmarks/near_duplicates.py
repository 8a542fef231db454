"""Precision and recall of near-duplicate links on the labelled pairs, and the speed of MinHash.

Prints a table per encoder that is installed. The threshold of an encoder is the lowest cosine with
a precision of 0.95 on the calibration part; the held-out part shows what that threshold is worth.

    python -m benchmarks.near_duplicates
    python -m benchmarks.near_duplicates --seeds 10000
"""

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quality.encoders.choosing import find_encoder, is_installed
from quality.encoders.packaged import ENCODERS, MINILM, UNIVERSAL
from stages.intake.details import details_of
from stages.intake.duplicates import (
    SIMILAR_IN_ENGLISH,
    SIMILAR_MEANING,
    DuplicateIndex,
    says_the_same,
)
from tests.stages.intake.labelled import Pair, labelled_pairs

PRECISION = 0.95


def main() -> None:
    """Print the tables, or the time that so many seeds take."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, help="Time MinHash on so many made-up seeds instead.")
    count = parser.parse_args().seeds
    if count:
        _time(count)
        return
    for name in ENCODERS:
        if is_installed(name):
            _report(name)
    if is_installed(UNIVERSAL) and is_installed(MINILM):
        _report_both()


def _report_both() -> None:
    """Print what the mean of both encoders is worth on the English pairs."""
    pairs = [pair for pair in labelled_pairs() if not pair.language]
    cosines = []
    for name in (UNIVERSAL, MINILM):
        encoder = find_encoder(name, Path(".nightshift"))
        requests, texts = ([getattr(p, side) for p in pairs] for side in ("request", "text"))
        cosines.append((encoder.encode(requests) * encoder.encode(texts)).sum(axis=1))
    agrees = [says_the_same(details_of(p.request), details_of(p.text)) for p in pairs]
    scores = np.where(agrees, np.mean(cosines, axis=0), -1.0)
    found = _threshold(pairs, scores)
    print(f"both, English: derived threshold {found}, in use {SIMILAR_IN_ENGLISH}")
    held_out = [not pair.calibrates for pair in pairs]
    print(f"held out: {_cell(pairs, scores, found or 0.9, held_out)}")


def _report(name: str) -> None:
    pairs = labelled_pairs()
    encoder = find_encoder(name, Path(".nightshift"))
    requests, texts = ([getattr(p, side) for p in pairs] for side in ("request", "text"))
    cosines = (encoder.encode(requests) * encoder.encode(texts)).sum(axis=1)
    agrees = [says_the_same(details_of(p.request), details_of(p.text)) for p in pairs]
    scores = np.where(agrees, cosines, -1.0)
    parts = {
        "calibration": [p.calibrates for p in pairs],
        "held out": [not p.calibrates for p in pairs],
        "held out, English": [not p.calibrates and not p.language for p in pairs],
        "held out, across": [not p.calibrates and bool(p.language) for p in pairs],
    }
    found = _threshold(pairs, scores)
    print(f"{name}: derived threshold {found}, in use {SIMILAR_MEANING.get(name)}")
    print("cosine alone, calibration: ", _threshold(pairs, cosines) or "no threshold reaches 0.95")
    print("threshold  " + "  ".join(f"{part:>20}" for part in parts))
    for threshold in sorted({round(0.5 + 0.05 * n, 2) for n in range(10)} | {found or 0.9}):
        cells = [_cell(pairs, scores, threshold, chosen) for chosen in parts.values()]
        print(f"{threshold:9.3f}  " + "  ".join(f"{cell:>20}" for cell in cells))


def _threshold(pairs: Sequence[Pair], scores: "np.ndarray") -> float | None:
    """Return the lowest threshold of the calibration part that has the precision."""
    scored = [(p.same, float(s)) for p, s in zip(pairs, scores, strict=True) if p.calibrates]
    for threshold in sorted({score for _, score in scored}):
        linked = [same for same, score in scored if score >= threshold]
        if threshold > 0 and np.mean(linked) >= PRECISION:
            return round(threshold, 3)
    return None


def _cell(
    pairs: Sequence[Pair], scores: "np.ndarray", threshold: float, chosen: Sequence[bool]
) -> str:
    among = [(p.same, s >= threshold) for p, s, c in zip(pairs, scores, chosen, strict=True) if c]
    right = sum(same and linked for same, linked in among)
    linked, same = sum(found for _, found in among), sum(is_same for is_same, _ in among)
    return f"P {right / linked:.2f} R {right / same:.2f}" if linked else "nothing linked"


def _time(count: int) -> None:
    rng = random.Random(1)
    vocabulary = [f"word{n}" for n in range(5_000)]
    texts = [" ".join(rng.choices(vocabulary, k=30)) for _ in range(count)]
    texts[1::10] = [f"{text} please" for text in texts[0::10]]
    index, started = DuplicateIndex(), time.perf_counter()
    links = index.links([(str(n), text) for n, text in enumerate(texts)])
    print(f"{count} seeds, {len(links)} links: {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
