"""Mounts this process's Python into containers with a task's own image.

Tools need a Python that can import this project and its libraries. A task's image has neither, and
perhaps no Python at all, so the host's Python is mounted at a path of its own. The task's programs
still use what their image has.
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
"""Folder with the interpreter's shared library only, so that other programs find nothing else."""


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
    """Return the paths in a container at which these mounts would show answers of tasks."""
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
    # The interpreter of a virtual environment is a link to the installed interpreter.
    return Path(sys.executable).resolve()


def _shared_library() -> Path | None:
    """Return the interpreter's shared library, None if the interpreter was built without one."""
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        return None
    folder, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    library = Path(str(folder)) / str(name)
    return library if library.is_file() else None
