"""What the text of a task's programs says, found without running them."""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from environments.scripts.needs import DATABASE_LIBRARIES
from taskdata.schema.input_file import InputFile

_BEGINNINGS = ("check", "verify", "validate")

_FETCHING = re.compile(
    r"(?:^|[;&|(])\s*(?:(?:then|do|else|elif|if|while|until|sudo|!)\s+)*"
    r"(apt-get +(?:-\S+ +)*(?:install|update)|apt +(?:-\S+ +)*(?:install|update)|apk +add"
    r"|curl|wget|uvx|uv +(?:run|pip +install|tool +install|sync|add|venv)"
    r"|(?:python3? +-m +)?pip3? +install|npm +(?:ci|i|install)|npx|git +clone)\b",
    re.MULTILINE,
)

Programs = Mapping[str, bytes]
"""Python files that run together, by path."""


Read = Callable[[str], bytes]
"""Returns the content of a file by its sha256."""


def programs_of(files: Iterable[InputFile], read: Read) -> Programs:
    """Return the Python files among the files of a task; blocks."""
    return {f.path: read(f.sha256) for f in files if f.path.endswith(".py")}


def imported_packages(programs: Programs) -> frozenset[str]:
    """Return the packages that the programs import, without Python's own and their neighbours."""
    own = {part for path in programs for part in PurePosixPath(path).with_suffix("").parts}
    return frozenset(_imported(programs) - own - sys.stdlib_module_names)


def uses_database(programs: Programs) -> bool:
    """Return whether any of the programs imports a library that reaches a database."""
    return bool(_imported(programs) & DATABASE_LIBRARIES)


def unused_checks(programs: Programs) -> tuple[str, ...]:
    """Return the names of functions that by their name check something and are named nowhere else.

    What is no Python is left out.
    """
    defined, named = set[str](), set[str]()
    for node in _nodes(programs):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                defined.add(name)
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                named.add(name)
            case ast.Constant(value=str(text)):
                # Such as a table of checks that are looked up by name.
                named.add(text)
    checks = (name for name in defined - named if name.lstrip("_").startswith(_BEGINNINGS))
    return tuple(sorted(checks))


def fetched_by(scripts: Iterable[bytes]) -> tuple[str, ...]:
    """Return the commands in shell programs that download something, sorted."""
    found = set[str]()
    for script in scripts:
        lines = script.decode("utf-8", "replace").splitlines()
        code = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
        found |= {" ".join(match[1].split()) for match in _FETCHING.finditer(code)}
    return tuple(sorted(found))


def _imported(programs: Programs) -> set[str]:
    found = set[str]()
    for node in _nodes(programs):
        match node:
            case ast.Import(names=names):
                found |= {alias.name.partition(".")[0] for alias in names}
            case ast.ImportFrom(module=str(module), level=0):
                found.add(module.partition(".")[0])
    return found


def _nodes(programs: Programs) -> Iterator[ast.AST]:
    for program in programs.values():
        try:
            tree = ast.parse(program)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        yield from ast.walk(tree)
