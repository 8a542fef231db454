"""Starts a task's Python program inside its sandbox: `launch PROGRAMS ENTRY [ARGUMENT...]`.

Python ends with code 1 after any uncaught exception, and also if this module cannot be imported. So
the exit code says here what happened: `FAILED` after `sys.exit(1)` or a failed assertion, `MISSING`
for a file that is not among what the agent left, `NEEDS` if a package or a database that it needs
is not here, `BROKEN` for any other exception.
"""

import os
import runpy
import sys
import tempfile
import traceback
from pathlib import Path

from environments.scripts.needs import Needs

FAILED = 65
MISSING = 66
NEEDS = 67
BROKEN = 70

_LOG = "--res_log_file"

LEFT_BY_AGENT = ("deliverables", "workspace", "services", "answer.txt", "transcript.json")
"""Names below the input folder that depend on the trial."""


def main(arguments: list[str]) -> int:
    """Run the program and return the exit code, which is its own unless it has another meaning."""
    programs, entry = Path(arguments[0]), arguments[1]
    sys.argv = [str(programs / entry), *_with_own_log(arguments[2:])]
    needs = Needs(str(programs), _end_without_database)
    needs.watch()
    code = _run(programs, entry)
    # A program may do without a package, and then pass; a failure may be that it did not find it.
    if code == 0:
        return code
    if needs.packages:
        return _lacking(f"it needs the Python package {', '.join(map(repr, needs.packages))}")
    if needs.refusals:
        # Whether that is the agent's doing, a trial of the program without its work shows.
        sys.stderr.write(f"its database does not accept connections: {needs.refusals[0]}\n")
        return BROKEN
    return code


def _with_own_log(arguments: list[str]) -> list[str]:
    """Return the arguments with a copy of the log: programs write their findings over it."""
    if _LOG not in arguments[:-1]:
        return arguments
    at = arguments.index(_LOG) + 1
    copy = Path(tempfile.mkdtemp()) / Path(arguments[at]).name
    copy.write_bytes(Path(arguments[at]).read_bytes())
    return [*arguments[:at], str(copy), *arguments[at + 1 :]]


def _run(programs: Path, entry: str) -> int:
    path = programs / entry
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


def _lacking(what: str) -> int:
    # The last line is what the reader of a cut output still sees.
    sys.stdout.flush()
    sys.stderr.write(f"{what}\n")
    return NEEDS


def _end_without_database(library: str) -> None:
    code = _lacking(f"it needs a database (it imports {library}), and there is none for this task")
    sys.stderr.flush()
    # Not SystemExit, which a program may catch to go on and count a failed check.
    os._exit(code)


def _own_code(code: object) -> int:
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    if not isinstance(code, int):
        return 0 if code is None else FAILED
    if code == 1:
        return FAILED
    return BROKEN if code in (FAILED, MISSING, NEEDS) else code


def _depends_on_trial(missing: object, root: Path) -> bool:
    if not isinstance(missing, str | bytes):
        return False
    path = Path(os.path.abspath(os.fsdecode(missing)))
    if not path.is_relative_to(root):
        return False
    return path.relative_to(root).parts[:1] in [(name,) for name in LEFT_BY_AGENT]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
