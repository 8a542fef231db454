"""Putting a canary into files whose format has a place for it that no reader shows."""

import io
import logging
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import PurePosixPath
from xml.sax.saxutils import escape

_logger = logging.getLogger(__name__)

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"\0\0\0\0IEND\xaeB`\x82"
_PNG_HEADER = len(_PNG) + 25
"""Bytes before the second chunk."""
_JPEG = b"\xff\xd8"
_KEY = "canary"
_FLAC_APPLICATION = 2
"""Kind of a FLAC block that belongs to one program."""
_ID3_SHIFTS = (21, 14, 7, 0)
"""An ID3 tag writes its size with seven bits a byte."""
_BOX_HEADER = 8

_CUSTOM = "docProps/custom.xml"
_TYPES = "[Content_Types].xml"
_RELATIONS = "_rels/.rels"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_PROPERTIES = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    f'<Properties xmlns="{_OFFICE}/custom-properties" xmlns:vt="{_OFFICE}/docPropsVTypes">'
    '<property fmtid="{{D5CDD505-2E9C-101B-9397-08002B2CF9AE}}" pid="2" name="canary">'
    "<vt:lpwstr>{canary}</vt:lpwstr></property></Properties>"
)
_OVERRIDE = (
    f'<Override PartName="/{_CUSTOM}" '
    'ContentType="application/vnd.openxmlformats-officedocument.custom-properties+xml"/>'
)
_RELATION = (
    f'<Relationship Id="rIdCanary" Type="{_OFFICE}/relationships/custom-properties" '
    f'Target="{_CUSTOM}"/>'
)


def stamped(name: str, content: bytes, canary: str) -> bytes:
    """Return the file with the canary in its metadata.

    Office documents get a custom property, PDF files an entry of their information, PNG and JPEG
    images and WAV recordings a comment, FLAC, MP3 and MP4 files a block that players skip, HTML and
    SVG a comment at the end. Any other file, and one that is not what its name says, is returned as
    it is: a canary among data would change them.
    """
    stamp = _STAMPS.get(PurePosixPath(name).suffix.lower())
    if stamp is None:
        return content
    try:
        return stamp(content, canary)
    except _Unfit:
        return content
    except Exception:
        # Libraries raise what they like on a malformed file, which may be what the task is about.
        _logger.debug("no canary in %s", name, exc_info=True)
        return content


class _Unfit(Exception):
    """The file has no place for a canary."""


def _office(content: bytes, canary: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w") as target:
        names = set(source.namelist())
        if _CUSTOM in names or not {_TYPES, _RELATIONS} <= names:
            raise _Unfit
        for entry in source.infolist():
            part = source.read(entry)
            if entry.filename == _TYPES:
                part = _inserted(part, b"</Types>", _OVERRIDE)
            elif entry.filename == _RELATIONS:
                part = _inserted(part, b"</Relationships>", _RELATION)
            target.writestr(entry, part)
        made = zipfile.ZipInfo(_CUSTOM)
        target.writestr(made, _PROPERTIES.format(canary=escape(canary)))
    return out.getvalue()


def _inserted(part: bytes, before: bytes, text: str) -> bytes:
    head, found, tail = part.rpartition(before)
    if not found:
        raise _Unfit
    return head + text.encode() + found + tail


def _pdf(content: bytes, canary: str) -> bytes:
    from pypdf import PdfWriter

    # An incremental update leaves every byte of the document where it is.
    writer = PdfWriter(io.BytesIO(content), incremental=True)
    writer.add_metadata({"/Canary": canary})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue() + f"% {canary}\n".encode()


def _png(content: bytes, canary: str) -> bytes:
    if not content.startswith(_PNG) or not content.endswith(_PNG_END):
        raise _Unfit
    body = b"tEXt" + f"{_KEY}\0{canary}".encode("latin-1")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return content[:_PNG_HEADER] + chunk + content[_PNG_HEADER:]


def _jpeg(content: bytes, canary: str) -> bytes:
    if not content.startswith(_JPEG):
        raise _Unfit
    # The segment that names the format, if there is one, has to be the first.
    place = len(_JPEG)
    if content[place : place + 2] == b"\xff\xe0":
        place += 2 + struct.unpack(">H", content[place + 2 : place + 4])[0]
    comment = canary.encode()
    segment = b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment
    return content[:place] + segment + content[place:]


def _wav(content: bytes, canary: str) -> bytes:
    (size,) = struct.unpack("<I", content[4:8])
    if not content.startswith(b"RIFF") or content[8:12] != b"WAVE" or size + 8 != len(content):
        raise _Unfit
    text = canary.encode() + b"\0"
    text += b"\0" * (len(text) % 2)
    body = b"INFO" + b"ICMT" + struct.pack("<I", len(text)) + text
    chunk = b"LIST" + struct.pack("<I", len(body)) + body
    padding = b"\0" * (len(content) % 2)
    whole = content[8:] + padding + chunk
    return b"RIFF" + struct.pack("<I", len(whole)) + whole


def _flac(content: bytes, canary: str) -> bytes:
    # The first block describes the stream; its highest bit says whether it is the only one.
    kind, size = content[4], int.from_bytes(content[5:8])
    if not content.startswith(b"fLaC") or kind & 0x7F:
        raise _Unfit
    body = b"cnry" + canary.encode()
    block = bytes([kind & 0x80 | _FLAC_APPLICATION]) + len(body).to_bytes(3) + body
    end = 8 + size
    return content[:4] + b"\0" + content[5:end] + block + content[end:]


def _mp3(content: bytes, canary: str) -> bytes:
    text = f"\0{_KEY}\0{canary}".encode("latin-1")
    # A size below 128 is written alike in all versions of ID3 since 2.3.
    frame = b"TXXX" + struct.pack(">I", len(text)) + b"\0\0" + text
    if content.startswith(b"ID3"):
        version, flags = content[3], content[5]
        if version not in (3, 4) or flags or len(text) > 0x7F:
            raise _Unfit
        size = sum(part << shift for part, shift in zip(content[6:10], _ID3_SHIFTS, strict=True))
        return content[:6] + _id3_size(size + len(frame)) + frame + content[10:]
    if content[:1] != b"\xff" or content[1] & 0xE0 != 0xE0:
        raise _Unfit
    return b"ID3\3\0\0" + _id3_size(len(frame)) + frame + content


def _id3_size(size: int) -> bytes:
    return bytes(size >> shift & 0x7F for shift in _ID3_SHIFTS)


def _mp4(content: bytes, canary: str) -> bytes:
    if content[4:8] != b"ftyp":
        raise _Unfit
    place = 0
    while place < len(content):
        (size,) = struct.unpack(">I", content[place : place + 4])
        if size < _BOX_HEADER:
            raise _Unfit
        place += size
    if place != len(content):
        raise _Unfit
    text = canary.encode()
    return content + struct.pack(">I", _BOX_HEADER + len(text)) + b"free" + text


def _markup(content: bytes, canary: str) -> bytes:
    if not re.search(rb"</(?:html|svg)>\s*$", content, re.IGNORECASE):
        raise _Unfit
    return content + f"<!-- {canary} -->\n".encode()


_STAMPS: dict[str, Callable[[bytes, str], bytes]] = {
    ".docx": _office,
    ".xlsx": _office,
    ".pptx": _office,
    ".pdf": _pdf,
    ".png": _png,
    ".jpg": _jpeg,
    ".jpeg": _jpeg,
    ".wav": _wav,
    ".flac": _flac,
    ".mp3": _mp3,
    ".mp4": _mp4,
    ".html": _markup,
    ".htm": _markup,
    ".svg": _markup,
}
