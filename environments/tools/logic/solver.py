"""Solver: exact solutions of equations, with SymPy."""

import re
from pathlib import Path
from typing import Any

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.logic.expressions import MAX_INTEGER_BITS, Walker, parse_expression
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_NAME = re.compile(r"[A-Za-z_]\w*")
_FUNCTIONS = (
    *("sqrt", "cbrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"),
    *("tanh", "Abs", "factorial", "Min", "Max"),
)
_ALIASES = {"abs": "Abs", "ln": "log", "min": "Min", "max": "Max"}
_CONSTANTS = {"pi": "pi", "e": "E"}
_MAX_EXPONENT = 1_000

# 2x, 2(x + 1) and (x + 1)(x - 1) as people write them; 1e5 and log2(x) are left alone.
_NUMBER_THEN_NAME = re.compile(r"(?<![\w.])(\d+\.?\d*|\.\d+)\s*(?![eE][+-]?\d)(?=[A-Za-z_(])")
_BRACKETS = re.compile(r"\)\s*\(")


class SolverArguments(Arguments):
    """Arguments of Solver."""

    equations: list[str] = Field(
        description='Such as ["2*x + y = 7", "x - y = -1"]; without "=" an expression is set to 0.',
        min_length=1,
        max_length=50,
    )
    unknowns: list[str] = Field(
        description=(
            'Names to solve for, such as ["x", "y"]; other names are parameters, '
            "but pi and e are the constants."
        ),
        min_length=1,
        max_length=50,
    )


def solve(args: SolverArguments, workspace: Path) -> ToolResult:
    """Return every solution found, exact and in decimals."""
    import sympy

    for name in args.unknowns:
        if not _NAME.fullmatch(name):
            raise ToolRefused(f"{name!r} cannot be an unknown: use names such as x or price.")
    unknowns = [sympy.Symbol(name) for name in args.unknowns]
    walker = _walker(set(args.unknowns))
    zeros = [_zero_form(equation, walker) for equation in args.equations]
    if all(zero.equals(0) for zero in zeros):
        return ToolResult(text="The equations hold for all values of the unknowns.")
    solutions = _solutions(zeros, unknowns)
    if not solutions:
        return ToolResult(text="No solution was found.")
    lines = [_solution_text(solution, unknowns) for solution in solutions]
    if len(lines) == 1:
        return ToolResult(text=lines[0])
    return ToolResult(
        text=f"{len(lines)} solutions:\n" + "\n".join(f"{i}. {s}" for i, s in enumerate(lines, 1))
    )


def _zero_form(equation: str, walker: Walker) -> Any:
    """Return the equation as an expression that must be zero."""
    sides = re.split(r"==?", equation)
    if len(sides) > 2 or re.search(r"[<>!]", equation):
        raise ToolRefused(f"{equation!r} is not an equation with one '=' in it.")
    values = []
    for side in sides:
        spelled = _NUMBER_THEN_NAME.sub(r"\1*", side.replace("^", "**"))
        try:
            values.append(walker.value(parse_expression(_BRACKETS.sub(")*(", spelled))))
        except RecursionError as exc:
            raise ToolRefused(f"{equation[:80]!r} is nested too deeply.") from exc
        except (TypeError, ValueError) as exc:
            raise ToolRefused(f"{equation[:80]!r} cannot be read: {exc}") from exc
    return values[0] - values[1] if len(values) == 2 else values[0]


def _walker(unknowns: set[str]) -> Walker:
    import sympy

    functions = {name: getattr(sympy, name) for name in _FUNCTIONS}
    functions.update({alias: functions[name] for alias, name in _ALIASES.items()})

    def name_value(name: str) -> Any:
        if name in _CONSTANTS and name not in unknowns:
            return getattr(sympy, _CONSTANTS[name])
        return sympy.Symbol(name)

    def number(value: int | float) -> Any:
        # Decimals are exact: 0.1 is a tenth.
        return sympy.Rational(repr(value)) if isinstance(value, float) else sympy.Integer(value)

    def power(base: Any, exponent: Any) -> Any:
        if exponent.is_number and abs(exponent) > _MAX_EXPONENT:
            raise ToolRefused(f"Exponents may not be larger than {_MAX_EXPONENT}.")
        return base**exponent

    def check(value: Any) -> Any:
        if value.has(sympy.zoo, sympy.nan):
            raise ToolRefused("Division by zero.")
        if value.is_Integer and int(value).bit_length() > MAX_INTEGER_BITS:
            raise ToolRefused("A number in the equations is too large.")
        return value

    return Walker(functions, name_value, number, power, check, allow_comparisons=False)


def _solutions(zeros: list[Any], unknowns: list[Any]) -> list[dict[Any, Any]]:
    import sympy

    # SymPy finds roots of a single polynomial that it misses in a system of one.
    asked = zeros[0] if len(zeros) == 1 else zeros
    try:
        exact: list[dict[Any, Any]] = sympy.solve(asked, unknowns, dict=True)
    except NotImplementedError:
        exact = []
    except RecursionError as exc:
        raise ToolRefused("The equations are nested too deeply.") from exc
    return exact or _numeric_solutions(zeros, unknowns)


def _numeric_solutions(zeros: list[Any], unknowns: list[Any]) -> list[dict[Any, Any]]:
    """Return solutions near a few starting points, for equations without a closed form."""
    import sympy

    free = set().union(*(zero.free_symbols for zero in zeros))
    if len(zeros) != len(unknowns) or free != set(unknowns):
        return []
    found: list[dict[Any, Any]] = []
    for start in (1, 0.1, 10, -1, -10, 100):
        try:
            values = list(sympy.Matrix([sympy.nsolve(zeros, unknowns, [start] * len(unknowns))]))
        except (ValueError, TypeError, ZeroDivisionError):
            continue
        if not any(_close(values, list(other.values())) for other in found):
            found.append(dict(zip(unknowns, values, strict=True)))
    return found


def _close(left: list[Any], right: list[Any]) -> bool:
    return all(abs(a - b) <= 1e-9 * (1 + abs(a)) for a, b in zip(left, right, strict=True))


def _solution_text(solution: dict[Any, Any], unknowns: list[Any]) -> str:
    parts = []
    for unknown in unknowns:
        if unknown not in solution:
            parts.append(f"{unknown} is free")
            continue
        value = solution[unknown]
        exact = str(value)
        if value.is_number and not value.is_Integer and not value.is_Float:
            parts.append(f"{unknown} = {exact} (about {value.evalf(12)})")
        else:
            parts.append(f"{unknown} = {exact}")
    return ", ".join(parts)


TOOLS = (
    ToolDefinition(
        name="Solver",
        description=(
            "Solve one equation or a system of equations for its unknowns, exactly where "
            "possible. Functions such as sqrt, exp, log, sin and abs may be used."
        ),
        category=Capability.LOGIC,
        arguments=SolverArguments,
        run=solve,
        backend="SymPy",
        paging="Give fewer or simpler equations.",
    ),
)
