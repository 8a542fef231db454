"""How long a large bank takes to import, list and gate, and how its memory grows.

`python benchmarks/bank_import.py [tasks]`

Every import runs in a process of its own, so that its peak of memory is its own.
"""

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from environments.tool_runtime.catalogue import catalogue
from quality.gates import hold
from quality.suites.checkpoint_trees import checkpoint_trees_suite, tree_rows
from quality.suites.tasks import TaskRules, task_rows, tasks_suite
from stages.release.importing import ImportReport, import_bank
from stages.score.library import check_library
from taskdata.formats.registry import writer
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.outline import TaskFilter
from taskdata.schema.task import (
    Capability,
    Category,
    DeliverableSpec,
    DeliverableType,
    InputFile,
    Task,
    Tier,
)
from taskdata.store import Store, StoreAddress

FORMATS = ("jsonl", "gta-workflow")
INPUT = b"region,quarter,units\nnorth,1,1204\nsouth,1,988\n"


def synthetic(count: int, sha256: str) -> Iterator[Task]:
    """Yield tasks of about the size of published ones: a page of query, ten nodes of tree."""
    categories, capabilities = list(Category), list(Capability)
    file = InputFile(path="sales.csv", sha256=sha256, size_bytes=len(INPUT))
    for number in range(count):
        yield Task(
            id=f"synthetic-{number:06d}",
            tier=Tier.WORKFLOW,
            category=categories[number % len(categories)],
            capabilities=(capabilities[number % 4], Capability.LOGIC)[: 1 + number % 2],
            title=f"Report number {number} on the sales of a region",
            query=f"Branch {number} needs its report. " + "Compare the quarters with care. " * 30,
            files=(file,),
            tools=("ReadCSV", "Calculator", "DocxFileGenerator", "finish"),
            deliverables=(DeliverableSpec(name="report.docx", type=DeliverableType.DOCX),),
            checkpoints=_tree(number),
        )


def _tree(number: int) -> Checkpoint:
    parts = tuple(
        Checkpoint(
            id=f"part-{part}",
            requirement=f"Part {part} of report {number} is complete and agrees with the table.",
            weight=part,
            children=tuple(_leaf(number, part, leaf) for leaf in range(3)),
        )
        for part in range(1, 4)
    )
    return Checkpoint(id="root", requirement="The report can be sent.", children=parts)


def _leaf(number: int, part: int, leaf: int) -> Checkpoint:
    names = {"all": [[f"quarter {leaf}"], [str(number + part)]]}
    verifier = (
        Judge(rubric="10: clear to a manager. 0: not at all.", deliverables=("report.docx",))
        if leaf == 0
        else Check(name="text_contains", deliverable="report.docx", args=names)
    )
    return Checkpoint(
        id=f"leaf-{part}-{leaf}",
        requirement=f"Quarter {leaf} of part {part} is explained with its number {number}.",
        verifier=verifier,
    )


def imported(home: Path, format: str, path: Path, answer: "multiprocessing.Queue[float]") -> None:
    """Import in this process; answer with seconds, of them on the CPU, growth of memory, tasks."""
    store = Store.open(address(home))
    before = peak_mb()
    began, worked = time.perf_counter(), time.process_time()
    report: ImportReport = import_bank(store, "synthetic", format, path)
    answer.put(time.perf_counter() - began)
    answer.put(time.process_time() - worked)
    answer.put(peak_mb() - before)
    answer.put(report.imported)


def peak_mb() -> float:
    """Return the peak of this process's resident memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def address(home: Path) -> StoreAddress:
    """Return a store of its own below `home`."""
    return StoreAddress(
        database_url=f"sqlite:///{home}/night.db", artifacts_url=f"file://{home}/artifacts"
    )


def measure_import(folder: Path, format: str, count: int) -> None:
    """Print how long an import of so many tasks takes and what it needs."""
    context = multiprocessing.get_context("spawn")
    path, home = folder / format / str(count), folder / f"home-{format}-{count}"
    tasks = synthetic(count, file_hash(folder))
    writer(format)(tasks, path, lambda _, target: write(target), force=False)
    answer: multiprocessing.Queue[float] = context.Queue()
    process = context.Process(target=imported, args=(home, format, path, answer))
    process.start()
    seconds, worked, grown, done = (answer.get() for _ in range(4))
    process.join()
    size = sum(p.stat().st_size for p in path.glob("*.json*")) / 1e6
    print(
        f"{format:13} {int(done):6} tasks, {size:5.1f} MB: {seconds:5.1f} s "
        f"({worked:.1f} s CPU), peak + {grown:.0f} MB"
    )


def measure_list(folder: Path, count: int) -> None:
    """Print how long it takes to list the tasks of a release, all and filtered."""
    store = Store.open(address(folder / f"home-jsonl-{count}"))
    for wanted in (TaskFilter(), TaskFilter(category=Category.DATA_ANALYSIS, tool="ReadCSV")):
        began = time.perf_counter()
        release = store.locate_release("synthetic")
        found = store.outlines(release.hash, wanted) if release else []
        seconds = time.perf_counter() - began
        print(f"list          {len(found):6} of {count} tasks: {seconds:.2f} s")


def measure_gates(count: int, sha256: str) -> None:
    """Print how long the gates over tasks and their trees take."""
    tasks = list(synthetic(count, sha256))
    began, worked = time.perf_counter(), time.process_time()
    rows, tools = task_rows(tasks, set(catalogue())), set(catalogue())
    suite = tasks_suite(TaskRules(), tools, set(check_library()))
    result, _ = hold(suite, rows, "benchmark")
    trees, _ = hold(checkpoint_trees_suite(), tree_rows(tasks, set(catalogue())), "benchmark")
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    broken = [failure.expectation for failure in (*result.failures, *trees.failures)]
    print(
        f"gates         {count:6} tasks: {seconds:.1f} s ({worked:.1f} s CPU); "
        f"broken: {json.dumps(broken)}"
    )


def file_hash(folder: Path) -> str:
    """Return the hash of the one input file that the tasks share."""
    from taskdata.artifacts import sha256_of

    path = folder / "input.csv"
    write(path)
    return sha256_of(path)


def write(target: Path) -> None:
    """Write the input file."""
    target.write_bytes(INPUT)


def main() -> None:
    """Print every measurement."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for format in FORMATS:
            for tasks in (count // 5, count):
                measure_import(folder, format, tasks)
        measure_list(folder, count)
        measure_gates(count, file_hash(folder))


if __name__ == "__main__":
    main()
