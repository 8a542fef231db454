"""The command that proves a bank: what must pass passes, and what must not does not."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli import console
from flows.cli.options import JsonOption

if TYPE_CHECKING:
    from stages.construct.proof.verdict import TaskProof

_FAILED = 1


def prove(
    bank: Annotated[
        str, typer.Argument(help="Bundled bank, folder of tasks, or release (name, name@version).")
    ],
    task: Annotated[
        list[str] | None, typer.Option(help="Only this task; several may be given.")
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option(help="Where programs run: bubblewrap or docker.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Prove every task: its reference or ground truth passes, doing nothing does not."""
    from flows.config import load_settings, run_config
    from stages.construct.proof.bank import prove_bank
    from taskdata.banks.found import LoadedBank, find_bank
    from taskdata.store import Store

    settings = load_settings()
    store = Store.open(settings.address)
    found = find_bank(store, bank, task or [])
    tasks = list(found.tasks(task or []))
    files = found.bank.files if isinstance(found, LoadedBank) else {}
    provider = run_config(settings, sandbox=sandbox).sandbox
    with console.counting("proven", len(tasks)) as count:
        proofs = prove_bank(store, tasks, files, provider, lambda proof: count(), settings.home)
    ordered = sorted(proofs.values(), key=lambda proof: proof.task_id)
    summary = _summary(ordered)
    if as_json:
        listed = [proof.model_dump(mode="json") for proof in ordered]
        console.write_json({"bank": bank, **summary, "proofs": listed})
    else:
        _write(bank, ordered, summary)
    if summary["failed"] or summary["lost"]:
        raise typer.Exit(_FAILED)


def _summary(proofs: Sequence["TaskProof"]) -> dict[str, Any]:
    from stages.construct.proof.verdict import ProofVerdict, does_nothing_pass, earns_all

    return {
        "tasks": len(proofs),
        **{v.value: sum(proof.verdict is v for proof in proofs) for v in ProofVerdict},
        "lost": sum(proof.verdict is None for proof in proofs),
        "reference": _share(earns_all(p) for p in proofs if p.reference_score is not None),
        "nothing": _share(does_nothing_pass(p) for p in proofs if p.nop_score is not None),
    }


def _share(passes: Iterable[bool]) -> dict[str, int]:
    counted = list(passes)
    return {"passed": sum(counted), "tried": len(counted)}


def _write(bank: str, proofs: Sequence["TaskProof"], summary: dict[str, Any]) -> None:
    console.say(
        f"Bank {bank}: {summary['proven']} of {summary['tasks']} tasks proven, "
        f"{summary['failed']} failed, {summary['unproven']} unproven, {summary['lost']} lost"
    )
    for name, says in (
        ("reference", "Reference or ground truth passes"),
        ("nothing", "Doing nothing passes"),
    ):
        console.say(f"{says}: {summary[name]['passed']} of {summary[name]['tried']}")
    rows = [
        {
            "task": proof.task_id,
            "verdict": proof.verdict.value if proof.verdict else "lost",
            "why": "; ".join(dict.fromkeys((*proof.reasons, *proof.weaknesses))),
        }
        for proof in proofs
        if proof.reasons or proof.weaknesses
    ]
    if rows:
        console.table(rows, title=f"{len(rows)} tasks with something to say about them")
