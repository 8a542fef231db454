"""Which cases are made of which tasks: spread over settings, domains, horizons and positions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Self

from taskdata.schema.base import Slug, Value
from taskdata.schema.construct import CaseCounts
from taskdata.schema.planning import Form, Infeasibility, Setting

EXTRANEOUS_NUMBERS = (2, 4, 6, 8, 10)
"""How many distractors a case has (APB, section 3.1)."""
HORIZONS = (1, 2, 3)
LEAST_STEPS_FOR_COSTS = 5
"""Steps of a trajectory that leave room for composites."""
_ID_DIGITS = 6
THIRDS = 3
"""A position is early, middle or late by the third of the trajectory that it is in."""

CanWrite = Callable[[str, str], bool]
"""Whether the words for a task and a question are there or can be asked for."""


class Variation(Value):
    """One case to be made of a task."""

    task_id: Slug
    setting: Setting
    form: Form = Form.HOLISTIC
    position: int = 0
    """Steps that are done when a step-wise case, or a variation of one, begins."""
    horizon: int = 0
    number: int = 0
    """How many distractors are among the tools."""
    infeasibility: Infeasibility | None = None

    @property
    def question(self) -> str:
        """What must be written for it beside the plan; empty if nothing must."""
        if self.infeasibility is not None:
            return self.infeasibility.value
        named = {
            Setting.EXTRANEOUS: "distractors",
            Setting.BROKEN: "substitute",
            Setting.EFFICIENCY: "efficiency",
        }
        return named.get(self.setting, "")

    @property
    def base(self) -> Self | None:
        """The case that it varies; None: it is cut from the trajectory itself."""
        if self.setting in (Setting.HOLISTIC, Setting.STEP_WISE):
            return None
        is_cut = self.form is Form.STEP_WISE
        return self.model_copy(
            update={
                "setting": Setting.STEP_WISE if is_cut else Setting.HOLISTIC,
                "number": 0,
                "infeasibility": None,
            }
        )

    @property
    def case_id(self) -> str:
        """Id of the case; of the case it tells only the form, which every planner sees."""
        asked, taken = self.horizon, self.position
        cut = f"next-{asked}-after-{taken}" if self.form is Form.STEP_WISE else "plan"
        cut = "next-1" if self.setting is Setting.BROKEN else cut
        return f"{self.task_id}-{cut}-{self.digest()[:_ID_DIGITS]}"


def deal(
    lengths: Mapping[str, int],
    domains: Mapping[str, str],
    counts: CaseCounts,
    can_write: CanWrite,
) -> tuple[Variation, ...]:
    """Return the cases to make, with the base of each; equal arguments give equal cases.

    Args:
        lengths: Steps of each task's trajectory by task id.
        domains: The domain of each task, over which the cases are spread.
        counts: The most cases of each setting.
        can_write: Tells of a task and a question whether words are there or can be asked for.
    """
    ids = spread([task_id for task_id in sorted(lengths) if lengths[task_id] > 1], domains)
    noisy = [task_id for task_id in ids if can_write(task_id, "distractors")]
    first = [*noisy[: max(1, counts.extraneous // 5)], *ids]
    cuts = tuple(_cuts(tuple(dict.fromkeys(first)), lengths, counts.step_wise))
    others = (
        *_extraneous(noisy, cuts, counts.extraneous),
        *_each(ids, Setting.BROKEN, "substitute", counts.broken, can_write),
        *_unsolvable(ids, counts.unsolvable, can_write),
        *_each(
            [task_id for task_id in ids if lengths[task_id] >= LEAST_STEPS_FOR_COSTS],
            Setting.EFFICIENCY,
            "efficiency",
            counts.efficiency,
            can_write,
        ),
    )
    bases = [one.task_id for one in others if one.form is Form.HOLISTIC]
    whole = tuple(dict.fromkeys((*bases, *ids)))[: counts.holistic]
    made = [*(Variation(task_id=i, setting=Setting.HOLISTIC) for i in sorted(whole)), *cuts]
    made += [one for one in others if one.base in made]
    return tuple(made)


def spread(ids: Sequence[str], domains: Mapping[str, str]) -> list[str]:
    """Return the tasks in an order in which the domains take turns."""
    groups = dict[str, list[str]]()
    for task_id in ids:
        groups.setdefault(domains[task_id], []).append(task_id)
    turns = zip_longest(*(groups[domain] for domain in sorted(groups)))
    return [task_id for task_id in chain.from_iterable(turns) if task_id is not None]


def third_of(position: int, length: int) -> int:
    """Return in which third (0-2) of a trajectory a position is."""
    return min(THIRDS - 1, position * THIRDS // length)


def _cuts(ids: Sequence[str], lengths: Mapping[str, int], count: int) -> Iterator[Variation]:
    """Yield step-wise cuts: horizons and thirds take turns, and so do the tasks."""
    taken, waiting = set[tuple[str, int, int]](), list(ids)
    for number in range(count):
        horizon, third = HORIZONS[number % 3], number // 3 % THIRDS
        for task_id in waiting:
            position = _position(lengths[task_id], horizon, third)
            if position is not None and (task_id, horizon, position) not in taken:
                break
        else:
            continue
        taken.add((task_id, horizon, position))
        # To the end of the queue: another task has its turn next.
        waiting.remove(task_id)
        waiting.append(task_id)
        yield Variation(
            task_id=task_id,
            setting=Setting.STEP_WISE,
            form=Form.STEP_WISE,
            position=position,
            horizon=horizon,
        )


def _position(length: int, horizon: int, third: int) -> int | None:
    fitting = [p for p in range(1, length - horizon + 1) if third_of(p, length) == third]
    return fitting[len(fitting) // 2] if fitting else None


def _extraneous(ids: Sequence[str], cuts: Sequence[Variation], count: int) -> Iterator[Variation]:
    """Yield cases with distractors: each number and form with different tasks."""
    first_cuts = {cut.task_id: cut for cut in reversed(cuts)}
    seen = set[str]()
    for block, place in ((i // 5, i % 5) for i in range(count if ids else 0)):
        task_id = ids[(place + block) % len(ids)]
        base = Variation(task_id=task_id, setting=Setting.HOLISTIC)
        if block % 2:
            if task_id not in first_cuts:
                continue
            base = first_cuts[task_id]
        made = base.model_copy(
            update={"setting": Setting.EXTRANEOUS, "number": EXTRANEOUS_NUMBERS[place]}
        )
        if made.case_id not in seen:
            seen.add(made.case_id)
            yield made


def _each(
    ids: Sequence[str], setting: Setting, question: str, count: int, can_write: CanWrite
) -> list[Variation]:
    able = [task_id for task_id in ids if can_write(task_id, question)]
    return [Variation(task_id=task_id, setting=setting) for task_id in able[:count]]


def _unsolvable(ids: Sequence[str], count: int, can_write: CanWrite) -> Iterator[Variation]:
    """Yield unsolvable cases: the four kinds take turns, and so do the tasks."""
    waiting, kinds = list(ids), tuple(Infeasibility)
    taken = set[tuple[str, Infeasibility]]()
    for number in range(count):
        kind = kinds[number % len(kinds)]
        able = (i for i in waiting if (i, kind) not in taken and can_write(i, kind.value))
        task_id = next(able, None)
        if task_id is None:
            continue
        taken.add((task_id, kind))
        waiting.remove(task_id)
        waiting.append(task_id)
        yield Variation(task_id=task_id, setting=Setting.UNSOLVABLE, infeasibility=kind)
