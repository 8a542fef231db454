"""Prover: whether a conclusion follows from assumptions, by Z3."""

from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.logic.formulas import Formulas, Kind
from environments.tools.logic.smtlib import MAX_CHARS, problem_of, require_term
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_MAX_MEMORY_MB = 1_024
_MAX_MODEL_CHARS = 4_000
_MAX_FAULT_CHARS = 300


class ProverArguments(Arguments):
    """Arguments of Prover."""

    assumptions: list[str] = Field(
        default=[],
        max_length=500,
        description='What is given, such as ["x > 3", "implies(rain, wet)"].',
    )
    goal: str | None = Field(
        default=None,
        min_length=1,
        description=(
            "What is to follow from it; without one, it is checked whether all of it can be true."
        ),
    )
    variables: dict[str, Kind] = Field(
        default={},
        max_length=500,
        description='Kinds of names, such as {"x": "int"}; others are true or false.',
    )
    smtlib: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_CHARS,
        description=(
            "Instead of assumptions: SMT-LIB 2 declarations and assertions; the goal is then an "
            "SMT-LIB term."
        ),
    )
    seconds: int = Field(default=20, ge=1, le=60, description="How long to try.")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.smtlib is not None and (self.assumptions or self.variables):
            raise ValueError("give either smtlib or assumptions and variables, not both")
        if self.smtlib is None and not self.assumptions and self.goal is None:
            raise ValueError("there is nothing to prove: give assumptions, a goal or smtlib")
        return self


def prove(args: ProverArguments, workspace: Path) -> ToolResult:
    """Return whether the goal is proved, a counterexample, or that neither was found."""
    import z3

    z3.set_param("memory_max_size", _MAX_MEMORY_MB)
    try:
        given, denied = _problem(args)
        if denied is None:
            return ToolResult(text=_satisfiability(_checked(given, args.seconds)))
        return ToolResult(text=_proof(given, denied, args.seconds))
    except z3.Z3Exception as exc:
        raise ToolRefused(f"Z3 cannot read this: {_fault(exc)}") from exc


def _problem(args: ProverArguments) -> tuple[list[Any], Any]:
    """Return the assumptions, and the negated goal, which is None if there is no goal."""
    import z3

    if args.smtlib is None:
        formulas = Formulas(args.variables)
        given = [formulas.read(text) for text in args.assumptions]
        return given, None if args.goal is None else z3.Not(formulas.read(args.goal))
    problem = problem_of(args.smtlib)
    given = list(z3.parse_smt2_string(problem))
    if args.goal is None:
        return given, None
    require_term(args.goal)
    with_goal = list(z3.parse_smt2_string(f"{problem}\n(assert (not {args.goal}))"))
    return given, with_goal[-1]


def _checked(formulas: list[Any], seconds: int) -> tuple[str, Any]:
    """Return `sat` with a model, `unsat` with None, or `unknown` with the reason."""
    import z3

    solver = z3.Solver()
    solver.set("timeout", seconds * 1000)
    solver.add(formulas)
    answer = str(solver.check())
    if answer == "sat":
        return answer, solver.model()
    return answer, solver.reason_unknown() if answer == "unknown" else None


def _proof(given: list[Any], denied: Any, seconds: int) -> str:
    answer, found = _checked([*given, denied], seconds)
    if answer == "sat":
        return f"Counterexample, the goal does not follow: {_shown(found)}"
    if answer == "unknown":
        return _unknown(found)
    if given and _checked(given, seconds)[0] == "unsat":
        return "Proved, but only because what is given contradicts itself: anything follows."
    return "Proved: the goal follows."


def _satisfiability(checked: tuple[str, Any]) -> str:
    answer, found = checked
    if answer == "sat":
        return f"Satisfiable, such as with: {_shown(found)}"
    return _unknown(found) if answer == "unknown" else "Contradictory: it cannot all be true."


def _unknown(reason: Any) -> str:
    return f"Unknown: neither a proof nor a counterexample was found ({reason})."


def _shown(model: Any) -> str:
    parts = sorted(f"{name} = {model[name]}" for name in model.decls())
    text = ", ".join(" ".join(part.split()) for part in parts) or "any values"
    return text if len(text) <= _MAX_MODEL_CHARS else text[:_MAX_MODEL_CHARS] + "…"


def _fault(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return " ".join(text.split())[:_MAX_FAULT_CHARS]


TOOLS = (
    ToolDefinition(
        name="Prover",
        description=(
            "Prove that a goal follows from assumptions, or find a counterexample; without a goal, "
            "find values that make all assumptions true. For logic, whole and real numbers, and "
            "whatever SMT-LIB can say."
        ),
        category=Capability.LOGIC,
        arguments=ProverArguments,
        run=prove,
        backend="Z3",
        paging="State a smaller problem.",
        modules=("z3",),
    ),
)
