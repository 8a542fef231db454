"""Actions written as code, such as `read_file(path="input/a.csv")`: parsed, never executed."""

import ast
import json
import re
from typing import Any

from environments.models.wire.arguments import is_storable
from stages.execute.harnesses.steps import Act, Unreadable

_MAX_CHARS = 20_000
_CALL = re.compile(r"(?P<name>[A-Za-z_][\w.:-]{0,100})\s*\((?P<inside>.*)\)\s*;?", re.DOTALL)


def code_call(text: str) -> Act | Unreadable | None:
    """Return the call in `text`, or why it is unreadable; None if `text` is not code."""
    if len(text) > _MAX_CHARS or (match := _CALL.fullmatch(text)) is None:
        return None
    name, inside = match["name"], match["inside"].strip()
    call = _parsed(inside)
    if call is None:
        return Unreadable(
            f"The Action {name}(...) could not be read. Write the name alone after Action:, and "
            "the arguments as a JSON object after Action Input:."
        )
    if call.args and not (len(call.args) == 1 and isinstance(call.args[0], ast.Dict)):
        return Unreadable(
            f"The Action {name}(...) does not name its arguments. Write the name alone after "
            "Action:, and the arguments as a JSON object after Action Input:."
        )
    return Act(name, inside or "{}", _arguments(call))


def _parsed(inside: str) -> ast.Call | None:
    try:
        expression = ast.parse(f"f({inside}\n)", mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    # `a) + g(b` parses too, but is not a call of one tool.
    return expression if isinstance(expression, ast.Call) and _is_plain(expression) else None


def _is_plain(call: ast.Call) -> bool:
    named = all(keyword.arg is not None for keyword in call.keywords)
    return isinstance(call.func, ast.Name) and named and not (call.args and call.keywords)


def _arguments(call: ast.Call) -> dict[str, Any] | None:
    try:
        if call.args:
            value = ast.literal_eval(call.args[0])
        else:
            value = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
        arguments = json.loads(json.dumps(value))
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) and is_storable(arguments) else None
