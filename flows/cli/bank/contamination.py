"""The command that looks for tasks of a bank in text that a model was trained on, or wrote."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.bank.banks import BankOption
from flows.cli.options import JsonOption

if TYPE_CHECKING:
    from quality.contamination.scanning import Finding

_FOUND = 1
_UNREAD = 2


def check_contamination(
    files: Annotated[
        list[Path], typer.Argument(help="Text, JSONL, also gzipped; of a folder all files.")
    ],
    bank: BankOption = "starter",
    words: Annotated[
        int, typer.Option(min=5, max=100, help="Words in a row that count as an overlap.")
    ] = 13,
    limit: Annotated[int, typer.Option(min=1, help="The most findings to show.")] = 100,
    as_json: JsonOption = False,
) -> None:
    """Look for a bank's canary, queries and requirements in files; exit code 1 if found."""
    from flows.config import load_settings
    from quality.contamination.overlaps import BankIndex
    from quality.contamination.scanning import scan
    from taskdata.banks.found import ReleasedBank, find_bank
    from taskdata.canary import canary_of
    from taskdata.store import Store

    store = Store.open(load_settings().address)
    found = find_bank(store, bank)
    name = found.release.bank if isinstance(found, ReleasedBank) else found.bank.name
    index = BankIndex(found.tasks(), words)
    store.close()
    report = scan(files, index, canary_of(name))
    shown = report.findings[:limit]
    if as_json:
        answer = report.model_dump(mode="json", exclude={"findings", "unread"})
        unread = [one.model_dump(mode="json") for one in report.unread[:limit]]
        listed = [finding.model_dump(mode="json") for finding in shown]
        counts = {"found": len(report.findings), "too_short": index.too_short}
        console.write_json(answer | counts | {"findings": listed, "unread": unread})
    else:
        _write(shown, len(report.findings), report.files, bank)
        if index.too_short:
            console.paragraph(
                f"{index.too_short} queries and requirements have fewer than {words} words, and "
                "were not looked for; --words looks for shorter overlaps, and finds more by chance."
            )
    for one in report.unread[:limit]:
        console.note(f"{one.file}: {one.reason}")
    if report.findings:
        raise typer.Exit(_FOUND)
    if report.unread or not report.files:
        if not report.files and not report.unread:
            console.error("no file was found; name files, or a folder that holds some")
        raise typer.Exit(_UNREAD)


def _write(findings: "tuple[Finding, ...]", total: int, files: int, bank: str) -> None:
    if not total:
        console.say(f"Nothing of bank {bank} was found in {files} files")
        return
    console.table([_row(one) for one in findings], title=f"{total} findings of bank {bank}")
    if total > len(findings):
        console.say(f"... and {total - len(findings)} more; --limit shows more")


def _row(finding: "Finding") -> dict[str, str]:
    if finding.task is None:
        whose = "canary" if finding.is_own_canary else "canary of another bank"
        return {
            "task": whose,
            "where": f"{finding.file}:{finding.line}",
            "query": "",
            "requirements": "",
        }
    return {
        "task": finding.task,
        "where": f"{finding.file}:{finding.line}",
        "query": f"{finding.query_share:.0%}" if finding.query_share else "",
        "requirements": str(finding.requirements or ""),
    }
