"""Random secrets of this installation, each in a file that only its owner can read."""

import os
import secrets
import tempfile
from pathlib import Path

_BYTES = 32


def login_file(home: Path) -> Path:
    """Return the file with `user:password`, as our own servers ask for it."""
    return home.resolve() / "login"


def login_of(home: Path) -> str:
    """Return what our own servers of a home ask for, `user:password`."""
    return kept_token(login_file(home), before="nightshift:")


def kept_token(file: Path, before: str = "") -> str:
    """Return the secret in that file; the first caller creates it, and all callers get the same.

    Args:
        file: In a folder that is there.
        before: What a new secret begins with.
    """
    try:
        return _read(file)
    except FileNotFoundError:
        _make(file, before + secrets.token_urlsafe(_BYTES))
    return _read(file)


def _make(file: Path, secret: str) -> None:
    # A link appears with its content, so no other process reads half a secret.
    descriptor, draft = tempfile.mkstemp(dir=file.parent)  # with mode 0600
    try:
        with os.fdopen(descriptor, "w") as written:
            written.write(secret + "\n")
        os.link(draft, file)
    except FileExistsError:
        pass  # another process was first, and its secret is the one
    finally:
        os.unlink(draft)


def _read(file: Path) -> str:
    text = file.read_text().strip()
    # It may have been copied here, or have been there before it was private.
    file.chmod(0o600)
    return text
