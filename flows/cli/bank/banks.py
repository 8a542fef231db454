"""Commands that look at task banks, take them in and give them away."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli import console
from flows.cli.bank.cases import write_case
from flows.cli.bank.options import ReviewerOption, reviewer_of
from flows.cli.bank.trees import write_tree
from flows.cli.options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flows.cli.bank.pool_servers import Say
    from flows.config import Settings
    from stages.release.importing import ImportReport
    from taskdata.schema.outline import TaskFilter, TaskOutline
    from taskdata.schema.release import ReferenceKind
    from taskdata.schema.task import Task
    from taskdata.schema.withdrawal import Withdrawal
    from taskdata.store import Store

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

_SHOWN = 100

BankOption = Annotated[
    str, typer.Option(help="Bundled bank, folder of tasks, or release (name, name@version, hash).")
]
FormatArgument = Annotated[str, typer.Argument(help="Format; an unknown one names them all.")]
PathArgument = Annotated[Path, typer.Argument(help="File or folder.")]


@app.command("list")
def list_tasks(
    bank: Annotated[
        str | None,
        typer.Option(help="Bundled bank, folder, or release; default: starter, and all names."),
    ] = None,
    tier: Annotated[str | None, typer.Option(help="Only this tier.")] = None,
    category: Annotated[str | None, typer.Option(help="Only this category.")] = None,
    capability: Annotated[str | None, typer.Option(help="Only with this capability.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only tasks that may use this tool.")] = None,
    source: Annotated[str | None, typer.Option(help="Only from this source.")] = None,
    language: Annotated[
        str | None, typer.Option(help="Only with a query in this language, such as de.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the tasks of a bank, and the banks there are."""
    from taskdata.banks.found import find_bank

    wanted = _filter(tier=tier, category=category, capability=capability, tool=tool, source=source)
    store = _store()
    name = "starter" if bank is None else bank
    bank_found = find_bank(store, name)
    found = bank_found.outlines(wanted)
    if language is not None:
        from quality.language import language_of

        asked = bank_found.tasks([task.id for task in found]) if found else ()
        ids = {task.id for task in asked if language_of(task.query) == language}
        found = [task for task in found if task.id in ids]
    shown = found[:limit]
    stored = [] if bank is not None else [_stored(b) for b in store.stored_banks()]
    withdrawn = store.withdrawals()
    if as_json:
        answer = {"bank": name, "count": len(found)}
        tasks = [_described(task, withdrawn.get(task.hash)) for task in shown]
        console.write_json(answer | {"tasks": tasks} | ({"stored": stored} if bank is None else {}))
        return
    with_cases = any(task.case for task in shown)
    console.table(
        [_line(t, withdrawn.get(t.hash), with_cases=with_cases) for t in shown[:_SHOWN]],
        title=f"Bank {name}: {len(found)} tasks",
        optional=("deliverables", "category", "by code", "steps", "leaves", "minutes"),
    )
    hidden = len(found) - len(shown[:_SHOWN])
    if hidden:
        console.say(f"... and {hidden} more; --limit, the filters and --json show others")
    for tombstone in _tombstones(found, withdrawn):
        console.say(f"Withdrawn: {tombstone.task_id}, {tombstone.told}")
    if bank is None:
        _name_banks(name, stored)


@app.command()
def show(
    task_id: Annotated[str, typer.Argument(help="Task id, as in `bank list`.")],
    bank: BankOption = "starter",
    as_json: JsonOption = False,
) -> None:
    """Show one task: query, files, tools, deliverables and checkpoint tree."""
    from flows.cli.bank.readiness import missing_needs
    from flows.cli.bank.sheets import write_coverage
    from stages.release.coverage import coverage_of
    from taskdata.banks.found import find_bank

    store = _store()
    found = find_bank(store, bank, [task_id])
    (task,) = found.tasks([task_id])
    (missing,) = missing_needs(store, found, [task], bank)
    tombstone = store.withdrawals().get(task.content_hash)
    kind = _reference_kind(store, bank, task)
    decisions = store.decisions_in_release(bank, task.id)
    coverage = coverage_of(store, task, store.find_release(bank))
    if as_json:
        whole = task.model_dump(mode="json") | {"hash": task.content_hash, "reference_kind": kind}
        if tombstone is not None:
            whole["withdrawn"] = tombstone.model_dump(mode="json")
        told = [one.model_dump(mode="json") for one in decisions]
        needs = [need.model_dump() for need in missing]
        mapped = None if coverage is None else [one.model_dump(mode="json") for one in coverage]
        console.write_json(whole | {"missing": needs, "decisions": told, "coverage": mapped})
        return
    console.say(f"{task.title} ({task.tier.value}, {task.category.value})")
    if tombstone is not None:
        console.say(f"Withdrawn on {tombstone.told}")
    console.say(f"Hash {task.content_hash}\n")
    console.block(task.query, indent=0)
    console.say("Files:        " + (", ".join(f.path for f in task.files) or "none"))
    console.say("Tools:        " + ", ".join(task.tools))
    console.say("Deliverables: " + (", ".join(d.name for d in task.deliverables) or "the answer"))
    console.say("Difficulty:   " + _difficulty(task))
    console.paragraph("Reference:    " + kind.reason)
    if task.environment is not None:
        console.say("Servers:      " + (", ".join(task.environment.servers) or "none"))
    if task.image is not None:
        console.say(f"Image:        {task.image.name}, working folder {task.image.workdir}")
    _write_package(task)
    if task.planning is not None:
        write_case(task.planning)
    for one in decisions:
        rule = f" {one.rule}" if one.rule else ""
        console.paragraph(f"{one.kind.capitalize()}{rule} by {one.by}: {one.reason or 'no reason'}")
    for need in missing:
        console.say(f"Missing:      {need.kind} {need.name}: {need.state}")
    console.say("Checkpoints:")
    write_tree(task.checkpoints)
    if coverage is not None:
        write_coverage(coverage)


def _difficulty(task: "Task") -> str:
    """Return what tells how much a task demands."""
    leaves = len(task.checkpoints.leaves())
    steps = "none" if task.reference is None else len(task.reference.steps)
    return f"human minutes {task.human_minutes}, leaves {leaves}, steps of the reference {steps}"


def _reference_kind(store: "Store", bank: str, task: "Task") -> "ReferenceKind":
    """Return the kind of a task's reference as its release records it."""
    from stages.release.release import supplied_reference

    released = store.find_release(bank)
    kinds = {e.task_hash: e.reference for e in released.lineage} if released else {}
    return kinds.get(task.content_hash) or supplied_reference(task)


def _write_package(task: "Task") -> None:
    package = task.package
    if package is None:
        return
    kind = [package.family, package.subcategory, package.difficulty]
    if named := [str(part).replace("_", " ") for part in kind if part]:
        console.say("Kind:         " + ", ".join(named))
    if package.role:
        console.say(f"Role:         {package.role}")
    for number, rule in enumerate(package.domain_rules, start=1):
        console.say(f"Rule {number}:       {rule}")
    if package.user is not None:
        console.say(
            "Turns:        multi, a simulated user answers up to "
            f"{package.user.max_exchanges} times and is told:"
        )
        told = (package.user.persona, package.user.instructions)
        console.block("\n\n".join(filter(None, told)), indent=4)


@app.command("import")
def import_(
    format: FormatArgument,
    path: PathArgument,
    bank: Annotated[
        str | None, typer.Option(help="Name of the bank; default: that of the format.")
    ] = None,
    category: Annotated[
        str | None, typer.Option(help="Category of tasks that name none; default: retrieval_qa.")
    ] = None,
    licence: Annotated[
        str | None, typer.Option(help="Licence of tasks that name none, such as Apache-2.0.")
    ] = None,
    let_in: Annotated[
        list[str] | None,
        typer.Option(
            help="A task to import although a safety rule or a withdrawal stops it; `all`: every "
            "one. Repeatable.",
            show_default=False,
        ),
    ] = None,
    reason: Annotated[str, typer.Option(help="Why --let-in; the release shows it.")] = "",
    reviewer: ReviewerOption = None,
    install: Annotated[
        bool, typer.Option(help="Build the MCP servers that the tasks bring as source.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Import a bank from a file or folder: jsonl, parquet, inspect, gta-*, toolathlon, harbor."""
    from flows.config import load_settings
    from stages.release.admission import NOBODY, LetIn
    from stages.release.importing import import_bank

    wanted = _filter(category=category).category
    name = format if bank is None else bank
    settings, store = load_settings(), _store()
    let = LetIn(frozenset(let_in), reason, reviewer_of(reviewer)) if let_in else NOBODY
    report = import_bank(store, name, format, path, wanted, licence, settings.safety, let)
    if as_json:
        console.write_json(report.model_dump(mode="json"))
    else:
        _write_report(report)
    if not report.imported:
        why = "see the reasons above" if report.rows else "there is none"
        console.error(f"{path}: no row of it became a task; {why}")
        raise typer.Exit(1)
    if install:
        _install_pool_servers(store, name, console.note if as_json else console.say)


def _install_pool_servers(store: "Store", bank: str, say: "Say") -> None:
    """Build the servers that the pool brings; the import succeeds even if a build fails."""
    from flows.cli.bank.pool_servers import install_pool_servers
    from flows.config import load_settings
    from taskdata.errors import Misuse

    try:
        states = install_pool_servers(store, load_settings(), bank, say=say)
    except Misuse as exc:
        say(f"The pool's MCP servers were not built: {exc}")
        return
    if not all(states.values()):
        say(f"To try the others again, run: nightshift mcp install --bank {bank}")


def _store() -> "Store":
    from flows.config import load_settings
    from taskdata.store import Store

    settings: Settings = load_settings()
    return Store.open(settings.address)


def _filter(**wanted: str | None) -> "TaskFilter":
    from pydantic import ValidationError

    from taskdata.errors import Misuse
    from taskdata.schema.outline import TaskFilter

    try:
        return TaskFilter.model_validate(wanted)
    except ValidationError as exc:
        fault = exc.errors(include_url=False)[0]
        raise Misuse(f"--{fault['loc'][0]} {fault['input']!r}: {fault['msg']}") from exc


def _described(task: "TaskOutline", tombstone: "Withdrawal | None") -> dict[str, Any]:
    fields = task.model_dump(mode="json")
    if tombstone is not None:
        fields["withdrawn"] = tombstone.model_dump(mode="json")
    return fields


def _tombstones(
    tasks: "list[TaskOutline]", withdrawn: "Mapping[str, Withdrawal]"
) -> "list[Withdrawal]":
    found = [withdrawn[task.hash] for task in tasks if task.hash in withdrawn]
    return found[:_SHOWN]


def _line(
    task: "TaskOutline", tombstone: "Withdrawal | None", *, with_cases: bool
) -> dict[str, str]:
    return {
        "task": task.id + (" (withdrawn)" if tombstone else ""),
        "tier": task.tier.value,
        **({"case": str(task.case or "")} if with_cases else {}),
        "category": task.category.value,
        "title": task.title,
        "minutes": _counted(task.human_minutes),
        "leaves": str(task.leaves),
        "steps": _counted(task.steps),
        "by code": f"{task.checkable_share:.0%}",
        "deliverables": ", ".join(task.deliverables) or "answer",
    }


def _counted(number: int | None) -> str:
    return "-" if number is None else str(number)


def _stored(bank: Any) -> dict[str, Any]:
    return {
        "bank": bank.name,
        "version": bank.version,
        "release": bank.release_hash,
        "tasks": bank.tasks,
        "created_at": bank.created_at.isoformat(timespec="seconds"),
    }


def _name_banks(name: str, stored: list[dict[str, Any]]) -> None:
    from taskdata.banks.loader import bundled_banks

    others = ", ".join(other for other in bundled_banks() if other != name)
    if others:
        console.say(f"Other bundled banks: {others}")
    for bank in stored:
        console.say(f"Stored: {bank['bank']}@{bank['version']}, {bank['tasks']} tasks")


def _write_report(report: "ImportReport") -> None:
    if report.release is not None:
        console.say(f"Bank {report.bank}@{report.version}: {report.imported} tasks imported")
        console.say(f"Hash {report.release}")
    for label, counts in (("Assumed", report.assumed), ("Left out", report.ignored)):
        if counts:
            named = ", ".join(f"{name} ({rows})" for name, rows in sorted(counts.items()))
            console.say(f"{label}: {named}")
    if "licence" in report.assumed:
        console.say("The licence of some tasks is unknown; `--licence` names it, if you know it.")
    if not report.quarantined:
        return
    rows = [
        {
            "file": row.origin,
            "row": str(row.row or ""),
            "task": row.item or "",
            "field": row.field or "",
            "reason": row.reason,
        }
        for row in report.reasons
    ]
    twice = f", {report.duplicates} of them duplicates" if report.duplicates else ""
    console.table(rows, title=f"{report.quarantined} rows in quarantine{twice}")
    if report.quarantined > len(rows):
        console.say(f"... and {report.quarantined - len(rows)} more")
    if any(row.rule for row in report.reasons):
        console.say("`--let-in TASK --reason WHY` imports a task that a rule stops")
