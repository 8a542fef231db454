"""Media types by content: what a file or a server says of itself may be wrong."""

from environments.ports import MediaType


def media_type_of(data: bytes) -> MediaType | None:
    """Return the media type of what models can be given; None of anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    if data.startswith(b"RIFF"):
        forms: dict[bytes, MediaType] = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
        return forms.get(data[8:12])
    if data.startswith(b"%PDF-"):
        return "application/pdf"
    # MP3: a tag, or a frame of layer III.
    is_mp3 = data.startswith(b"ID3") or (data[:1] == b"\xff" and data[1:2] in (b"\xfb", b"\xf3"))
    return "audio/mpeg" if is_mp3 else None
