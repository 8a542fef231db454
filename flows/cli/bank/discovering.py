"""The command that has a model propose seed queries."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.config import Settings
    from stages.construct.discovery.work import Discovered
    from taskdata.schema.discovery import DiscoveryConfig, OfferedTool
    from taskdata.store import Store

_SHOWN = 20
_FAILED = 1


def discover(
    domain: Annotated[str, typer.Option(help="Field of work, such as `customer service: travel`.")],
    tools: Annotated[
        str | None,
        typer.Option(help="Tools for the work, with commas; default: all that are ready."),
    ] = None,
    servers: Annotated[
        str | None, typer.Option(help="MCP servers for the work, with commas; default: none.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=300, help="Number of seeds to add.")] = 12,
    model: Annotated[
        str | None, typer.Option(help="provider/model; default: the model of refreshes.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Endpoint of an OpenAI-compatible server.")
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option("--license", help="Licence of the seeds; default: `made by a model`."),
    ] = None,
    max_usd: Annotated[float | None, typer.Option(help="The most that all calls may cost.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Have a model propose seed queries for a domain, and store those that pass all checks.

    Each scenario has an easy, a medium and a hard request. The model reviews its proposals, code
    checks them, and the accepted ones are stored with model, prompt versions and difficulty.
    """
    from flows.config import load_settings
    from quality.encoders.choosing import find_for_duplicates
    from stages.construct.discovery.offering import offered
    from stages.intake.work import add_discovered, known_texts
    from stages.prepare.select import new_run_id
    from taskdata.store import Store

    settings = load_settings()
    config = _config(settings, domain, count, model, base_url, licence, max_usd)
    on_offer = offered(_names(tools), _names(servers) or (), settings.home)
    store = Store.open(settings.address)
    discovery_id = new_run_id()
    encoder = find_for_duplicates(settings.home)
    index = known_texts(store, encoder)
    found = _found(settings, store, config, on_offer, index, discovery_id)
    report = add_discovered(
        store,
        found.seeds,
        f"discovered/{discovery_id}",
        ((proposal.text, proposal.reason) for proposal in found.dropped),
        settings.safety,
        encoder,
    )
    if as_json:
        console.write_json(_outcome(found, report.added))
    else:
        _tell(found, config)
    if not found.seeds:
        raise typer.Exit(_FAILED)


def _config(
    settings: "Settings",
    domain: str,
    count: int,
    model: str | None,
    base_url: str | None,
    licence: str | None,
    max_usd: float | None,
) -> "DiscoveryConfig":
    from pydantic import ValidationError

    from environments.models.registry import require_model
    from flows.config import refresh_config
    from taskdata.schema.discovery import MADE_BY_MODEL, DiscoveryConfig

    limits = None if max_usd is None else {"max_usd": max_usd}
    asking = refresh_config(settings, model=model, base_url=base_url, limits=limits)
    require_model(*asking.author)
    try:
        return DiscoveryConfig(
            domain=domain.strip(),
            model=asking.author[0],
            base_url=asking.base_url,
            count=count,
            limits=asking.limits,
            licence=licence or MADE_BY_MODEL,
            max_asks=asking.max_asks,
            max_reply_tokens=asking.max_reply_tokens,
        )
    except ValidationError as exc:
        fault = exc.errors(include_url=False)[0]
        raise Misuse(f"--{fault['loc'][0]}: {fault['msg'].lower()}") from exc


def _names(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))


def _found(
    settings: "Settings",
    store: "Store",
    config: "DiscoveryConfig",
    tools: "Sequence[OfferedTool]",
    index: Any,
    discovery_id: str,
) -> "Discovered":
    from environments.models.registry import model_client
    from stages.construct.discovery.work import discover as discover_seeds
    from stages.execute.work import local_models

    with local_models([config.model], settings.home, console.note) as endpoints:

        def connect(spec: Any, base_url: str | None) -> Any:
            served = endpoints.get(str(spec))
            return model_client(spec, served[0] if served else base_url)

        return discover_seeds(store, config, tools, index, discovery_id, connect, settings.safety)


def _outcome(found: "Discovered", added: "Sequence[str]") -> dict[str, Any]:
    tally = found.tally
    return {
        "seeds": list(added),
        "proposed": found.proposed,
        "mended": found.mended,
        "dropped": [proposal.model_dump(mode="json") for proposal in found.dropped],
        "difficulties": _difficulties(found),
        "rounds": found.rounds,
        "refused_answers": found.faults,
        "ended_by": found.ended_by,
        "model": tally.model_id,
        "calls": tally.calls,
        "tokens": tally.usage.total,
        "cost_usd": tally.cost_usd,
    }


def _begins(text: str) -> str:
    return " ".join(text.split())[:60]


def _difficulties(found: "Discovered") -> dict[str, int]:
    from taskdata.schema.package import Difficulty

    kept = [seed.discovery.difficulty for seed in found.seeds if seed.discovery]
    return {level.value: kept.count(level) for level in Difficulty}


def _tell(found: "Discovered", config: "DiscoveryConfig") -> None:
    tally = found.tally
    cost = "an unknown amount of money" if tally.cost_usd is None else f"${tally.cost_usd:.4f}"
    levels = ", ".join(f"{count} {name}" for name, count in _difficulties(found).items())
    console.say(
        f"{len(found.seeds)} of {config.count} seeds added ({levels}); {found.mended} changed, "
        f"{len(found.dropped)} of {found.proposed} proposals left out"
    )
    console.say(f"{tally.calls} calls, {tally.usage.total:,} tokens, {cost}")
    if found.ended_by:
        console.say(f"There are no more seeds because {found.ended_by}")
    rows = [
        {
            "difficulty": proposal.difficulty,
            "reason": proposal.reason,
            "begins": _begins(proposal.text),
        }
        for proposal in found.dropped[:_SHOWN]
    ]
    if rows:
        console.table(rows, title="Left out; `nightshift seeds list --quarantined` has them all")
