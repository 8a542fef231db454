"""A YAML document with a list of mappings, read as a whole if it is plain and small."""

from collections.abc import Iterator
from typing import BinaryIO

import yaml

from stages.intake.readers.raw import Fault, RawRow, first_words, not_utf8, short_name
from taskdata.errors import BadTaskData
from taskdata.plain_yaml import composed

MAX_YAML_BYTES = 5 << 20
_MAX_DEPTH = 20
_STANDARD = "tag:yaml.org,2002:"
_SCALARS = frozenset(_STANDARD + n for n in ("str", "int", "float", "bool", "timestamp", "null"))
_CONTAINERS = frozenset(_STANDARD + n for n in ("map", "seq"))


class _Unplain(Exception):
    """A row uses YAML beyond lists, mappings with text keys, and scalars."""


def read_yaml(stream: BinaryIO, origin: str) -> Iterator[RawRow]:
    """Yield every item of the list, counted from 1; scalars are taken as written.

    Anchors and aliases are refused: a few of them can expand to billions of values.

    Raises:
        BadTaskData: if the document cannot be parsed, is too large or is not a list.
    """
    data = stream.read(MAX_YAML_BYTES + 1)
    if len(data) > MAX_YAML_BYTES:
        raise BadTaskData(
            f"{origin}: larger than {MAX_YAML_BYTES >> 20} MiB; write JSONL, one object per line"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise not_utf8(origin, "the document", exc.start + 1) from exc
    root = composed(text, origin, _MAX_DEPTH)
    if root is None:
        return
    if not isinstance(root, yaml.SequenceNode):
        raise BadTaskData(f"{origin}: expected a list of mappings, got a {_kind(root)}")
    for number, node in enumerate(root.value, 1):
        excerpt = first_words(text[node.start_mark.index : node.end_mark.index].strip())
        yield _row(number, node, excerpt)


def _row(number: int, node: yaml.Node, excerpt: str) -> RawRow:
    if not isinstance(node, yaml.MappingNode):
        fault = Fault(None, f"expected a mapping of fields, got a {_kind(node)}")
        return RawRow(number, excerpt, fault=fault)
    fields: dict[str, object] = {}
    for key, value in node.value:
        name = short_name(key.value) if isinstance(key, yaml.ScalarNode) else "?"
        if name in fields:
            return RawRow(number, excerpt, fault=Fault(name, "is given more than once"))
        try:
            _plain(key)
            fields[name] = _plain(value)
        except _Unplain as exc:
            return RawRow(number, excerpt, fault=Fault(name, str(exc)))
    return RawRow(number, excerpt, fields=fields)


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return "single value"
    return "mapping" if isinstance(node, yaml.MappingNode) else "list"


def _plain(node: yaml.Node) -> object:
    if node.tag not in (_SCALARS if isinstance(node, yaml.ScalarNode) else _CONTAINERS):
        raise _Unplain(f"the tag {short_name(node.tag)!r} is not allowed here")
    if isinstance(node, yaml.ScalarNode):
        return None if node.tag == f"{_STANDARD}null" else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    return {str(_plain(key)): _plain(value) for key, value in node.value}
