"""The Python that a pool's server runs on: the sandbox's own, or another one of this host."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from environments.ports import Mount, Sandbox
from taskdata.errors import SandboxFailed, ToolUnavailable

_TOLD = "import os,sys;print('%d.%d.%d'%sys.version_info[:3]);" + (
    "print(os.path.realpath(getattr(sys,'_base_executable',None) or sys.executable));"
    "print(sys.base_prefix)"
)
_MINORS = range(10, 16)
_SECONDS = 20
_PARTS = ("bin", "lib", "lib64")

_asked: dict[tuple[str, ...], "Interpreter"] = {}


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter as programs in a sandbox find it."""

    version: str
    """The version with all three numbers, such as `3.11.9`."""
    path: str
    """Path inside the sandbox."""
    mounts: tuple[Mount, ...] = ()
    """Folders that the sandbox has to mount for it."""

    @property
    def key(self) -> str:
        """Return a name that is equal only for interpreters that can share libraries."""
        minor = ".".join(self.version.split(".")[:2])
        return f"python{minor}-{hashlib.sha256(self.path.encode()).hexdigest()[:8]}"


def fitting(requires: str, own: Interpreter) -> Interpreter:
    """Return `own` if it satisfies `requires`, else the host's lowest version that does.

    Raises:
        ToolUnavailable: no Python on this host satisfies it; says how to install one.
    """
    if _satisfies(own.version, requires):
        return own
    found = _of_host(requires)
    if found is None:
        raise ToolUnavailable(
            f"it needs Python {requires} and the sandbox has {own.version}: install a fitting "
            "version, such as with `uv python install`"
        )
    return found


@cache
def own_interpreter() -> Interpreter:
    """Return the Python that runs this code, which bubblewrap's sandboxes see."""
    told = _told([sys.executable])
    if told is None:
        raise ToolUnavailable(f"{sys.executable} does not start")
    # Bubblewrap's sandboxes see this Python without a mount.
    return Interpreter(told.version, told.path)


async def sandbox_interpreter(sandbox: Sandbox) -> Interpreter:
    """Return the sandbox's own Python, asked once per process; raises `SandboxFailed`."""
    python = tuple(sandbox.python())
    if python not in _asked:
        done = await sandbox.run([*python, "-I", "-S", "-c", _TOLD])
        lines = done.stdout.decode(errors="replace").split("\n")
        if done.exit_code != 0 or len(lines) < 2:
            raise SandboxFailed(f"the sandbox's Python {python[0]} does not start")
        _asked[python] = Interpreter(lines[0], lines[1])
    return _asked[python]


def _satisfies(version: str, requires: str) -> bool:
    try:
        return SpecifierSet(requires).contains(Version(version), prereleases=True)
    except InvalidSpecifier as exc:
        raise ToolUnavailable(f"it requires Python {requires!r}, which is no version") from exc


@cache
def _of_host(requires: str) -> Interpreter | None:
    for program in _candidates():
        told = _told([str(program)])
        if told is not None and _satisfies(told.version, requires):
            return told
    return None


def _candidates() -> Iterator[Path]:
    homes = (
        Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions",
        Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or Path.home() / ".local/share/uv/python"),
    )
    for minor in _MINORS:
        name = f"python3.{minor}"
        on_path = shutil.which(name)
        if on_path is not None:
            yield Path(on_path)
        for home in homes:
            yield from sorted(home.glob(f"*/bin/{name}"))


def _told(python: Sequence[str]) -> Interpreter | None:
    """Return a Python of this host with its version and folders, None if it does not start."""
    asked = [*python, "-I", "-S", "-c", _TOLD]
    try:
        done = subprocess.run(
            asked, check=False, capture_output=True, text=True, timeout=_SECONDS, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) < 3:
        return None
    prefix = Path(lines[2])
    shown = () if prefix.is_relative_to("/usr") else _PARTS
    places = (prefix / part for part in shown if (prefix / part).exists())
    return Interpreter(lines[0], lines[1], tuple(Mount(place, str(place)) for place in places))
