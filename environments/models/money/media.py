"""The most tokens that pictures and documents come to, whatever a provider makes of them.

Their bytes do not bound them: a blank picture may be large, and a short file may have many pages.
"""

import re
import zlib
from collections.abc import Iterator

PICTURE_TOKENS = 50_000
"""More than any provider's published rate comes to for one picture."""
_PAGE_TOKENS = 10_000
"""Of one page as its provider shows it to the model: a picture, at most 4,784 tokens for models of
Anthropic's and less for OpenAI's since GPT-5, and its text, by Anthropic up to 3,000."""
_PAGES_IF_HIDDEN = 100
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PACKED = re.compile(rb"/Type\s*/ObjStm(?![A-Za-z])")
_STREAM = re.compile(rb"stream\r?\n")
_HEADER_BYTES = 2_000
"""What comes between an object stream's type and its content, at most."""
_MOST_PACKED, _MOST_UNPACKED = 1024 * 1024, 4 * 1024 * 1024
"""Bytes of one object stream; there are some 100 objects in each."""
_UNPACKED_TOGETHER = 64 * 1024 * 1024


def page_tokens(document: bytes) -> int:
    """Return the most tokens that a PDF's pages come to, beside those for its bytes.

    A file that shows no pages, as an encrypted one does not, is taken for a long one.
    """
    pages = len(_PAGE.findall(document))
    pages += sum(len(_PAGE.findall(objects)) for objects in _unpacked(document))
    return (pages or _PAGES_IF_HIDDEN) * _PAGE_TOKENS


def _unpacked(document: bytes) -> Iterator[bytes]:
    """Yield the contents of the object streams, where PDF 1.5 and later may keep their pages."""
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
