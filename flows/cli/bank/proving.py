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
    mutants: Annotated[
        bool | None,
        typer.Option(
            help="Try cheats and references with one fault each; default: only on trees with "
            "checks. --mutants also runs programs over ground truth with faults."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Prove every task: its reference or ground truth must pass, an empty result must not."""
    from flows.config import load_settings, run_config
    from stages.construct.proof.adversarial.bank import try_bank
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
        proofs = prove_bank(
            store,
            tasks,
            files,
            provider,
            lambda proof: count(),
            settings.home,
            faults=mutants is True,
        )
    if mutants is not False:
        with console.counting("tried", len(tasks)) as count:
            proofs = try_bank(store, tasks, proofs, provider, lambda proof: count())
    ordered = sorted(proofs.values(), key=lambda proof: proof.task_id)
    summary = _summary(ordered)
    if as_json:
        listed = [_listed(proof) for proof in ordered]
        console.write_json({"bank": bank, **summary, "proofs": listed})
    else:
        _write(bank, ordered, summary)
    if summary["failed"] or summary["lost"]:
        raise typer.Exit(_FAILED)


def _summary(proofs: Sequence["TaskProof"]) -> dict[str, Any]:
    from stages.construct.proof.adversarial.report import mutation_score
    from stages.construct.proof.verdict import ProofVerdict, does_nothing_pass, earns_all

    tried = [proof.resistance for proof in proofs if proof.resistance is not None]
    return {
        "tasks": len(proofs),
        **{v.value: sum(proof.verdict is v for proof in proofs) for v in ProofVerdict},
        "lost": sum(proof.verdict is None for proof in proofs),
        "reference": _share(earns_all(p) for p in proofs if p.reference_score is not None),
        "nothing": _share(does_nothing_pass(p) for p in proofs if p.nop_score is not None),
        "mutation_score": mutation_score(tried),
        "mutants": sum(one.tried for one in tried),
        "noticed": sum(one.noticed for one in tried),
        "not_asked_for": sum(one.not_asked_for for one in tried),
        "paid_cheats": sum(len(one.paid) for one in tried),
    }


def _listed(proof: "TaskProof") -> dict[str, Any]:
    from stages.construct.proof.adversarial.report import mutation_score

    found = [] if proof.resistance is None else [proof.resistance]
    return proof.model_dump(mode="json") | {"mutation_score": mutation_score(found)}


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
    if summary["mutation_score"] is not None:
        console.say(
            f"Mutation score: {summary['mutation_score']:.1%}: the trees notice "
            f"{summary['noticed']} of {summary['mutants']} faults in what requirements name; "
            f"{summary['not_asked_for']} further faults are in content that no requirement names"
        )
    if tried := [_tried(proof) for proof in proofs if proof.resistance is not None]:
        console.table(tried, title="Root scores: reference, doing nothing, best cheat")
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


def _tried(proof: "TaskProof") -> dict[str, str]:
    found = proof.resistance
    if found is None:
        return {}
    return {
        "task": proof.task_id,
        "reference": _number(proof.reference_score),
        "nothing": _number(proof.nop_score),
        "cheat": _number(found.best_cheat),
        "mutants": str(found.tried),
        "noticed": str(found.noticed),
        "not asked for": str(found.not_asked_for),
    }


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
