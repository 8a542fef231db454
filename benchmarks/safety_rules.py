"""Measures the rules against harm and prompt injection on labelled texts.

The texts are those of `tests/quality/safety/texts.yaml`, and the queries of the bundled banks as
honest ones. It prints how many of each kind were found; the rules were written with all attacks in
view but those of `held_out`.

`python benchmarks/safety_rules.py [--json]`
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from quality.injection import injection_signs
from quality.safety.harm import harms
from taskdata.banks.loader import bundled_banks, load_bank

_TEXTS = Path(__file__).parents[1] / "tests" / "quality" / "safety" / "texts.yaml"


def measured(labelled: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return, for each group of texts, how many there are and how many the rules found."""
    return {
        name: {"texts": len(texts), "found": _found(texts)} for name, texts in _groups(labelled)
    }


def _groups(labelled: dict[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    for kind, by_language in labelled["attacks"].items():
        yield f"attacks: {kind}", [text for texts in by_language.values() for text in texts]
    for kind, texts in labelled["reworded"].items():
        yield f"reworded: {kind}", texts
    for kind in ("injection", "harm"):
        yield f"held out: {kind}", labelled["held_out"][kind]
    yield "honest: near misses", labelled["honest"]
    yield "honest: held out", labelled["held_out"]["honest"]
    queries = [task.query for bank in bundled_banks() for task in load_bank(bank).tasks]
    yield "honest: bundled banks", queries


def _found(texts: Sequence[str]) -> int:
    return sum(bool(injection_signs(text) or harms(text)) for text in texts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    figures = measured(yaml.safe_load(_TEXTS.read_text(encoding="utf-8")))
    if parser.parse_args().json:
        print(json.dumps(figures))
        return
    for name, counts in figures.items():
        print(f"{name:28} {counts['found']:4} of {counts['texts']}")


if __name__ == "__main__":
    main()
