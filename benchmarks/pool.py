"""Measures what a night over a pool costs besides its model: set-up, servers, database, harness.

The benchmark imports the small pool of the tests with a database dump of the given size, and runs
it through the whole execute stage: sandboxes, PostgreSQL, preprocess programs, the HTTP servers
that these leave running, and MCP servers. The model is a local server that answers each turn after
a fixed time with one call of an MCP server's tool.

`python benchmarks/pool.py [--trials 40] [--in-flight 10] [--latency 0.2] [--turns 20] [--json]`
"""

import argparse
import json
import os
import resource
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import median

import yaml
from load.model_server import model_server
from load.planning import agent_of, new_store, store_run

from environments.mcp import install
from environments.mcp.servers import server
from stages.execute import work
from stages.release.importing import import_bank
from taskdata.banks.found import find_bank
from taskdata.schema.run import OutcomeStatus, RunConfig, TrialOutcome
from taskdata.schema.task import Task
from taskdata.schema.transcript import Transcript
from taskdata.store import Store

_TESTS = Path(__file__).parents[1] / "tests"
_POOL = _TESTS / "pool"
_SERVER = _TESTS / "stages" / "execute" / "pool_server.py"
_SERVERS = ("filesystem", "powerpoint", "ledger")
_TOOL = ("filesystem_write", {"path": "output/note.txt", "text": "a note"})
_TASKS = ("minutes", "opening-hours", "club-poster", "member-fees")
"""The tasks whose MCP server has the tool."""


@dataclass(frozen=True)
class Share:
    """How the wall time of one trial divides, in seconds."""

    whole: float
    set_up: float
    """Services, preprocess program, sandbox and MCP servers, and their end."""
    database: float | None
    """The part of the set-up until PostgreSQL was healthy; None without a database."""
    model: float
    """The time in which the model answered."""
    tools: float
    """The time from the tool calls to their results."""

    @property
    def harness(self) -> float:
        """The time that belongs neither to the model, nor to the tools, nor to the set-up."""
        return max(0.0, self.whole - self.set_up - self.model - self.tools)


@dataclass(frozen=True)
class Cost:
    """What the whole night took."""

    trials: int
    seconds: float
    cpu_seconds_per_trial: float
    """CPU time of this process and all programs that it ran, set-up included."""
    own_cpu_seconds_per_trial: float
    """CPU time of this process alone, set-up included."""
    harness_share: float
    """Share (0-1) of harness and tools in the trials' wall time without set-up."""
    harness_share_without_tools: float
    cpu_share: float
    """CPU time of a trial, with its programs and set-up, divided by the model's time."""
    set_up_seconds: float
    """Median."""
    database_seconds: float | None
    """Median until PostgreSQL was healthy, from the template."""
    slowest_database_seconds: float | None
    load_average: float
    """The machine's load average over the last minute when the night ended."""


def main() -> None:
    """Print what the night cost."""
    options = _options()
    with model_server(options.latency, options.turns, tool=_TOOL) as url, new_store() as made:
        store, folder = made
        tasks = _imported(store, folder, options.dump_rows)
        # The first trial makes the template of the database, which is kept.
        _run(store, folder, url, "warm-up", tasks, len(tasks), 1, options.latency)
        of_night = (options.trials, options.in_flight, options.latency)
        cost = _run(store, folder, url, "night", tasks, *of_night)
    print(json.dumps(asdict(cost)) if options.json else _described(cost, options))


def _imported(store: Store, folder: Path, rows: int) -> list[Task]:
    pool = Path(shutil.copytree(_POOL, folder / "pool"))
    with (pool / "db" / "init.sql").open("a", encoding="utf-8") as dump:
        dump.write("COPY ledger.entries FROM stdin;\n")
        dump.writelines(f"{n}\tMember {n}\t{n}\n" for n in range(1_000, 1_000 + rows))
        dump.write("\\.\n")
    _install_servers(folder)
    import_bank(store, "club", "toolathlon", pool)
    names = [f"toolathlon-{name}" for name in _TASKS]
    return list(find_bank(store, "club").tasks(names))


def _install_servers(home: Path) -> None:
    """Put a small server where those of the pool would be installed."""
    entry = {
        "about": "-",
        "registry": "pypi",
        "package": "p",
        "version": "1",
        "module": "pool_server",
    }
    entries = {
        name: entry | {"arguments": [name], "check": {"tool": f"{name}_write"}} for name in _SERVERS
    }
    (home / "mcp").mkdir()
    (home / "mcp" / "servers.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
    for name in _SERVERS:
        known = server(name, home)
        place = install.folder_of(known, home)
        place.mkdir(parents=True)
        shutil.copy(_SERVER, place)
        (place / "installed.json").write_text(install._stamp(known), encoding="utf-8")
    for path in (home, home / "mcp", *(home / "mcp").rglob("*")):
        path.chmod(0o755)


def _run(
    store: Store,
    home: Path,
    url: str,
    run_id: str,
    tasks: Sequence[Task],
    trials: int,
    in_flight: int,
    latency: float,
) -> Cost:
    planned = _plan(store, url, run_id, tasks, trials, in_flight)
    began, before = time.perf_counter(), _cpu_seconds()
    work.do(store, run_id, 0, home)
    taken = time.perf_counter() - began
    own, others = (now - then for now, then in zip(_cpu_seconds(), before, strict=True))
    outcomes = [store.outcome(trial_id) for trial_id in planned]
    failed = [o.error for o in outcomes if o is None or o.status is not OutcomeStatus.FINISHED]
    if failed:
        raise SystemExit(f"{len(failed)} of {trials} trials failed: {failed[0]}")
    shares = [_share(o, store.transcript(o.trial_id), latency) for o in outcomes if o is not None]
    working = sum(share.whole - share.set_up for share in shares)
    harness, tools = sum(s.harness for s in shares), sum(s.tools for s in shares)
    databases = [share.database for share in shares if share.database is not None]
    return Cost(
        trials=trials,
        seconds=round(taken, 1),
        cpu_seconds_per_trial=round((own + others) / trials, 2),
        own_cpu_seconds_per_trial=round(own / trials, 2),
        harness_share=round((harness + tools) / working, 3),
        harness_share_without_tools=round(harness / working, 3),
        cpu_share=round((own + others) / sum(share.model for share in shares), 3),
        set_up_seconds=round(median(share.set_up for share in shares), 2),
        database_seconds=round(median(databases), 2) if databases else None,
        slowest_database_seconds=round(max(databases), 2) if databases else None,
        load_average=round(os.getloadavg()[0], 1),
    )


def _plan(
    store: Store, url: str, run_id: str, tasks: Sequence[Task], trials: int, in_flight: int
) -> list[str]:
    agent = agent_of("openai", url)
    repetitions = -(-trials // len(tasks))
    release = store.add_release(run_id, tasks, {})
    config = RunConfig(
        bank="club",
        agents=(agent,),
        repetitions=repetitions,
        refinement_rounds=0,
        workers=1,
        trials_per_worker=in_flight,
    )
    numbered = ((task, number) for number in range(repetitions) for task in tasks)
    planned = store_run(store, run_id, config, release.hash, islice(numbered, trials))
    return [trial.id for trial in planned]


def _share(outcome: TrialOutcome, transcript: Transcript, latency: float) -> Share:
    whole = (outcome.finished_at - outcome.started_at).total_seconds()
    services = outcome.limits.services if outcome.limits else ()
    return Share(
        whole=whole,
        set_up=whole - (outcome.wall_seconds or 0.0),
        database=services[0].seconds if services else None,
        model=latency * (outcome.turns or 0),
        tools=sum(event.seconds for event in transcript.tool_events),
    )


def _described(cost: Cost, options: argparse.Namespace) -> str:
    database = "no database"
    if cost.database_seconds is not None:
        database = (
            f"PostgreSQL ready after {cost.database_seconds} s "
            f"(at most {cost.slowest_database_seconds} s)"
        )
    return (
        f"{cost.trials} trials of {options.turns} calls, {options.in_flight} in flight, a model of "
        f"{options.latency:g} s: {cost.seconds} s on {os.cpu_count()} CPUs, "
        f"load {cost.load_average}\n"
        f"harness: {cost.harness_share:.1%} of the trials' time without set-up, "
        f"{cost.harness_share_without_tools:.1%} without the time of tools; "
        f"{cost.cpu_seconds_per_trial} s of CPU a trial with set-up, "
        f"{cost.own_cpu_seconds_per_trial} s of it in this process, or {cost.cpu_share:.1%} of "
        "what its model takes\n"
        f"set-up {cost.set_up_seconds} s a trial, of which {database}"
    )


def _cpu_seconds() -> tuple[float, float]:
    """Return the CPU time of this process, and of the programs that it ran and that ended."""
    own, others = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--in-flight", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds of a model call")
    parser.add_argument("--turns", type=int, default=20, help="calls of a tool in a trial")
    parser.add_argument(
        "--dump-rows", type=int, default=100_000, help="rows in the dump of the database"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
