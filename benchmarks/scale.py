"""What a trial costs a whole night as nights grow: the DAG from its first gate to the dashboard.

`nightshift run` itself does the night, with a model that answers at once and a task with nothing to
do, so that what is left is orchestration, one model call and one score a trial. The cost of a trial
must not depend on how many there are.

`python benchmarks/scale.py [--trials 1000 10000] [--workers 2] [--json]`. CPU time is what to
compare where the machine has other work: wall time says how busy it was, too.
"""

import argparse
import json
import re
import resource
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from load.browsing import openings
from load.model_server import model_server
from load.planning import agent_of, new_store, plan
from load.processes import watched
from load.resumed_night import Line, carried_on, serve_once

from taskdata.store import Store

_STAGE = re.compile(r"(?P<name>[a-z]+(?: [a-z]+)?)(?: \(round \d+\))?: .*\bin \d+\.\d s")
_BEGINS = "Prefect UI:"
"""The line before the first stage."""
_END = "closing"
"""What the command does after the last stage."""


@dataclass(frozen=True)
class StageCost:
    """What one stage of a night took, all its rounds together."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    def __add__(self, other: "StageCost") -> "StageCost":
        wall, cpu = self.wall_s + other.wall_s, self.cpu_s + other.cpu_s
        return StageCost(round(wall, 2), round(cpu, 2))


@dataclass(frozen=True)
class Night:
    """Of one night."""

    trials: int
    workers: int
    stages: dict[str, StageCost]
    """From the end of one to the end of the next, so that nothing between them is left out."""
    wall_s: float
    """From the call of the command to its end: Prefect and the workers start once a night."""
    cpu_s: float
    """Of the command, its workers and the Prefect server, their start included."""
    kinds_cpu_s: dict[str, float]
    """By kind of process, up to the last line."""
    peak_mb: dict[str, float]
    """Of one process of each kind."""
    database_mb: float
    artifacts: int
    page_mb: float
    page_opens_s: float | None
    """In Chromium, up to the first figure; None: there is none here."""

    @property
    def staged(self) -> StageCost:
        """All stages together."""
        return sum(self.stages.values(), StageCost())


def main() -> None:
    """Print each night's figures, and what a further trial cost."""
    options = _options()
    nights = []
    for trials in options.trials:
        for workers in options.workers:
            with model_server(0.0, 0) as url:
                nights.append(night_of(url, trials, workers, options.in_flight))
            if not options.json:
                print(described(nights[-1]), flush=True)
    if options.json:
        print(json.dumps([asdict(night) for night in nights]))
        return
    for line in growth(nights):
        print(line)


def night_of(url: str, trials: int, workers: int, in_flight: int) -> Night:
    """Do a night of so many trials in a home of its own."""
    with new_store() as (store, home):
        plan(store, "run", agent_of("openai", url), trials, in_flight, workers=workers)
        serve_once(home)
        before = _cpu_seconds()
        with watched(home) as processes:
            _, lines = carried_on(
                home, store.address.artifacts_url, "run", used=processes.cpu_seconds
            )
        used = _cpu_seconds() - before
        _require_all(store, trials)
        pages = list(home.glob("runs/*/dashboard.html"))
        kinds = lines[-1].cpu_s
        return Night(
            trials=trials,
            workers=workers,
            stages=dict(_stages(lines)),
            wall_s=round(lines[-1].at, 1),
            # The server is nobody's child.
            cpu_s=round(used + kinds.get("prefect server", 0.0), 1),
            kinds_cpu_s={kind: round(seconds, 1) for kind, seconds in sorted(kinds.items())},
            peak_mb=dict(sorted(processes.peaks.items())),
            database_mb=_megabytes(home.glob("nightshift.db*")),
            artifacts=sum(1 for path in (home / "files").rglob("*") if path.is_file()),
            page_mb=_megabytes(iter(pages)),
            page_opens_s=max(
                (round(one.seconds, 2) for one in list(openings(pages))), default=None
            ),
        )


def _stages(lines: Sequence[Line]) -> Iterator[tuple[str, StageCost]]:
    begins = next(line for line in lines if line.text.startswith(_BEGINS))
    ends = [(found["name"], line) for line in lines if (found := _STAGE.match(line.text))]
    costs: dict[str, StageCost] = {}
    for (_, before), (name, line) in pairwise([("", begins), *ends, (_END, lines[-1])]):
        cpu = sum(line.cpu_s.values()) - sum(before.cpu_s.values())
        costs[name] = costs.get(name, StageCost()) + StageCost(line.at - before.at, cpu)
    yield from costs.items()


def _require_all(store: Store, trials: int) -> None:
    results = store.results("run")
    scored = sum(one.score is not None and one.outcome is not None for one in results)
    if scored != trials:
        raise SystemExit(f"only {scored} of {trials} trials finished and were scored")


def _cpu_seconds() -> float:
    """Return the CPU time of programs that this process ran and that ended, with theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _megabytes(paths: Iterator[Path]) -> float:
    return round(sum(path.stat().st_size for path in paths) / 1e6, 1)


def described(night: Night) -> str:
    """Return a night's figures as a person reads them."""
    each = 1000 / night.trials
    stages = [
        f"    {name:12} {cost.wall_s:8.1f} s {cost.cpu_s:8.1f} s CPU, "
        f"{cost.wall_s * each:6.2f} and {cost.cpu_s * each:6.2f} ms a trial"
        for name, cost in [*night.stages.items(), ("all stages", night.staged)]
    ]
    peaks = ", ".join(f"{kind} {mb:.0f}" for kind, mb in night.peak_mb.items())
    kinds = ", ".join(f"{kind} {seconds:g}" for kind, seconds in night.kinds_cpu_s.items())
    opens = "not measured" if night.page_opens_s is None else f"{night.page_opens_s} s"
    return "\n".join(
        [
            f"{night.trials} trials, {night.workers} workers: {night.wall_s} s, {night.cpu_s} s "
            f"CPU with the start of all parts ({kinds})",
            *stages,
            f"    peak MB: {peaks}",
            f"    database {night.database_mb} MB, {night.artifacts} artifacts; page "
            f"{night.page_mb} MB, opens in {opens}",
        ]
    )


def growth(nights: Sequence[Night]) -> Iterator[str]:
    """Yield what a further trial costs from one size to the next, and how flat the cost is."""
    ordered = sorted(nights, key=lambda night: (night.workers, night.trials))
    for fewer, more in pairwise(ordered):
        further = more.trials - fewer.trials
        if further > 0 and more.workers == fewer.workers:
            wall = (more.staged.wall_s - fewer.staged.wall_s) / further * 1000
            cpu = (more.staged.cpu_s - fewer.staged.cpu_s) / further * 1000
            yield (
                f"from {fewer.trials} to {more.trials} trials: {wall:.2f} ms and {cpu:.2f} ms of "
                f"CPU a further trial; a trial of the larger night takes {_ratio(fewer, more):.2f} "
                "times the CPU of one of the smaller"
            )


def _ratio(fewer: Night, more: Night) -> float:
    least = fewer.staged.cpu_s / fewer.trials
    return more.staged.cpu_s / more.trials / least if least else float("inf")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, nargs="+", default=[1_000], help="sizes of nights")
    parser.add_argument("--workers", type=int, nargs="+", default=[2], help="Dask workers")
    parser.add_argument("--in-flight", type=int, default=25, help="trials in flight in each")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
