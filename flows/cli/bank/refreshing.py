"""Commands that refresh a task bank: refresh, refreshes."""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli import console
from flows.cli.bank.options import RefreshOptions, new_config
from flows.cli.interruption import interruptible
from flows.cli.options import JsonOption, given, takes
from taskdata.errors import Misuse, NightshiftError

if TYPE_CHECKING:
    from flows.config import Settings
    from stages.construct.asking.estimate import PlannedAsk
    from taskdata.schema.construct import Construction, Refresh, RefreshConfig
    from taskdata.store import Store


@takes(RefreshOptions)
def refresh(
    options: RefreshOptions,
    resume: Annotated[
        str | None,
        typer.Option(help="Carry on this refresh, or `latest`: do only what is missing."),
    ] = None,
    stage: Annotated[
        str | None, typer.Option(help="With --resume: only this stage, such as prove.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and its upper bound in cost.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn seeds into reviewed tasks and a new release of a bank.

    The table `refresh` of nightshift.toml changes the defaults.
    """
    from flows.config import load_settings
    from stages.construct.start import require_ready
    from stages.prepare.select import new_run_id
    from taskdata.store import Store

    settings = load_settings()
    store = Store.open(settings.address)
    if resume is not None:
        if given(options):
            raise Misuse("--resume carries a refresh on as it was configured; give only --stage")
        _carry_on(settings, store, _known(store, resume), None, stage, as_json)
        return
    if stage is not None:
        raise Misuse("--stage needs --resume: a new refresh begins at its first stage")
    config = new_config(settings, options)
    if dry_run and config.plan_cases is not None:
        from flows.cli.bank.plan_cases import show_plan_cases

        show_plan_cases(store, config, as_json)
        return
    if dry_run:
        _dry_run(store, config, as_json)
        return
    require_ready(store, config)
    _carry_on(settings, store, new_run_id(), config, None, as_json)


def _known(store: "Store", name: str) -> str:
    if name != "latest":
        return store.refresh(name).id
    found = store.refreshes()
    if not found:
        raise Misuse("there is no refresh to resume yet; start one with --model provider/model")
    return found[0].id


def _dry_run(store: "Store", config: "RefreshConfig", as_json: bool) -> None:
    from stages.construct.asking.estimate import estimate

    found = estimate(store, config)
    if as_json:
        console.write_json(found.model_dump(mode="json"))
        return
    title = f"At most, with {found.model}, for {found.candidates} candidates"
    write_asks(found.asks, found.cost_usd, found.beyond, title)
    for line in (*found.left_out, *found.not_counted):
        console.say(f"- {line}")


def write_asks(
    asks: "Sequence[PlannedAsk]", cost_usd: float | None, beyond: "Sequence[str]", title: str
) -> None:
    """Write what a model would be asked, by prompt and in total, and the limits before that."""
    rows = [
        {
            "stage": stage.value,
            "prompt": prompt,
            "tasks": str(len({ask.task_id for ask in own})),
            "calls": f"{sum(ask.calls for ask in own):,}",
            "tokens in": f"{sum(ask.input_tokens for ask in own):,}",
            "tokens out": f"{sum(ask.output_tokens for ask in own):,}",
        }
        for (stage, prompt), own in _by_prompt(asks).items()
    ]
    console.table(rows, title=title)
    cost = "an unknown amount of money" if cost_usd is None else f"${cost_usd:.2f}"
    calls = sum(ask.calls for ask in asks)
    tokens = sum(ask.input_tokens + ask.output_tokens for ask in asks)
    console.say(f"Together at most {calls:,} calls, {tokens:,} tokens, {cost}.")
    for limit in beyond:
        console.say(f"- the limit {limit} would stop it before that")


def _by_prompt(
    asks: "Sequence[PlannedAsk]",
) -> "dict[tuple[Construction, str], list[PlannedAsk]]":
    grouped: dict[tuple[Construction, str], list[PlannedAsk]] = {}
    for ask in asks:
        grouped.setdefault((ask.stage, ask.prompt), []).append(ask)
    return grouped


def _carry_on(
    settings: "Settings",
    store: "Store",
    refresh_id: str,
    config: "RefreshConfig | None",
    stage: str | None,
    as_json: bool,
) -> None:
    from flows.caller import calling
    from flows.cli.watching import watched
    from flows.locks import bank_lock, run_lock
    from flows.serving.prefect_server import opening_line, prefect_server, ui_line

    if stage is not None:
        _require_stage(stage)
    advice = f"`nightshift refresh --resume {refresh_id}` does the rest"
    bank = (config or store.refresh(refresh_id).config).bank
    with (
        run_lock(settings, refresh_id),
        bank_lock(settings, bank),
        interruptible(advice),
    ):
        if not as_json:
            console.say(f"Refresh {refresh_id}")
            console.say(opening_line())
        with (
            prefect_server(
                settings.home,
                settings.prefect_port,
                dashboard_port=settings.dashboard_port,
                meanwhile=_begin,
            ) as api,
            watched(quiet=as_json) as progress,
        ):
            if not as_json:
                console.say(ui_line(settings.home, api))
            failure = None
            try:
                with calling(holds_run=True, progress=progress):
                    _work(settings, store, refresh_id, config, stage)
            except NightshiftError as exc:
                failure = exc
    found = store.find_refresh(refresh_id)
    if found is not None:
        _close(store, found, as_json)
    if failure is not None:
        raise NightshiftError(f"{failure} (`nightshift refresh --resume {refresh_id}` carries on)")


def _begin() -> None:
    """Import what the refresh needs first, and what takes seconds."""
    from quality.loading import load_great_expectations

    importlib.import_module("flows.banks.refresh")
    load_great_expectations()


def _require_stage(name: str) -> None:
    from flows.stage_names import REFRESH_STAGES

    if name not in REFRESH_STAGES:
        raise Misuse(f"stage {name!r} is unknown; there are {', '.join(REFRESH_STAGES)}")


def _work(
    settings: "Settings",
    store: "Store",
    refresh_id: str,
    config: "RefreshConfig | None",
    stage: str | None,
) -> None:
    from flows.banks.refresh import begin, refresh_task_bank
    from flows.banks.stages import REFRESH_FLOWS

    if stage is not None:
        REFRESH_FLOWS[stage](refresh_id=refresh_id)
        return
    if config is not None:
        begin(settings, store, config, refresh_id)
    refresh_task_bank(refresh_id=refresh_id)


def _close(store: "Store", found: "Refresh", as_json: bool) -> None:
    outcome = _outcome(store, found)
    if as_json:
        console.write_json(outcome)
        return
    rows = [{"candidates": name, "count": str(n)} for name, n in outcome["candidates"].items()]
    console.table(rows, title=f"Refresh {found.id}: {outcome['status']}")
    if not rows:
        console.say(
            f"No seed is left that no refresh of {found.config.bank} has used; "
            "`nightshift seeds add` takes in new ones"
        )
    if found.status.value == "awaiting_review":
        console.say("`nightshift review list` names what waits; then")
        console.say(f"`nightshift refresh --resume {found.id}` releases what was approved")
    if outcome["release"]:
        console.say(f"Released {outcome['release']}; page: {outcome['page']}")


def _outcome(store: "Store", found: "Refresh") -> dict[str, Any]:
    from collections import Counter

    from flows.config import load_settings
    from flows.run_status import refresh_status_of

    settings = load_settings()
    candidates = store.candidates(found.id)
    counts = Counter(
        f"at {c.stage.value}" if c.status.value == "open" else c.status.value for c in candidates
    )
    notes = [n for n in store.release_notes(found.config.bank) if n.refresh_id == found.id]
    folder = settings.bank_folder(found.config.bank)
    return {
        "id": found.id,
        "status": refresh_status_of(settings, store, found),
        "bank": found.config.bank,
        "candidates": dict(sorted(counts.items())),
        "release": f"{notes[0].bank}@{notes[0].version}" if notes else None,
        "release_hash": found.release_hash,
        "page": str(folder / str(notes[0].version) / "index.html") if notes else None,
        "error": found.error,
    }


def refreshes(as_json: JsonOption = False) -> None:
    """List the refreshes, newest first."""
    from flows.config import load_settings
    from taskdata.store import Store

    store = Store.open(load_settings().address)
    found = [_outcome(store, one) for one in store.refreshes()]
    if as_json:
        console.write_json({"refreshes": found})
        return
    rows = [
        {
            "refresh": str(one["id"]),
            "status": str(one["status"]),
            "bank": str(one["bank"]),
            "candidates": ", ".join(f"{n} {name}" for name, n in one["candidates"].items()),
            "release": str(one["release"] or ""),
            "error": str(one["error"] or ""),
        }
        for one in found
    ]
    console.table(rows, title="Refreshes")
    for one in found:
        if one["status"] == "interrupted":
            console.say(f"`nightshift refresh --resume {one['id']}` carries it on")
