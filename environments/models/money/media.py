"""Upper bounds for the tokens of pictures and documents, whatever the provider does with them.

Their size in bytes is no bound: a blank picture may be large, and a short file may have many pages.
"""

import re
import zlib
from collections.abc import Iterator

from taskdata.schema.agent import ModelSpec

PICTURE_TOKENS = 50_000
"""More than one picture has by any provider's published rate."""
_PREPARED_TOKENS = 6_000
"""Most that a picture of ours counts, which was scaled to what models read, at the published rates
of current models."""
_PREPARED_TOKENS_OF_MINI = 40_000
"""The same for gpt-4o-mini, which counts more tokens for a picture and charges less for each."""
_PAGE_TOKENS = 10_000
"""Per page, as a picture and as text: at most 4,784 tokens for the picture at Anthropic (fewer at
OpenAI since GPT-5), and up to 3,000 for the text."""
_PAGES_IF_HIDDEN = 100
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PACKED = re.compile(rb"/Type\s*/ObjStm(?![A-Za-z])")
_STREAM = re.compile(rb"stream\r?\n")
_HEADER_BYTES = 2_000
"""Most bytes between an object stream's type and its content."""
_MOST_PACKED, _MOST_UNPACKED = 1024 * 1024, 4 * 1024 * 1024
"""Bytes of one object stream, which holds about 100 objects."""
_UNPACKED_TOGETHER = 64 * 1024 * 1024


def picture_tokens(spec: ModelSpec) -> int:
    """Return the most tokens of a picture that was scaled for models, such as a drawn page."""
    is_mini = spec.model.startswith("gpt-4o-mini")
    return _PREPARED_TOKENS_OF_MINI if is_mini else _PREPARED_TOKENS


def page_tokens(document: bytes) -> int:
    """Return the most tokens of a PDF's pages, in addition to those counted by bytes.

    A file without recognisable pages, such as an encrypted one, is taken for a long one.
    """
    pages = len(_PAGE.findall(document))
    pages += sum(len(_PAGE.findall(objects)) for objects in _unpacked(document))
    return (pages or _PAGES_IF_HIDDEN) * _PAGE_TOKENS


def _unpacked(document: bytes) -> Iterator[bytes]:
    """Yield the contents of the object streams, in which PDF 1.5 and later may keep pages."""
    room = _UNPACKED_TOGETHER
    for packed in _PACKED.finditer(document):
        begins = _STREAM.search(document, packed.end(), packed.end() + _HEADER_BYTES)
        if begins is None or room <= 0:
            continue
        content = document[begins.end() : begins.end() + _MOST_PACKED]
        try:
            objects = zlib.decompressobj().decompress(content, _MOST_UNPACKED)
        except zlib.error:
            continue
        room -= len(objects)
        yield objects
