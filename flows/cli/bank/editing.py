"""A person's change to something in the store: from a file, or from an editor."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taskdata.errors import BadTaskData, Misuse

_MAX_BYTES = 1 << 20


def edited(file: Path | None, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a person has written: YAML or JSON, of which JSON is a part.

    Args:
        file: Where they are; None: an editor opens with `before`.
        before: The fields as they are.

    Raises:
        BadTaskData: if the file cannot be read, is too large, or holds no plain mapping.
        Misuse: if nothing was changed in the editor, or an editor has no terminal to open in.
    """
    text = _from_file(file) if file else _from_editor(before)
    return _fields(text, str(file or "the edited text"))


def _from_file(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise BadTaskData(f"{path}: larger than {_MAX_BYTES} bytes")
        return data.decode()
    except OSError as exc:
        raise BadTaskData(f"{path}: cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise BadTaskData(f"{path}: not UTF-8 at byte {exc.start}") from exc


def _from_editor(before: Mapping[str, Any]) -> str:
    import click
    import yaml

    if not sys.stdin.isatty():
        raise Misuse("an editor needs a terminal; give the fields with --file")
    shown = yaml.safe_dump(dict(before), sort_keys=False, allow_unicode=True)
    after = click.edit(shown, extension=".yaml")
    if after is None or after == shown:
        raise Misuse("nothing was changed")
    return after


def _fields(text: str, where: str) -> dict[str, Any]:
    from taskdata.plain_yaml import loaded

    fields = loaded(text, where)
    if not isinstance(fields, dict):
        raise BadTaskData(f"{where}: expected a mapping of fields")
    return fields
