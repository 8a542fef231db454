"""What the text of a task's programs says, found without running them."""

import ast
from collections.abc import Iterable

from environments.scripts.needs import DATABASE_LIBRARIES

_BEGINNINGS = ("check", "verify", "validate")


def uses_database(programs: Iterable[bytes]) -> bool:
    """Return whether any of the programs imports a library that reaches a database."""
    for node in (node for program in programs for node in _nodes(program)):
        match node:
            case ast.Import(names=names):
                imported = {alias.name for alias in names}
            case ast.ImportFrom(module=str(module), level=0):
                imported = {module}
            case _:
                continue
        if {name.partition(".")[0] for name in imported} & DATABASE_LIBRARIES:
            return True
    return False


def unused_checks(programs: Iterable[bytes]) -> tuple[str, ...]:
    """Return the names of functions that by their name check something and are named nowhere else.

    Args:
        programs: Python files that run together; what is no Python is left out.
    """
    defined, named = set[str](), set[str]()
    for program in programs:
        for node in _nodes(program):
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


def _nodes(program: bytes) -> Iterable[ast.AST]:
    try:
        return ast.walk(ast.parse(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
