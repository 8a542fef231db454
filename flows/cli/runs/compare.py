"""The command `compare`: two runs, or the agents of one, paired by task."""

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from taskdata.schema.comparison import ComparedSide, Comparison, PairedSides, TestedDifference
    from taskdata.schema.estimate import Estimate


def compare(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN [RUN]", help="One run or two; default: the latest one."),
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", help="Only this agent; repeatable; default: all but controls."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell whether two runs, or the agents of one run, differ beyond chance.

    Agents are paired by task. Of two runs, agents of the same name are compared; where there are
    none, each agent of the first run with each of the second.
    """
    from contextlib import closing

    from flows.comparing import comparison_of
    from flows.config import load_settings
    from taskdata.store import Store

    with closing(Store.open(load_settings().address)) as store:
        found = comparison_of(store, runs or [store.latest_run().id], agents or ())
    if as_json:
        console.write_json(found.model_dump(mode="json"))
        return
    _write(found)


def _write(found: "Comparison") -> None:
    from taskdata.schema.comparison import ALPHA

    sides = {side.label: side for pair in found.pairs for side in (pair.first, pair.second)}
    ranks = {rank.agent: rank for rank in found.ranks}
    console.table(
        [_side(side, len(found.runs) > 1) for side in sides.values()],
        title=f"Compared: {' and '.join(found.runs)}",
    )
    for pair in found.pairs:
        console.heading(f"{_name(pair.second, found)} against {_name(pair.first, found)}")
        for sentence in _told(pair, len(found.pairs)):
            console.block(sentence)
    if ranks:
        console.heading("Ranks that the pairs leave open")
        for rank in found.ranks:
            place = str(rank.best) if rank.best == rank.worst else f"{rank.best} to {rank.worst}"
            console.block(f"{rank.agent}: {place}")
    if found.differs:
        console.heading("Settings that differ")
        for name, (first, second) in found.differs.items():
            console.block(f"{name}: {first}, then {second}.")
    console.paragraph(
        f"Differences are second minus first, with 95 % intervals. Root score decides: of "
        f"comparisons like this one without any real difference, at most {ALPHA:.0%} call a pair "
        "different (sign-flip permutation test, Holm's correction)."
    )


def _side(side: "ComparedSide", with_run: bool) -> dict[str, str]:
    return {
        "agent": side.agent,
        **({"run": side.run_id} if with_run else {}),
        "root score": _estimate(side.root_score, "{:.2f}"),
        "root SR": _estimate(side.root_sr, "{:.0%}"),
        "n": f"{side.root_score.n} of {side.trials}",
        "errors": _share(side.error_rate),
        "coverage": _share(side.coverage),
    }


def _name(side: "ComparedSide", found: "Comparison") -> str:
    return side.label if len(found.runs) > 1 else side.agent


def _told(pair: "PairedSides", pairs: int) -> "Iterator[str]":
    if pair.root_score.difference.mean is None:
        yield "Nothing to compare: no task has a score of both."
        return
    yield "Different." if pair.is_different else "Not different beyond chance."
    yield f"Root score: {_tested(pair.root_score, '{:+.2f}', pairs)}."
    if pair.root_score_range is not None:
        low, high = pair.root_score_range
        yield f"Missing verdicts leave that difference open from {low:+.2f} to {high:+.2f}."
    yield f"Root SR: {_tested(pair.root_sr, '{:+.0%}', pairs)}."
    flips = pair.flips
    if flips.tasks:
        test = (
            "no task to test" if flips.p_value is None else _p(flips.p_value, flips.p_holm, pairs)
        )
        yield (
            f"Flips: {_estimate(flips.rate, '{:.0%}')} of {_tasks(flips.tasks)}, {flips.gained} "
            f"gained and {flips.lost} lost; McNemar: {test}."
        )
    if pair.only_first or pair.only_second:
        yield (
            f"Left out, for one side alone has a score: {pair.only_first} of the first, "
            f"{pair.only_second} of the second."
        )
    if pair.changed:
        yield f"Left out, for their content differs: {_tasks(pair.changed)}."
    yield from pair.notes


def _tested(tested: "TestedDifference", form: str, pairs: int) -> str:
    if tested.difference.mean is None:
        return "no task is decided for both"
    told = f"{_estimate(tested.difference, form)} over {_tasks(tested.tasks)}"
    if tested.p_value is not None:
        told += f", {_p(tested.p_value, tested.p_holm, pairs)}"
    if tested.detectable is not None:
        told += f"; so many tasks show {form.replace('+', '').format(tested.detectable)} or more"
    return told


def _p(raw: float, corrected: float | None, pairs: int) -> str:
    if pairs == 1 or corrected is None:
        return f"p = {raw:.3g}"
    return f"p = {raw:.3g}, corrected {corrected:.3g}"


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count} tasks"


def _estimate(estimate: "Estimate", form: str) -> str:
    if estimate.mean is None:
        return "-"
    told = form.format(estimate.mean)
    if estimate.ci95 is not None:
        told += f" ({form} to {form})".format(*estimate.ci95)
    return told


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
