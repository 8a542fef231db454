"""What a sandboxed program may see of the host, read-only, and what it must never see."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import environments
import taskdata
from environments.ports import Mount

PACKAGES = "/opt/nightshift"
"""Where `environments` and the visible part of `taskdata` are inside the sandbox."""

# CPU settings that numpy's OpenBLAS needs on some virtual machines; they hold no secrets.
_PASSED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def package_mounts() -> tuple[Mount, ...]:
    """Return the mounts of our own code: never the banks, stages or quality rooms."""
    environments_room = Path(environments.__file__).parent
    facts = Path(taskdata.__file__).parent
    return (
        Mount(environments_room, f"{PACKAGES}/environments"),
        *(
            Mount(facts / name, f"{PACKAGES}/taskdata/{name}")
            for name in ("__init__.py", "errors.py", "schema")
        ),
    )


def python_mounts() -> tuple[Mount, ...]:
    """Return the running Python and its libraries, at the same paths as outside.

    Only `bin`, `lib` and similar folders of each prefix are mounted: a prefix may be a user's home
    folder. Prefixes below /usr are left out, because /usr is mounted anyway.
    """
    prefixes = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.base_prefix).resolve()}
    prefixes |= {hop.parent.parent for hop in _links(Path(sys.executable))}
    return tuple(
        Mount(prefix / part, str(prefix / part))
        for prefix in sorted(prefixes)
        if not prefix.is_relative_to("/usr")
        for part in ("bin", "lib", "lib64", "pyvenv.cfg")
        if (prefix / part).exists()
    )


def _links(path: Path) -> Iterable[Path]:
    """Yield `path` and, while it is a symbolic link, what it points to."""
    yield path
    while path.is_symlink():
        path = Path(os.path.normpath(path.parent / path.readlink()))
        yield path


def hidden_folders() -> tuple[Path, ...]:
    """Return the folders with answers in them: the bundled banks and the state home."""
    home = Path(os.environ.get("NIGHTSHIFT_HOME") or ".nightshift")
    return (Path(taskdata.__file__).parent / "banks", home)


def masked(mounts: Iterable[Mount]) -> tuple[str, ...]:
    """Return the paths inside at which `mounts` would show a hidden folder."""
    paths = set()
    for hidden in (folder.resolve() for folder in hidden_folders()):
        if not hidden.is_dir():
            continue
        for mount in mounts:
            source = mount.source.resolve()
            if hidden.is_relative_to(source):
                inner = hidden.relative_to(source)
                paths.add(str(Path(mount.target) / inner))
    return tuple(sorted(paths))


def environment(
    path: str, *python_path: str, more: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return the whole environment of a sandboxed program.

    Args:
        path: The value of PATH inside.
        python_path: Folders with importable packages besides our own.
        more: Further variables, none of which replaces another.
    """
    return {
        **more,
        "PATH": path,
        "HOME": "/tmp",  # noqa: S108 - the sandbox's own
        "LANG": "C.UTF-8",
        "PYTHONPATH": ":".join((PACKAGES, *python_path)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLCONFIGDIR": "/tmp/matplotlib",  # noqa: S108
        # One thread: more threads would only be throttled, and each reserves address space.
        "OPENBLAS_NUM_THREADS": "1",
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    }
