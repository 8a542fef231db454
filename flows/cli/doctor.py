"""`nightshift doctor`: what works on this machine, and how to get the rest."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from taskdata.errors import Misuse, NightshiftError

if TYPE_CHECKING:
    from flows.config import Settings

READY = "ready"


def doctor(
    names: Annotated[
        list[str] | None, typer.Argument(help="With --servers: only these servers; default: all.")
    ] = None,
    bank: Annotated[
        str | None, typer.Option(help="Say of the tasks of this bank instead what they lack.")
    ] = None,
    only_servers: Annotated[
        bool,
        typer.Option("--servers", help="Only start each MCP server and call one tool."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what works here, and how to get what does not."""
    from flows.cli.server_table import doctor_servers
    from flows.config import load_settings

    if names and not only_servers:
        raise Misuse(f"{' '.join(names)}: doctor takes names of servers only with --servers")
    settings = load_settings()
    if only_servers:
        doctor_servers(settings, names or (), as_json)
        return
    if bank is not None:
        _doctor_bank(settings, bank, as_json)
        return
    found = list(_checks(settings))
    tools = [{"name": name, "state": state} for name, state in _tools(settings)]
    servers = [{"name": name, "state": state} for name, state in _servers(settings)]
    services = [{"name": name, "state": state} for name, state in _services(settings)]
    if as_json:
        checks = [{"name": name, "state": state} for name, state in found]
        console.write_json(
            {"checks": checks, "tools": tools, "servers": servers, "services": services}
        )
        return
    console.table([{"part": name, "state": state} for name, state in found], title="Machine")
    _say_ready("Tools", tools)
    _say_ready("MCP servers", servers)
    _say_ready("Services that tasks bring", services)


def _doctor_bank(settings: "Settings", bank: str, as_json: bool) -> None:
    from flows.cli.bank.readiness import readiness, write_readiness
    from taskdata.store import Store

    found = readiness(Store.open(settings.address), bank)
    if as_json:
        console.write_json({"bank": found})
    else:
        write_readiness(found)


def _say_ready(what: str, states: Sequence[dict[str, str]]) -> None:
    """Say which are ready, and of each of the others why not."""
    lacking = [one for one in states if one["state"] != READY]
    ready = [one["name"] for one in states if one["state"] == READY]
    console.say(f"{what}: {len(ready)} of {len(states)} ready")
    if ready:
        console.block(", ".join(ready))
    if lacking:
        console.table([{"not ready": one["name"], "why": one["state"]} for one in lacking])


def _checks(settings: "Settings") -> Iterator[tuple[str, str]]:
    from environments.models.local.catalogue import LOCAL_MODELS

    yield "python", f"{READY}: {sys.version.split()[0]}"
    yield "database", _database(settings)
    yield "artifacts", _artifacts(settings)
    yield "free space", _space(settings)
    yield "room taken", _room_taken(settings)
    for name in ("bubblewrap", "docker"):
        yield f"sandbox {name}", _sandbox(name)
    yield "page pictures", _page_pictures()
    yield "screen pictures", _screen_pictures()
    yield "transcripts", _transcripts()
    yield "text in pictures", _picture_texts()
    yield "sentence encoders", _sentence_encoders()
    for provider in ("openai", "anthropic"):
        yield f"models {provider}", _model(f"{provider}/any")
    for model in LOCAL_MODELS:
        yield f"model local/{model}", _model(f"local/{model}")
    yield "prefect server", _prefect(settings)
    yield "dask scheduler", _scheduler(settings)
    yield "leftovers", _leftovers()


def _servers(settings: "Settings") -> Iterator[tuple[str, str]]:
    from environments.mcp.health import server_states
    from flows.config import run_config

    yield from server_states(settings.home, run_config(settings).sandbox).items()


def _services(settings: "Settings") -> Iterator[tuple[str, str]]:
    from environments.services.kinds import KINDS, service_state
    from flows.config import run_config

    sandbox = run_config(settings).sandbox
    for kind in KINDS:
        yield kind, service_state(kind, sandbox)


def _database(settings: "Settings") -> str:
    from taskdata.store import Store

    try:
        Store.open(settings.address).close()
    except NightshiftError as exc:
        return str(exc)
    return f"{READY}: {settings.address.database_url.split('://', 1)[0]}"


def _artifacts(settings: "Settings") -> str:
    from taskdata.artifacts import ArtifactStore

    url = settings.address.artifacts_url
    try:
        store = ArtifactStore(url)
        sha256 = store.put_bytes(uuid4().bytes)
        store.read_bytes(sha256)
        store.remove(sha256)
    except NightshiftError as exc:
        return str(exc)
    return f"{READY}: {url.split('://', 1)[0]}"


def _space(settings: "Settings") -> str:
    folder = settings.home if settings.home.exists() else settings.home.resolve().parent
    free = shutil.disk_usage(folder).free / 1e9
    return f"{READY}: {free:.0f} GB" if free > 2 else f"only {free:.1f} GB free; make room"


def _room_taken(settings: "Settings") -> str:
    from flows.upkeep.sizes import readable, sizes

    try:
        found = sizes(settings)
    except NightshiftError as exc:
        return str(exc)
    more = "more than " if found.artifacts_are_more else ""
    parts = (
        f"database {readable(found.database)}",
        f"artifacts {more}{readable(found.artifacts)} in {found.artifact_files:,} files",
        f"dashboards {readable(found.dashboards)}",
        f"Prefect {readable(found.prefect)}",
    )
    return f"{READY}: {', '.join(parts)}"


def _sandbox(name: str) -> str:
    from environments.sandbox.providers import sandbox_provider

    try:
        return sandbox_provider(name).unavailable() or READY
    except Misuse as exc:
        return str(exc)


def _page_pictures() -> str:
    from environments.renderers.pages.formats import has_converter

    if has_converter():
        return f"{READY}: PDF, and office files by LibreOffice"
    return (
        "PDF only: no LibreOffice for office files, whose text is shown all the same; on Debian, "
        "apt install --no-install-recommends libreoffice-writer libreoffice-calc "
        "libreoffice-impress"
    )


def _screen_pictures() -> str:
    from environments.renderers.pages.formats import browser

    if browser() is not None:
        return f"{READY}: HTML and SVG by Chromium, for judges that see"
    return (
        "none: no Chromium for HTML and SVG, whose text judges are shown all the same; on Debian, "
        "apt install --no-install-recommends chromium"
    )


def _transcripts() -> str:
    from environments.renderers.sound.formats import has_recogniser
    from taskdata.installing import extra_command

    if has_recogniser():
        return f"{READY}: recordings and videos by Whisper base, for judges"
    return f"none: no speech recogniser; run {extra_command('tools-audio')}"


def _picture_texts() -> str:
    from environments.renderers.lettering.formats import has_reader
    from taskdata.installing import extra_command

    if has_reader():
        return f"{READY}: pictures that speak to the judge are left out, where judges see"
    return (
        "none: no text recogniser, so that pictures are not searched for text that speaks to the "
        f"judge; run {extra_command('tools-vision')}"
    )


def _sentence_encoders() -> str:
    from quality.encoders.choosing import is_installed, not_installed
    from quality.encoders.packaged import ENCODERS

    try:
        found = [name for name in ENCODERS if is_installed(name)]
    except Misuse as exc:
        return str(exc)
    missing = [not_installed(name) for name in ENCODERS if name not in found]
    ready = [f"{READY}: {', '.join(found)}"] if found else []
    return "; ".join([*ready, *missing])


def _model(name: str) -> str:
    from environments.models.registry import require_model
    from taskdata.schema.agent import ModelSpec

    try:
        require_model(ModelSpec.parse(name), None)
    except Misuse as exc:
        return str(exc).removeprefix(f"model {name}: ")
    return READY


def _leftovers() -> str:
    from environments.reaper.reap import reap

    try:
        found = reap()
    except NightshiftError as exc:
        return str(exc)
    if found.unseen_containers:
        return f"containers of killed processes may be left: {found.unseen_containers}"
    if not found.owners:
        return f"{READY}: none"
    return (
        f"{READY}: removed what {found.owners} killed processes had left: {found.processes} "
        f"programs, {found.containers} containers, {found.folders} folders"
    )


def _prefect(settings: "Settings") -> str:
    from flows.serving.prefect_server import given_server, require_answer, running_server, ui_url

    given = given_server()
    if given is None:
        url = running_server(settings.home)
        return f"{READY}: {url}" if url else "not running; `nightshift run` and `serve` start it"
    try:
        require_answer(given)
    except NightshiftError as exc:
        return str(exc)
    return f"{READY}: {ui_url(given)}"


def _scheduler(settings: "Settings") -> str:
    from flows.workers.clusters import client

    address = settings.dask_scheduler
    if address is None:
        return f"{READY}: a local cluster for each run"
    try:
        with client(settings, 0) as connected:
            workers = len(connected.nthreads())
    except NightshiftError as exc:
        return str(exc)
    if not workers:
        return f"{address} has no workers; start some: `dask worker {address} --nthreads 1`"
    return f"{READY}: {workers} workers at {address}"


def _tools(settings: "Settings") -> Iterator[tuple[str, str]]:
    from environments.tool_runtime.catalogue import catalogue
    from environments.tool_runtime.states import tool_state
    from flows.config import run_config

    config = run_config(settings)
    for name in catalogue():
        yield name, tool_state(name, config, config.sandbox)
