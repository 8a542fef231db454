"""Calculator: the value of one arithmetic expression."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.logic.expressions import MAX_INTEGER_BITS, Walker, parse_expression
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_MAX_COMBINATORIAL = 10_000
_MAX_FACTORIAL = 1_500
_MAX_ROUND_DIGITS = 100
_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "True": True, "False": False}


class CalculatorArguments(Arguments):
    """Arguments of Calculator."""

    expression: str = Field(
        description="Such as (1250 - 980) / 980 * 100, round(sqrt(2), 3) or sum([1, 2, 3])."
    )


def calculate(args: CalculatorArguments, workspace: Path) -> ToolResult:
    """Return the expression's value as Python writes it."""
    return ToolResult(text=repr(value_of(args.expression)))


def value_of(expression: str) -> int | float | bool:
    """Return the value of `expression`; raises `ToolRefused` that says why it has none."""
    try:
        value = _WALKER.value(parse_expression(expression))
    except RecursionError as exc:
        raise ToolRefused(
            "The expression is nested too deeply; add many numbers with sum([...])."
        ) from exc
    except ZeroDivisionError as exc:
        raise ToolRefused("Division by zero.") from exc
    except OverflowError as exc:
        raise ToolRefused(f"The result is too large to calculate ({exc}).") from exc
    except (ValueError, TypeError) as exc:
        raise ToolRefused(f"This has no value: {exc}.") from exc
    if not isinstance(value, int | float):
        raise ToolRefused("The result is not a real number.")
    return value


def _checked(value: Any) -> Any:
    if isinstance(value, complex):
        raise ToolRefused("The result is not a real number.")
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        raise ToolRefused("The result is too large to calculate exactly; use decimals (2.0 ** n).")
    return value


def _power(base: Any, exponent: Any) -> Any:
    is_exact = isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1
    # Checked first, because Python would compute 9 ** 9 ** 9 for hours.
    if is_exact and abs(exponent) * base.bit_length() > 2 * MAX_INTEGER_BITS:
        raise ToolRefused("The power is too large to calculate exactly.")
    return base**exponent


def _factorial(n: Any) -> int:
    if n > _MAX_FACTORIAL:
        raise ToolRefused(f"factorial({n}) is too large; at most {_MAX_FACTORIAL} is calculated.")
    return math.factorial(n)


def _combinatorial(function: Callable[..., int]) -> Callable[..., int]:
    def bounded(*numbers: Any) -> int:
        if any(n > _MAX_COMBINATORIAL for n in numbers):
            raise ToolRefused(f"{function.__name__} takes numbers up to {_MAX_COMBINATORIAL}.")
        return function(*numbers)

    return bounded


def _round(number: Any, digits: Any = None) -> Any:
    if digits is not None and abs(digits) > _MAX_ROUND_DIGITS:
        raise ToolRefused(f"round takes at most {_MAX_ROUND_DIGITS} digits.")
    return round(number, digits)


def _name(name: str) -> Any:
    if name not in _CONSTANTS:
        raise ToolRefused(f"{name!r} has no value here; the names are pi, e and tau.")
    return _CONSTANTS[name]


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{
        name: getattr(math, name)
        for name in (
            *("sqrt", "cbrt", "exp", "log", "log2", "log10", "log1p", "hypot", "dist"),
            *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
            *("degrees", "radians", "floor", "ceil", "trunc", "fabs", "fmod", "gcd", "lcm"),
            *("isqrt", "fsum", "prod"),
        )
    },
    "abs": abs,
    "min": min,
    "max": max,
    "sum": sum,
    "int": int,
    "float": float,
    "len": len,
    "pow": _power,
    "round": _round,
    "factorial": _factorial,
    "comb": _combinatorial(math.comb),
    "perm": _combinatorial(math.perm),
}

_WALKER = Walker(
    functions=_FUNCTIONS,
    name=_name,
    number=lambda value: value,
    power=_power,
    check=_checked,
    allow_comparisons=True,
)

TOOLS = (
    ToolDefinition(
        name="Calculator",
        description=(
            "Calculate one arithmetic expression: + - * / // % **, comparisons, parentheses, "
            "pi, e and functions such as sqrt, log, sin, round, min, max, sum, abs, factorial. "
            "Angles are in radians."
        ),
        category=Capability.LOGIC,
        arguments=CalculatorArguments,
        run=calculate,
        backend="Python's syntax tree and math",
    ),
)
