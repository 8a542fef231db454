"""ZIP archives, Office documents among them: looked through without unpacking to disk.

What the directory at the end of an archive says is not believed: every entry is decompressed to
its end, within one budget for the archive and all archives inside it.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

MAX_DEPTH = 3
"""An archive of documents that embed workbooks."""

_MAX_NESTED_BYTES = 50 << 20
_CHUNK = 1 << 16
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_DIRECTORY_ENTRY = b"PK\x01\x02"
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_ENCRYPTED = 0x1


@dataclass(frozen=True)
class ArchiveLimits:
    """What an archive and all archives inside it may be together."""

    unpacked_bytes: int = 256 << 20
    entries: int = 5_000
    ratio: int = 100
    """Times its own size that an archive may unpack to; office documents stay below 30."""
    ratio_from_bytes: int = 10 << 20
    """Unpacked bytes below which the ratio does not matter."""


class _Refused(Exception):
    """Why an archive is not let through."""


@dataclass
class _Budget:
    """What the archive and all archives inside it may still unpack to."""

    limits: ArchiveLimits
    packed_bytes: int
    unpacked_bytes: int = 0
    entries: int = 0

    def spend(self, unpacked_bytes: int) -> None:
        self.unpacked_bytes += unpacked_bytes
        limits = self.limits
        if self.unpacked_bytes > limits.unpacked_bytes:
            raise _Refused(f"unpacks to more than {limits.unpacked_bytes >> 20} MiB")
        if self.unpacked_bytes > max(limits.ratio_from_bytes, limits.ratio * self.packed_bytes):
            raise _Refused(f"unpacks to more than {limits.ratio} times its size")


def archive_fault(data: bytes, limits: ArchiveLimits = ArchiveLimits()) -> str | None:
    """Return why this archive is not let through; None where it may, or is no ZIP archive."""
    if not is_archive(data):
        return None
    try:
        _inspect(data, _Budget(limits, packed_bytes=len(data)), depth=1)
    except _Refused as exc:
        return f"is a ZIP archive that {exc}"
    # What zipfile raises on a forged directory, beside its own error.
    except (zipfile.BadZipFile, zlib.error, struct.error, ValueError, OSError, RuntimeError) as exc:
        return f"is a broken ZIP archive: {str(exc)[:100]}"
    return None


def is_archive(data: bytes) -> bool:
    """Return whether the bytes are a ZIP archive, whatever the file is called."""
    return data.startswith(_MAGIC) or zipfile.is_zipfile(io.BytesIO(data))


def _inspect(data: bytes, budget: _Budget, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _Refused(f"holds archives more than {MAX_DEPTH} deep")
    # Counted before zipfile makes an object of each.
    budget.entries += data.count(_DIRECTORY_ENTRY)
    if budget.entries > budget.limits.entries:
        raise _Refused(f"holds more than {budget.limits.entries} entries")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    replace(budget).spend(sum(entry.file_size for entry in entries))
    for entry in entries:
        parts = entry.filename.replace("\\", "/").split("/")
        if ".." in parts or not parts[0]:
            raise _Refused("names an entry outside its folder")
        nested = _unpacked(data, entry, budget)
        if nested is not None:
            _inspect(nested, budget, depth + 1)


def _unpacked(data: bytes, entry: zipfile.ZipInfo, budget: _Budget) -> bytes | None:
    """Decompress an entry to its end; return its bytes only where it is an archive itself."""
    size = checksum = 0
    nested: list[bytes] | None = None
    for chunk in _chunks(data, entry):
        budget.spend(len(chunk))
        if size == 0 and chunk.startswith(_MAGIC):
            nested = []
        size += len(chunk)
        checksum = zlib.crc32(chunk, checksum)
        if nested is not None:
            if size > _MAX_NESTED_BYTES:
                raise _Refused(f"holds an archive larger than {_MAX_NESTED_BYTES >> 20} MiB")
            nested.append(chunk)
    if (size, checksum) != (entry.file_size, entry.CRC):
        raise _Refused("holds something else than its directory says")
    return None if nested is None else b"".join(nested)


def _chunks(data: bytes, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield what the entry holds: as many bytes as there are, whatever the directory says."""
    if entry.flag_bits & _ENCRYPTED:
        raise _Refused("is encrypted")
    header = _LOCAL_HEADER.unpack_from(data, entry.header_offset)
    signature, method, lengths = header[0], header[3], header[9:]
    begin = entry.header_offset + _LOCAL_HEADER.size + sum(lengths)
    packed = memoryview(data)[begin : begin + entry.compress_size]
    if signature != _MAGIC[0] or method != entry.compress_type:
        raise _Refused("holds something else than its directory says")
    if len(packed) < entry.compress_size:
        raise _Refused("ends before its entries do")
    if method == zipfile.ZIP_STORED:
        yield from (bytes(packed[i : i + _CHUNK]) for i in range(0, len(packed), _CHUNK))
    elif method == zipfile.ZIP_DEFLATED:
        yield from _inflated(packed)
    else:
        raise _Refused(f"uses compression method {method}, which is not looked into")


def _inflated(packed: memoryview) -> Iterator[bytes]:
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    for start in range(0, len(packed), _CHUNK):
        waiting: bytes | memoryview = packed[start : start + _CHUNK]
        while waiting:
            chunk = stream.decompress(waiting, _CHUNK * 16)
            waiting = stream.unconsumed_tail
            if chunk:
                yield chunk
            if stream.eof:
                if stream.unused_data or start + _CHUNK < len(packed):
                    raise _Refused("holds something else than its directory says")
                return
    yield stream.flush()
    if not stream.eof:
        raise _Refused("ends before its entries do")
