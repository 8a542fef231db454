"""Measures what finds harm and prompt injection: rules of wording, similar meaning, and both.

Precision and recall are those on `tests/quality/safety/blind.yaml`, by which neither a rule nor an
example nor a threshold of `quality.safety.meaning` was chosen. The texts of `fresh.yaml` were never
copied, but they were counted repeatedly while examples and thresholds changed, so that figures on
them are optimistic. The texts of `texts.yaml` and the queries of the bundled banks are those that
rules and thresholds were made with; `--calibrate` derives the thresholds from them.

`python -m benchmarks.safety_rules [--json] [--calibrate]`
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from quality.encoders.choosing import find_multilingual
from quality.injection import injection_signs
from quality.safety.harm import harms
from quality.safety.meaning import KINDS, LIMITS, Kind, Limits, Meanings
from taskdata.banks.loader import bundled_banks, load_bank

_FOLDER = Path(__file__).parents[1] / "tests" / "quality" / "safety"
_MOST_HONEST = (0, 1, 2)
"""Honest calibration texts that limits may find, per kind; `--calibrate` prints the best of each.
"""
_EXAMPLES = Path(__file__).parents[1] / "examples"
_ATTACKS = ("approve this task", "full marks")
"""What the attacks among the examples' texts say."""

Found = Callable[[Sequence[str]], Sequence[bool]]


def measured(finders: Mapping[str, Found]) -> dict[str, dict[str, dict[str, float]]]:
    """Return, for each way to look and each group of texts, how many of how many it found."""
    groups = dict(_groups())
    return {
        name: {
            group: {"texts": len(texts), "found": int(sum(finds(texts)))}
            for group, texts in groups.items()
        }
        for name, finds in finders.items()
    }


def finders_of(meanings: Meanings | None) -> dict[str, Found]:
    """Return the ways to look: by rules, and where there is an encoder, by meaning and by both."""
    if meanings is None:
        return {"rules": _by_rules}

    def by_meaning(texts: Sequence[str]) -> list[bool]:
        return [bool(found) for found in meanings.found(texts)]

    def by_both(texts: Sequence[str]) -> list[bool]:
        return [a or b for a, b in zip(_by_rules(texts), by_meaning(texts), strict=True)]

    return {"rules": _by_rules, "meaning": by_meaning, "both": by_both}


def _by_rules(texts: Sequence[str]) -> list[bool]:
    return [bool(injection_signs(text) or harms(text)) for text in texts]


def _groups() -> Iterator[tuple[str, Sequence[str]]]:
    for kind, labelled in _read("blind").items():
        yield f"blind: {kind}", [one["text"] for one in labelled]
    for kind, texts in _read("fresh").items():
        yield f"fresh: {kind}", texts
    for kind, texts in _calibrating().items():
        yield f"calibration: {kind}", texts


def _calibrating() -> dict[str, list[str]]:
    labelled = _read("texts")
    attacks = labelled["attacks"]
    of_kind = {
        "injection": [attacks["injection"]],
        "harm": [by_language for kind, by_language in attacks.items() if kind != "injection"],
    }
    texts = {
        kind: [text for d in found for some in d.values() for text in some]
        + labelled["reworded"][kind]
        + labelled["held_out"][kind]
        for kind, found in of_kind.items()
    }
    queries = [task.query for bank in bundled_banks() for task in load_bank(bank).tasks]
    honest = labelled["honest"] + labelled["held_out"]["honest"] + queries + _of_examples()
    return texts | {"honest": list(dict.fromkeys(honest))}


def _of_examples() -> list[str]:
    """Return the honest requests among the answers of the scripted model."""
    found = []
    for path in sorted(_EXAMPLES.rglob("*.yaml")):
        found += list(_requests(yaml.safe_load(path.read_text(encoding="utf-8"))))
    return [text for text in found if not any(says in text.lower() for says in _ATTACKS)]


def _requests(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key in ("text", "query", "title", "description") and isinstance(part, str):
                yield part
            else:
                yield from _requests(part)
    elif isinstance(value, list):
        for part in value:
            yield from _requests(part)


def _read(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return read


def _calibrate(meanings: Meanings) -> None:
    """Print, for each kind, the limits that find most attacks of the calibration texts."""
    texts = _calibrating()
    never: dict[Kind, Limits] = dict.fromkeys(KINDS, Limits(2.0, 0.0))
    for kind in KINDS:
        counts: list[tuple[int, int, Limits]] = []
        for similarity in np.arange(0.40, 0.60, 0.01):
            for lead in np.arange(0.0, 0.16, 0.01):
                limits = Limits(round(float(similarity), 2), round(float(lead), 2))
                asked = never | {kind: limits}
                honest = _of_kind(meanings, texts["honest"], kind, asked)
                counts.append((honest, _of_kind(meanings, texts[kind], kind, asked), limits))
        for most in _MOST_HONEST:
            within = [count for count in counts if count[0] <= most]
            honest, found, limits = max(within, key=lambda count: count[1])
            print(f"{kind}: {found} attacks and {honest} honest texts found with {limits}")
        print(f"{kind}: in use {LIMITS[kind]}")


def _of_kind(
    meanings: Meanings, texts: Sequence[str], kind: Kind, limits: Mapping[Kind, Limits]
) -> int:
    found = meanings.found(texts, limits)
    return sum(any(one.kind == kind for one in some) for some in found)


def _tell(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    for name, groups in figures.items():
        print(name)
        for group, counts in groups.items():
            print(f"  {group:24} {counts['found']:4} of {counts['texts']}")
        honest = groups["blind: honest"]["found"]
        for kind in ("injection", "harm"):
            right, texts = (groups[f"blind: {kind}"][key] for key in ("found", "texts"))
            precision = right / (right + honest) if right + honest else 0.0
            print(f"  {kind}: recall {right / texts:.2f}, precision {precision:.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--calibrate", action="store_true", help="derive the thresholds instead")
    asked = parser.parse_args()
    encoder = find_multilingual(Path(".nightshift"))
    meanings = None if encoder is None else Meanings(encoder)
    if asked.calibrate:
        if meanings is None:
            parser.error("no multilingual encoder is installed")
        _calibrate(meanings)
        return
    figures = measured(finders_of(meanings))
    if asked.json:
        print(json.dumps(figures))
    else:
        _tell(figures)


if __name__ == "__main__":
    main()
