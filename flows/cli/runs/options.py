"""What `nightshift run` takes that changes the configuration of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import given
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.run import RunConfig


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options named like the field of `RunConfig` that they set, where there is one."""

    bank: Annotated[
        str | None, typer.Option(help="A bundled bank, a folder of tasks, or a release.")
    ] = None
    tasks: Annotated[
        list[str] | None, typer.Option("--task", help="Only this task; repeatable.")
    ] = None
    sample: Annotated[
        int | None, typer.Option(help="Only so many tasks of each category, always the same ones.")
    ] = None
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            help="reference, nop, harness:provider/model, or a label of yours; repeatable.",
        ),
    ] = None
    mode: Annotated[
        str | None,
        typer.Option(help="end-to-end, or step-by-step: predict the next step of the reference."),
    ] = None
    imports: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            help="NAME=PATH: score a system's results, a folder or a GTA eval pack; repeatable.",
        ),
    ] = None
    import_root: Annotated[
        Path | None,
        typer.Option(help="Folder that file paths in eval packs start from; default: the pack's."),
    ] = None
    repetitions: Annotated[int | None, typer.Option(help="Trials per agent and task.")] = None
    refinement_rounds: Annotated[
        int | None, typer.Option("--rounds", help="Refinement rounds after the first.")
    ] = None
    feedback: Annotated[str | None, typer.Option(help="checkpoint or coarse.")] = None
    sandbox: Annotated[str | None, typer.Option(help="bubblewrap or docker.")] = None
    judge: Annotated[str | None, typer.Option(help="provider/model that scores rubrics.")] = None
    tool_model: Annotated[
        str | None, typer.Option(help="provider/model behind tools that look at pictures.")
    ] = None
    image_model: Annotated[
        str | None, typer.Option(help="provider/model behind tools that draw pictures.")
    ] = None
    search: Annotated[
        str | None, typer.Option(help="serper, tavily or corpus: what search tools ask.")
    ] = None
    search_corpus: Annotated[
        str | None, typer.Option(help="Folder of documents, for --search corpus.")
    ] = None
    workers: Annotated[int | None, typer.Option(help="Dask worker processes.")] = None
    trials_per_worker: Annotated[
        int | None, typer.Option(help="Trials in flight at once in each worker.")
    ] = None
    replies: Annotated[
        str | None,
        typer.Option(
            help="ask models (default), keep: equal questions once, or replay what is kept."
        ),
    ] = None
    max_usd: Annotated[
        float | None,
        typer.Option(
            help="What models of agents, tools and judge may cost together; no call goes beyond."
        ),
    ] = None


def new_config(settings: "Settings", options: RunOptions) -> "RunConfig":
    """Return the configuration of a new run.

    Raises:
        Misuse: An option does not fit; names it or the field.
    """
    from flows.config import run_config
    from stages.execute.harness import in_mode
    from taskdata.schema.agent import ModelSpec

    changes = given(options)
    for name in ("mode", "imports", "import_root"):
        changes.pop(name, None)
    agents = _agents(options)
    if agents:
        changes["agents"] = agents
    if options.judge is not None:
        changes["judge"] = ModelSpec.parse(options.judge).model_dump()
    config = run_config(settings, **changes)
    if options.mode is None:
        return config
    agents_in_mode = tuple(in_mode(agent, options.mode) for agent in config.agents)
    return config.model_copy(update={"agents": agents_in_mode})


def _agents(options: RunOptions) -> tuple[str | dict[str, str], ...]:
    """Return the agents as the run's configuration takes them; none: its defaults."""
    root = options.import_root
    found: list[str | dict[str, str]] = list(options.agents or ())
    for text in options.imports or ():
        label, equals, path = text.partition("=")
        if not (label and equals and path):
            raise Misuse(f"--import {text!r}: expected NAME=PATH, such as manus=./manus-results")
        agent = {"harness": "import", "label": label, "results": path}
        found.append(agent | ({} if root is None else {"results_root": str(root)}))
    if root is not None and not options.imports:
        raise Misuse("--import-root: says where the files of an --import are; there is none")
    return tuple(found)
