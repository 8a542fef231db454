"""What the marks of code cost: answers to planning cases of every setting, in one process.

`python benchmarks/planning_scores.py [--cases 10000] [--json]`
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import cycle, islice

from stages.score.planning.mark import mark
from taskdata.schema.checkpoint import Checkpoint, PlanGrade
from taskdata.schema.planning import (
    CaseOrigin,
    CaseTool,
    Form,
    PlannedAction,
    PlanningCase,
    PlanReference,
    Setting,
    ToolRole,
)
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.task import Capability, Category, Task, Tier

_STEPS = 12
"""Of each tool chain, as many as the trajectories of APB have."""


def main() -> None:
    """Mark the answers and print how long that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="one line of figures")
    options = parser.parse_args()
    work = list(islice(cycle(_answers()), options.cases))
    began, cpu_began = time.perf_counter(), time.process_time()
    correct = sum(mark(case, answer).correct is True for case, answer in work)
    figures = {
        "cases": len(work),
        "correct": correct,
        "seconds": round(time.perf_counter() - began, 3),
        "cpu_seconds": round(time.process_time() - cpu_began, 3),
    }
    print(json.dumps(figures) if options.json else f"{figures}")


def _answers() -> Iterator[tuple[Task, PredictedPlan]]:
    """Yield right answers, others without a proven error, and wrong ones, of three settings."""
    chain = tuple(_call(number) for number in range(1, _STEPS + 1))
    swapped = (chain[1], chain[0], *chain[2:])
    wrong = (*chain, PlannedAction(tool="look_elsewhere", arguments={"item": "none"}))
    for setting in (Setting.HOLISTIC, Setting.EXTRANEOUS, Setting.EFFICIENCY):
        case = _case(setting, chain)
        for calls in (chain, swapped, wrong, ()):
            yield case, PredictedPlan(plan=("Look.", "Add."), chain=calls)


def _call(number: int) -> PlannedAction:
    earlier = f"<result of step {number - 1}>" if number > 1 else "nothing"
    arguments = {"item": f"thing {number}", "after": earlier, "count": number}
    return PlannedAction(tool=f"tool_{number % 6}", arguments=arguments, rationale="It is due.")


def _case(setting: Setting, chain: tuple[PlannedAction, ...]) -> Task:
    prices = setting is Setting.EFFICIENCY
    distractor = ToolRole.DISTRACTOR if setting is Setting.EXTRANEOUS else ToolRole.OWN
    roles = {"look_elsewhere": distractor}
    names = [f"tool_{number}" for number in range(6)] + ["look_elsewhere"]
    text = {"type": "string"}
    count = {"type": "integer", "minimum": 1, "maximum": 100}
    parameters = {
        "type": "object",
        "properties": {"item": text, "after": text, "count": count},
        "required": ["item"],
        "additionalProperties": False,
    }
    tools = tuple(
        CaseTool(
            name=name,
            description=name,
            parameters=parameters,
            cost=2 if prices else None,
            role=roles.get(name, ToolRole.OWN),
        )
        for name in names
    )
    planning = PlanningCase(
        setting=setting,
        form=Form.HOLISTIC,
        tools=tools,
        reference=PlanReference(chain=chain),
        origin=CaseOrigin(task_id="source", task_hash="0" * 64, transformation="benchmark@1"),
        optimum=2 * len(chain) if prices else None,
    )
    return Task(
        id=f"case-{setting.value}",
        tier=Tier.PLANNING,
        category=Category.DATA_ANALYSIS,
        capabilities=(Capability.LOGIC,),
        title="A case",
        query="Look at everything and count it.",
        tools=tuple(names),
        checkpoints=Checkpoint(id="plan", requirement="The plan is right.", verifier=PlanGrade()),
        planning=planning,
    )


if __name__ == "__main__":
    main()
