"""YAML that somebody else wrote: read only where it takes no more than its size suggests.

A kilobyte of anchors and aliases unfolds into gigabytes, and one number of a megabyte keeps a
processor busy for minutes. Both are refused before anything is made of the text.
"""

import re
from typing import Any

import yaml

from taskdata.errors import BadTaskData

MAX_DEPTH = 64
_MAX_NUMBER = 100
# Digits, signs and separators, as in 1_000, 0x1F, 1:30:00 and 1.5e9.
_NUMBER = re.compile(r"[-+]?[0-9.][0-9a-fA-FxXoO_:.,eE+\-]*")


def composed(text: str, origin: str, max_depth: int = MAX_DEPTH) -> yaml.Node | None:
    """Return the node of a plain YAML text; None if it is empty.

    Raises:
        BadTaskData: if it is not YAML or not plain; names the line.
    """
    try:
        _refuse_unplain(text, origin, max_depth)
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as exc:
        raise _not_yaml(origin, exc) from exc
    return node


def loaded(text: str, origin: str, max_depth: int = MAX_DEPTH) -> Any:
    """Return the value of a plain YAML text; None if it is empty.

    Args:
        text: One YAML document.
        origin: Names it in messages: the file.
        max_depth: How deep lists and mappings may nest.

    Raises:
        BadTaskData: if it is not YAML or not plain (anchors, aliases, deep nesting, endless
            numbers); names the line.
    """
    try:
        _refuse_unplain(text, origin, max_depth)
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as exc:
        raise _not_yaml(origin, exc) from exc
    except ValueError as exc:
        # A date that no calendar has, a number that is none.
        raise BadTaskData(f"{origin}: not YAML: {exc}") from exc


def _refuse_unplain(text: str, origin: str, max_depth: int) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            what = "an anchor or alias"
        elif isinstance(event, yaml.CollectionStartEvent) and depth == max_depth:
            what = f"nesting deeper than {max_depth}"
        elif isinstance(event, yaml.ScalarEvent) and _is_endless(event.value):
            what = f"a number of more than {_MAX_NUMBER} characters"
        else:
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            continue
        line = event.start_mark.line + 1 if event.start_mark else "?"
        raise BadTaskData(f"{origin}: line {line}: {what} is not allowed here")


def _is_endless(scalar: str) -> bool:
    return len(scalar) > _MAX_NUMBER and _NUMBER.fullmatch(scalar) is not None


def _not_yaml(origin: str, error: yaml.YAMLError) -> BadTaskData:
    if isinstance(error, yaml.MarkedYAMLError):
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        return BadTaskData(f"{origin}: line {line}: not YAML: {error.problem}")
    return BadTaskData(f"{origin}: not YAML: {' '.join(str(error).split())[:200]}")
