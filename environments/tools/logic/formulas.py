"""Formulas as people write them, `x > 3 and not p`, parsed without `eval` into Z3's terms."""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from environments.tools.logic.expressions import COMPARISONS
from taskdata.errors import ToolRefused

Kind = Literal["bool", "int", "real"]

MAX_FORMULA_CHARS = 5_000
_MAX_EXPONENT = 16
_NAME = re.compile(r"[A-Za-z_]\w{0,59}")
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_FUNCTIONS = ("implies", "iff", "xor", "ite", "distinct", "forall", "exists")
_HINT = (
    "Write formulas with and, or, not, ==, !=, <, <=, >, >=, + - * / % ** and "
    f"{', '.join(f'{name}(...)' for name in _FUNCTIONS)}."
)


class Formulas:
    """Parses formulas over the same variables; raises `ToolRefused` for anything else."""

    def __init__(self, variables: Mapping[str, Kind]) -> None:
        import z3

        sorts = {"bool": z3.Bool, "int": z3.Int, "real": z3.Real}
        for name in variables:
            if not _NAME.fullmatch(name):
                raise ToolRefused(
                    f"{name[:60]!r} cannot be a variable: use names such as x or tall."
                )
        self._values = {name: sorts[kind](name) for name, kind in variables.items()}

    def read(self, text: str) -> Any:
        """Return the formula as a term of Z3."""
        import z3

        if len(text) > MAX_FORMULA_CHARS:
            raise ToolRefused(f"A formula is too long: at most {MAX_FORMULA_CHARS} characters.")
        try:
            formula = self._value(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
            raise ToolRefused(f"{text[:80]!r} is not a formula. {_HINT}") from exc
        except (z3.Z3Exception, TypeError, ZeroDivisionError, AttributeError) as exc:
            raise ToolRefused(
                f"{text[:80]!r} mixes kinds: declare numbers in variables as int or real; what is "
                "not declared is true or false."
            ) from exc
        if isinstance(formula, bool):
            return z3.BoolVal(formula)
        if not z3.is_bool(formula):
            raise ToolRefused(f"{text[:80]!r} is a number; a formula is true or false. {_HINT}")
        return formula

    def _value(self, node: ast.expr) -> Any:
        import z3

        match node:
            case ast.Constant(value=bool() | int() as value):
                return value
            case ast.Constant(value=float() as value):
                # Decimals are exact: 0.1 is a tenth.
                return z3.RealVal(repr(value))
            case ast.Name(id=name):
                return self._named(name)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return z3.Not(self._value(operand))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._numbers(operand)[0]
            case ast.BoolOp(op=op, values=values):
                join = z3.And if isinstance(op, ast.And) else z3.Or
                return join([self._value(value) for value in values])
            case ast.Compare():
                return self._comparison(node)
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)):
                if not 0 <= power <= _MAX_EXPONENT:
                    raise ToolRefused(f"Exponents go from 0 to {_MAX_EXPONENT}.")
                return self._numbers(left)[0] ** power
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                numbers = self._numbers(left, right)
                if isinstance(op, ast.Div):
                    # Z3's division of integers drops the remainder, which people do not mean.
                    numbers = [z3.ToReal(n) if z3.is_int(n) else n for n in numbers]
                return _ARITHMETIC[type(op)](*numbers)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, args)
            case _:
                raise ToolRefused(f"{ast.unparse(node)[:80]!r} is not part of a formula. {_HINT}")

    def _named(self, name: str) -> Any:
        import z3

        if name not in self._values:
            self._values[name] = z3.Bool(name)
        return self._values[name]

    def _numbers(self, *nodes: ast.expr) -> list[Any]:
        """Return Z3's values of the nodes; raises TypeError if one is a truth value."""
        values = self._typed(*nodes)
        if any(kind is bool for kind, _ in values):
            raise TypeError("a truth value is no number")
        return [value for _, value in values]

    def _typed(self, *nodes: ast.expr) -> list[tuple[type, Any]]:
        """Return the kind of each node, bool or int for any number, and its value in Z3."""
        import z3

        typed: list[tuple[type, Any]] = []
        for value in map(self._value, nodes):
            if isinstance(value, bool):
                typed.append((bool, z3.BoolVal(value)))
            elif isinstance(value, int):
                typed.append((int, z3.IntVal(value)))
            else:
                typed.append((bool if z3.is_bool(value) else int, value))
        return typed

    def _comparison(self, node: ast.Compare) -> Any:
        import z3

        parts = []
        terms: Sequence[ast.expr] = (node.left, *node.comparators)
        for left, op, right in zip(terms, node.ops, terms[1:], strict=False):
            if type(op) not in COMPARISONS:
                raise ToolRefused(f"{ast.unparse(node)[:80]!r} is not part of a formula. {_HINT}")
            (kind, first), (other, second) = self._typed(left, right)
            if kind is not other or (kind is bool and not isinstance(op, ast.Eq | ast.NotEq)):
                raise TypeError("truth values and numbers cannot be compared")
            parts.append(COMPARISONS[type(op)](first, second))
        return parts[0] if len(parts) == 1 else z3.And(parts)

    def _call(self, name: str, args: list[ast.expr]) -> Any:
        import z3

        values = [self._value(arg) for arg in args]
        match name, values:
            case "implies", [condition, consequence]:
                return z3.Implies(condition, consequence)
            case "iff", [left, right]:
                return z3.And(z3.Implies(left, right), z3.Implies(right, left))
            case "xor", [left, right]:
                return z3.Xor(left, right)
            case "ite", [condition, then, otherwise]:
                return z3.If(condition, then, otherwise)
            case "distinct", [_, _, *_]:
                return z3.Distinct(values)
            case (("forall" | "exists"), [*bound, body]) if bound:
                if not all(isinstance(arg, ast.Name) for arg in args[:-1]):
                    raise ToolRefused(f"{name} takes variables, then a formula: {name}(x, x > 0).")
                return (z3.ForAll if name == "forall" else z3.Exists)(bound, body)
            case _:
                raise ToolRefused(f"There is no {name[:40]}(...) of {len(args)} arguments. {_HINT}")
