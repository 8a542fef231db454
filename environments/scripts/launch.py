"""Starts a task's Python program inside its sandbox: `launch PROGRAMS ENTRY [ARGUMENT...]`.

Python ends with code 1 after any uncaught exception, and also if this module cannot be imported. So
the exit code says here what happened: `FAILED` after `sys.exit(1)` or a failed assertion, `MISSING`
for a file that is not among what the agent left, `BROKEN` for any other exception.
"""

import os
import runpy
import sys
import traceback
from pathlib import Path

FAILED = 65
MISSING = 66
BROKEN = 70

LEFT_BY_AGENT = ("deliverables", "workspace", "services", "answer.txt", "transcript.json")
"""Names below the input folder that depend on the trial."""


def main(arguments: list[str]) -> int:
    """Run the program and return the exit code, which is its own unless it has another meaning."""
    programs, entry = Path(arguments[0]), arguments[1]
    path = programs / entry
    sys.argv = [str(path), *arguments[2:]]
    # Programs import their neighbours by name, or as parts of the folder that holds them all.
    sys.path[:0] = [str(path.parent), str(programs)]
    module = ".".join(Path(entry).with_suffix("").parts)
    try:
        if all(part.isidentifier() for part in module.split(".")):
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as ended:
        return _own_code(ended.code)
    except AssertionError:
        traceback.print_exc()
        return FAILED
    except FileNotFoundError as error:
        traceback.print_exc()
        return MISSING if _depends_on_trial(error.filename, programs.parent) else BROKEN
    except Exception:  # noqa: BLE001 - every way to fail is told apart from a verdict
        traceback.print_exc()
        return BROKEN
    return 0


def _own_code(code: object) -> int:
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    if not isinstance(code, int):
        return 0 if code is None else FAILED
    if code == 1:
        return FAILED
    return BROKEN if code in (FAILED, MISSING) else code


def _depends_on_trial(missing: object, root: Path) -> bool:
    if not isinstance(missing, str | bytes):
        return False
    path = Path(os.path.abspath(os.fsdecode(missing)))
    if not path.is_relative_to(root):
        return False
    return path.relative_to(root).parts[:1] in [(name,) for name in LEFT_BY_AGENT]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
