"""What a trial costs a whole night as nights grow: the DAG from its first gate to the dashboard.

`nightshift run` itself does the night, with a model that answers at once and a task with nothing to
do, so that what is left is orchestration, one model call and one score a trial. The cost of a trial
must not depend on how many there are.

`python benchmarks/scale.py [--trials 1000] [--workers 2] [--json]`; with `--workers 1 3` the same
night with each, against a model that takes `--latency` seconds; `--straggler` has one call take
that many seconds and tells when all other trials had ended.
"""

import argparse
import json
import re
import resource
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from load.memory import peaks_of
from load.model_server import model_server
from load.planning import agent_of, new_store, plan
from load.resumed_night import carried_on, serve_once

from taskdata.store import Store

_STAGE = re.compile(
    r"(?P<name>[a-z]+(?: [a-z]+)?)(?: \(round \d+\))?: .*\bin (?P<seconds>\d+\.\d) s"
)
_SHARED = ("execute", "score")
"""Stages whose trials the workers share."""


@dataclass(frozen=True)
class Night:
    """Of one night."""

    trials: int
    workers: int
    ms_per_trial: float
    """All stages together, for each trial."""
    stages_s: dict[str, float]
    cpu_s: float
    """Of the command and its workers, all stages and their start."""
    whole_s: float
    """From the call of the command to its end: Prefect and the workers start once a night."""
    peak_mb: dict[str, float]
    """Of one process of each kind."""
    database_mb: float
    artifacts: int
    page_mb: float
    others_ended_s: float | None = field(default=None)
    """When all trials but the last had ended, from the beginning of the first."""
    all_ended_s: float | None = field(default=None)

    @property
    def shared_s(self) -> float:
        """Seconds of the stages that the workers share."""
        return sum(self.stages_s.get(stage, 0.0) for stage in _SHARED)


def main() -> None:
    """Print each night's figures, and what more workers gained."""
    options = _options()
    nights = []
    for trials in options.trials:
        for workers in options.workers:
            with model_server(options.latency, 0, straggler=options.straggler) as url:
                nights.append(night_of(url, trials, workers, options.in_flight))
            if not options.json:
                print(described(nights[-1]), flush=True)
    if options.json:
        print(json.dumps([asdict(night) for night in nights]))
        return
    for line in (*growth(nights), *gains(nights)):
        print(line)


def night_of(url: str, trials: int, workers: int, in_flight: int) -> Night:
    """Do a night of so many trials in a home of its own."""
    with new_store() as (store, home):
        plan(store, "run", agent_of("openai", url), trials, in_flight, workers=workers)
        serve_once(home)
        used = _cpu_seconds()
        with peaks_of(home) as peaks:
            _, lines = carried_on(home, store.address.artifacts_url, "run", None)
        used = _cpu_seconds() - used
        found = [_STAGE.match(line.text) for line in lines]
        stages = [(one["name"], float(one["seconds"])) for one in found if one is not None]
        took = {name: round(sum(s for n, s in stages if n == name), 1) for name, _ in stages}
        ends = sorted(_ends(store))
        if len(ends) != trials:
            raise SystemExit(f"only {len(ends)} of {trials} trials finished")
        return Night(
            trials=trials,
            workers=workers,
            ms_per_trial=round(sum(took.values()) / trials * 1000, 2),
            stages_s=took,
            cpu_s=round(used, 1),
            whole_s=round(lines[-1].at, 1),
            peak_mb=dict(sorted(peaks.items())),
            database_mb=_megabytes(home.glob("nightshift.db*")),
            artifacts=sum(1 for path in (home / "files").rglob("*") if path.is_file()),
            page_mb=_megabytes(home.glob("runs/*/dashboard.html")),
            others_ended_s=round(ends[-2] - ends[0], 1) if trials > 1 else None,
            all_ended_s=round(ends[-1] - ends[0], 1),
        )


def _ends(store: Store) -> Iterator[float]:
    for result in store.results("run"):
        if result.outcome is not None and result.score is not None:
            began = result.outcome.started_at.timestamp()
            yield began + (result.outcome.wall_seconds or 0.0)


def _cpu_seconds() -> float:
    """Return the CPU time of programs that this process ran and that ended, with theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _megabytes(paths: Iterator[Path]) -> float:
    return round(sum(path.stat().st_size for path in paths) / 1e6, 1)


def described(night: Night) -> str:
    """Return a night's figures as a person reads them."""
    stages = ", ".join(f"{name} {seconds}" for name, seconds in night.stages_s.items())
    peaks = ", ".join(f"{kind} {mb:.0f}" for kind, mb in night.peak_mb.items())
    return (
        f"{night.trials:7} trials, {night.workers} workers: {night.ms_per_trial:.2f} ms a trial; "
        f"{night.whole_s} s and {night.cpu_s} s of CPU in all, by stage: {stages}\n"
        f"        peak MB: {peaks}; database {night.database_mb} MB, {night.artifacts} artifacts, "
        f"page {night.page_mb} MB; all trials but one had ended after {night.others_ended_s} s, "
        f"the last after {night.all_ended_s} s"
    )


def growth(nights: Sequence[Night]) -> Iterator[str]:
    """Yield what a further trial costs from one size to the next, the start of a night left out."""
    for fewer, more in pairwise(sorted(nights, key=lambda n: (n.workers, n.trials))):
        further = more.trials - fewer.trials
        if further > 0 and more.workers == fewer.workers:
            stages = sum(more.stages_s.values()) - sum(fewer.stages_s.values())
            yield (
                f"from {fewer.trials} to {more.trials} trials: {stages / further * 1000:.2f} ms "
                f"and {(more.cpu_s - fewer.cpu_s) / further * 1000:.2f} ms of CPU a further trial"
            )


def gains(nights: Sequence[Night]) -> Iterator[str]:
    """Yield, for each size, what more workers gained over the fewest."""
    for trials in sorted({night.trials for night in nights}):
        same = sorted((n for n in nights if n.trials == trials), key=lambda n: n.workers)
        fewest = same[0]
        for night in same[1:]:
            times = fewest.shared_s / night.shared_s if night.shared_s else 0.0
            share = times * fewest.workers / night.workers
            yield (
                f"{trials} trials: {night.workers} workers are {times:.2f} times as fast as "
                f"{fewest.workers} in execute and score: efficiency {share:.0%}"
            )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, nargs="+", default=[1_000], help="sizes of nights")
    parser.add_argument("--workers", type=int, nargs="+", default=[2], help="Dask workers")
    parser.add_argument("--in-flight", type=int, default=25, help="trials in flight in each")
    parser.add_argument(
        "--latency", type=float, default=0.0, help="seconds until the model answers"
    )
    parser.add_argument("--straggler", type=float, default=0.0, help="seconds that one call takes")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
