"""One planning case from its variation, the source task, the trajectory and what was written."""

from dataclasses import dataclass

from stages.construct.answers.forms import Form as WrittenForm
from stages.construct.planning.cases.efficiency import efficiency
from stages.construct.planning.cases.extraction import as_task, holistic, step_wise
from stages.construct.planning.cases.robustness import broken, extraneous, unsolvable
from stages.construct.planning.trajectory import Trajectory
from stages.construct.planning.variations import Variation
from stages.construct.planning.written import (
    DistractorsForm,
    EfficiencyForm,
    InfeasibleForm,
    SubstituteForm,
)
from taskdata.errors import BadTaskData
from taskdata.schema.planning import Form, Setting
from taskdata.schema.task import Task

VERSIONS = {
    Setting.HOLISTIC: "holistic_extraction@1",
    Setting.STEP_WISE: "step_wise_cut@1",
    Setting.EXTRANEOUS: "extraneous_tools@1",
    Setting.BROKEN: "broken_tool@1",
    Setting.UNSOLVABLE: "unsolvable_rewriting@1",
    Setting.EFFICIENCY: "efficiency_costs@1",
}
"""Name and version of the construction step of each setting."""


@dataclass(frozen=True)
class Source:
    """What the cases of one task are made of."""

    task: Task
    trajectory: Trajectory
    sentences: tuple[str, ...] = ()
    """The plan in words, one sentence for each step; empty: the trajectory's own thoughts."""
    model: str | None = None
    """The model that wrote the words; None: none did."""
    reviewer: str = ""
    """Who approved what people wrote."""


def make(variation: Variation, source: Source, written: WrittenForm | None = None) -> Task:
    """Return the case.

    Args:
        variation: Which case is made.
        source: The task that it is made from, with the trajectory and the plan in words.
        written: The answer to the variation's question; None where it has none.

    Raises:
        BadTaskData: if what was written does not fit; says what to mend.
    """
    made = _made(variation, source, written)
    if made.planning is None:
        raise BadTaskData(f"task {made.id!r}: is no planning case")
    origin = made.planning.origin.model_copy(
        update={"model": source.model, "reviewer": source.reviewer}
    )
    case = made.planning.model_copy(update={"origin": origin})
    return made.model_copy(update={"planning": case})


def _made(variation: Variation, source: Source, written: WrittenForm | None) -> Task:
    task, trajectory = source.task, source.trajectory
    version = VERSIONS[variation.setting]
    base_variation = variation.base
    if base_variation is None:
        return _cut(variation, source, version)
    base, query = _cut(base_variation, source, VERSIONS[base_variation.setting]), ""
    if isinstance(written, InfeasibleForm):
        if written.kind is not variation.infeasibility:
            raise BadTaskData(f"kind: {variation.infeasibility} was asked for, not {written.kind}")
        case, query = unsolvable(task, base, written, version)
    elif isinstance(written, DistractorsForm):
        case = extraneous(task, base, written, variation.number, version)
    elif isinstance(written, SubstituteForm):
        case = broken(task, trajectory, source.sentences, base, written, version)
    elif isinstance(written, EfficiencyForm):
        case = efficiency(base, task, written, version)
    else:
        raise BadTaskData(f"case {variation.case_id!r}: nothing was written for it")
    return as_task(task, variation.case_id, case, query)


def _cut(variation: Variation, source: Source, version: str) -> Task:
    task, trajectory, sentences = source.task, source.trajectory, source.sentences
    if variation.form is Form.HOLISTIC:
        case = holistic(task, trajectory, sentences, version)
    else:
        where = (variation.position, variation.horizon)
        case = step_wise(task, trajectory, sentences, *where, version)
    return as_task(task, variation.case_id, case)
