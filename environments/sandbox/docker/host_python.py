"""This process's Python, made visible in containers whose image is not ours.

Tools run in a Python that can import this project and its libraries. An image that a task brings
has neither, and perhaps no Python at all, so the host's is mounted at a place of its own. The
programs of the task go on using what their image has.
"""

import sys
import sysconfig
from functools import cache
from pathlib import Path, PurePosixPath

from environments.ports import Mount
from environments.sandbox.mounts import PACKAGES, masked

_ROOT = PurePosixPath("/opt/python")
_LIBRARIES = _ROOT / "libraries"
_SHARED = _ROOT / "shared"
"""Holds the interpreter's shared library alone, so that no other program finds more there."""


@cache
def host_python_mounts() -> tuple[Mount, ...]:
    """Return the interpreter, its standard library and the installed packages as mounts."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    standard = Path(sysconfig.get_path("stdlib")).resolve()
    mounts = [
        Mount(_interpreter(), str(_ROOT / "bin" / version)),
        Mount(standard, str(_ROOT / "lib" / version)),
        Mount(Path(sysconfig.get_path("purelib")), str(_LIBRARIES)),
    ]
    if (shared := _shared_library()) is not None:
        mounts.append(Mount(shared, str(_SHARED / shared.name)))
    return tuple(mounts)


@cache
def hidden_below_host_python() -> tuple[str, ...]:
    """Return the places in a container at which these mounts would show answers."""
    return masked(host_python_mounts())


@cache
def host_python_argv() -> tuple[str, ...]:
    """Return the argv prefix that starts this Python in a container with its mounts."""
    interpreter = host_python_mounts()[0].target
    variables = [f"PYTHONPATH={PACKAGES}:{_LIBRARIES}"]
    if _shared_library() is not None:
        variables.append(f"LD_LIBRARY_PATH={_SHARED}")
    return ("/usr/bin/env", "-u", "PYTHONHOME", *variables, interpreter)


def _interpreter() -> Path:
    # The interpreter of a virtual environment is a link to that of the installation.
    return Path(sys.executable).resolve()


def _shared_library() -> Path | None:
    """Return the library that an interpreter which was built with one cannot start without."""
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        return None
    folder, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    library = Path(str(folder)) / str(name)
    return library if library.is_file() else None
