"""How long the pages over many nights take to build, to grow by a night, and to open.

`python benchmarks/site.py [--nights 60] [--tasks 70] [--agents 4] [--repetitions 4] [--keep DIR]`

The default is a store of 100,000 trials over 60 nights. The history is simulated, and named so.
"""

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from load.browsing import openings
from load.nights import Simulation, morning, summary

from dashboards.site.write import Written, write_site
from taskdata.schema.night import Morning, Night

PAGES = ("index", "trends", "leaderboard", "failures", "tasks", "nights")


def parsed() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--tasks", type=int, default=70)
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--keep", type=Path, help="write the site there and leave it")
    return parser.parse_args()


def mornings(nights: Iterator[Night]) -> Iterator[tuple[Night, Morning]]:
    """Yield every night with what it means."""
    before = None
    for night in nights:
        first = Morning(run_id=night.run_id, false_alarm_rate=0.05)
        yield night, first if before is None else morning(before, night)
        before = night


def main() -> None:
    """Print what the site costs."""
    wanted = parsed()
    simulation = Simulation(wanted.nights, wanted.tasks, wanted.agents, wanted.repetitions)
    print(f"{wanted.nights} nights of {simulation.trials:,} trials")
    folder = wanted.keep or Path(tempfile.mkdtemp())
    try:
        measure(folder / "site", simulation)
    finally:
        if wanted.keep is None:
            shutil.rmtree(folder)


def measure(folder: Path, simulation: Simulation) -> None:
    """Print the times of a whole build, of one more night, and of opening pages."""
    *stored, (last, last_morning) = mornings(simulation.history())
    nights = [night for night, _ in stored]
    all_but_one = {m.run_id: m for _, m in stored}
    report = summary(nights[-1]) if nights else None
    tell("whole site", lambda: write_site(folder, nights, all_but_one, report))
    report, only = summary(last), {last.run_id: last_morning}
    tell("one more night", lambda: write_site(folder, [*nights, last], only, report))
    files = [path for path in folder.rglob("*") if path.is_file()]
    total = sum(path.stat().st_size for path in files) / 1e6
    print(f"on disk         {len(files)} files, {total:.1f} MB")
    print(f"peak memory     {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    opened(folder)


def tell(what: str, write: Callable[[], Written]) -> None:
    """Write, and print one line about it."""
    began, worked = time.perf_counter(), time.process_time()
    written = write()
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    print(
        f"{what:15} {seconds:6.2f} s ({worked:.2f} s CPU), {written.pages} pages written, "
        f"{written.kept} kept, largest {written.largest / 1e6:.2f} MB"
    )


def opened(folder: Path) -> None:
    """Print how long pages take to open."""
    task = next(iter(sorted((folder / "tasks").iterdir())))
    found = list(openings([*(folder / f"{name}.html" for name in PAGES), task]))
    if not found:
        print("opening         not measured: no Chromium on the PATH")
    for one in found:
        page = one.page.relative_to(folder)
        print(f"opening         {one.seconds:6.2f} s ({one.cpu_s:.2f} s CPU), {page}")


if __name__ == "__main__":
    main()
