"""Parsing an arithmetic expression to a syntax tree, without `eval`.

Used by the Calculator, which evaluates with Python numbers, and the Solver, with SymPy's.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from taskdata.errors import ToolRefused

MAX_EXPRESSION_CHARS = 5_000
MAX_INTEGER_BITS = 13_000
"""About 3,900 digits; Python prints at most 4,300."""

_LOOKALIKES = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-"})
_THOUSANDS = re.compile(r"(?<![\w.])\d{1,3}(,\d{3})+(?![\d,])")


def parse_expression(text: str) -> ast.expr:
    """Return the syntax tree of `text`; raises `ToolRefused` if it is not an expression."""
    if len(text) > MAX_EXPRESSION_CHARS:
        raise ToolRefused(
            f"The expression has {len(text)} characters; "
            f"at most {MAX_EXPRESSION_CHARS} can be read."
        )
    try:
        return ast.parse(text.strip().translate(_LOOKALIKES), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise ToolRefused(f"{_shown(text)} is not an expression.{_hint(text)}") from exc


def _hint(text: str) -> str:
    if "%" in text:
        return " Write 15 % of 200 as 15 / 100 * 200."
    if _THOUSANDS.search(text):
        return " Write numbers without thousands separators."
    if "=" in text:
        return " Give one side only; Solver solves equations."
    return " Use numbers, + - * / // % **, comparisons, parentheses and functions."


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True)
class Walker:
    """Computes the value of a syntax tree from the given names, functions and numbers."""

    functions: Mapping[str, Callable[..., Any]]
    name: Callable[[str], Any]
    """Value of a bare name; raises `ToolRefused` for unknown ones."""
    number: Callable[[int | float], Any]
    power: Callable[[Any, Any], Any]
    check: Callable[[Any], Any]
    """Returns each intermediate result unchanged, or raises `ToolRefused`."""
    allow_comparisons: bool

    def value(self, node: ast.expr) -> Any:
        """Return the value of `node`; raises `ToolRefused` if it is not arithmetic."""
        match node:
            case ast.Constant(value=int() | float() as value):
                return self.check(self.number(value))
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=ast.Name(id="math"), attr=name):
                return self.name(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return +self.value(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self.check(self.power(self.value(left), self.value(right)))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self.check(_BINARY[type(op)](self.value(left), self.value(right)))
            case ast.Compare() if self.allow_comparisons:
                return self._comparison(node)
            case ast.Call(func=func, args=args, keywords=[]):
                return self._call(func, args)
            case _:
                raise ToolRefused(f"{_written(node)} is not arithmetic.{_node_hint(node)}")

    def _comparison(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            if type(op) not in COMPARISONS:
                raise ToolRefused(f"{_written(node)} is not arithmetic.")
            right = self.value(right_node)
            if not COMPARISONS[type(op)](left, right):
                return False
            left = right
        return True

    def _call(self, func: ast.expr, args: list[ast.expr]) -> Any:
        match func:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="math"), attr=name):
                pass
            case _:
                raise ToolRefused(f"{_written(func)} is not a function that can be called.")
        function = self.functions.get(name)
        if function is None:
            raise ToolRefused(
                f"There is no function {name!r}. Functions: {', '.join(sorted(self.functions))}."
            )
        return self.check(function(*(self._argument(arg) for arg in args)))

    def _argument(self, node: ast.expr) -> Any:
        if isinstance(node, ast.List | ast.Tuple):
            return [self.value(element) for element in node.elts]
        return self.value(node)


def _written(node: ast.expr) -> str:
    return _shown(ast.unparse(node))


def _node_hint(node: ast.expr) -> str:
    if isinstance(node, ast.Tuple):
        return " Write numbers without thousands separators."
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
        return " Write powers with **."
    return ""
