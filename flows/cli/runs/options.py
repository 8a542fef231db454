"""What `nightshift run` takes that changes the configuration of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import given
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.config import Settings
    from taskdata.schema.agent import AgentSpec
    from taskdata.schema.run import RunConfig


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options named like the field of `RunConfig` that they set, where there is one."""

    bank: Annotated[
        str | None,
        typer.Option(help="A bundled bank, a folder of tasks, or a release; default: starter."),
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
            help="A bare name, harness:provider/model (harness+plan_first: or +plan_refine: with a "
            "plan before the work), or a label of yours; repeatable; "
            "default: reference, nop, react:local/qwen2.5-coder-0.5b.",
        ),
    ] = None
    base_url: Annotated[
        str | None,
        typer.Option(help="Endpoint of an OpenAI-compatible server, for agents of compatible/..."),
    ] = None
    mode: Annotated[
        str | None,
        typer.Option(
            help="end-to-end, step-by-step: predict the next step of the reference, or plan: "
            "answer planning cases; default: as the agent's harness works, and plan for a bank of "
            "planning cases."
        ),
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
    repetitions: Annotated[
        int | None, typer.Option(help="Trials per agent and task; default: 1.")
    ] = None
    refinement_rounds: Annotated[
        int | None, typer.Option("--rounds", help="Refinement rounds after the first; default: 1.")
    ] = None
    feedback: Annotated[
        str | None,
        typer.Option(
            help="Arms of refinement, with commas between: none, coarse, checkpoint, diagnosis, "
            "self, self_taxonomy, critic, critic_taxonomy; default: checkpoint."
        ),
    ] = None
    refine_in: Annotated[
        str | None,
        typer.Option(
            help="afresh, or workspace: a new attempt goes on with the files of the one before; "
            "default: afresh."
        ),
    ] = None
    critic: Annotated[
        str | None,
        typer.Option(
            help="provider/model that writes the feedback of the arms critic and critic_taxonomy."
        ),
    ] = None
    sandbox: Annotated[
        str | None, typer.Option(help="bubblewrap or docker; default: bubblewrap.")
    ] = None
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="provider/model that scores rubrics; repeatable, for a panel; default: they stay "
            "unscored."
        ),
    ] = None
    panel: Annotated[
        str | None,
        typer.Option(help="mean, median or majority of several judges; default: median."),
    ] = None
    user: Annotated[
        str | None,
        typer.Option(
            help="provider/model that plays the user in talks; default: none, so that talks "
            "cannot run."
        ),
    ] = None
    labeller: Annotated[
        str | None,
        typer.Option(
            help="provider/model that adds the failure labels that rules leave open; default: "
            "rules alone."
        ),
    ] = None
    tool_model: Annotated[
        str | None, typer.Option(help="provider/model behind tools that look at pictures.")
    ] = None
    image_model: Annotated[
        str | None, typer.Option(help="provider/model behind tools that draw pictures.")
    ] = None
    search: Annotated[
        str | None,
        typer.Option(help="serper, tavily or corpus: what search tools ask; default: none."),
    ] = None
    search_corpus: Annotated[
        str | None, typer.Option(help="Folder of documents, for --search corpus.")
    ] = None
    workers: Annotated[int | None, typer.Option(help="Dask worker processes; default: 2.")] = None
    trials_per_worker: Annotated[
        int | None, typer.Option(help="Trials in flight at once in each worker; default: 2.")
    ] = None
    replies: Annotated[
        str | None,
        typer.Option(
            help="ask models, keep: equal questions once, or replay what is kept; default: ask."
        ),
    ] = None
    max_usd: Annotated[
        float | None,
        typer.Option(
            help="The most that models of agents, users, tools, judge, critic and labeller may "
            "cost together; default: no limit."
        ),
    ] = None


def _require_use(options: RunOptions, config: "RunConfig") -> None:
    """Raises Misuse if an option of refinement was given that would change nothing."""
    from taskdata.schema.arms import CRITIC_ARMS

    if options.critic is not None and not CRITIC_ARMS & set(config.feedback):
        raise Misuse(
            f"--critic {options.critic} would not be asked: the arms are "
            f"{', '.join(config.feedback)}; add critic or critic_taxonomy to --feedback, "
            "or leave --critic out"
        )
    if options.feedback is not None and config.refinement_rounds == 0:
        raise Misuse(
            f"--feedback {options.feedback} would be given to nobody: with 0 refinement rounds "
            "nothing is tried again; give --rounds 1 or more, or leave --feedback out"
        )


def new_config(settings: "Settings", options: RunOptions) -> "RunConfig":
    """Return the configuration of a new run.

    Raises:
        Misuse: An option does not fit; names it or the field.
    """
    from flows.config import as_planner, run_config
    from stages.execute.harness import in_mode

    if options.workers is not None and settings.dask_scheduler is not None:
        raise Misuse("--workers is of the local cluster; dask_scheduler has those that it has")
    changes = given(options)
    for name in ("base_url", "mode", "imports", "import_root"):
        changes.pop(name, None)
    agents = _agents(options)
    if agents:
        changes["agents"] = agents
    config = run_config(settings, **changes)
    _require_use(options, config)
    chosen = config.agents
    if options.base_url is not None:
        chosen = _at(options.base_url, chosen)
    if options.mode is not None:
        chosen = tuple(in_mode(agent, options.mode, as_planner) for agent in chosen)
    return config.model_copy(update={"agents": chosen})


def _at(base_url: str, agents: "Sequence[AgentSpec]") -> "tuple[AgentSpec, ...]":
    """Return the agents, those of provider `compatible` at that endpoint."""
    there = {a.name for a in agents if a.model is not None and a.model.provider == "compatible"}
    if not there:
        raise Misuse(
            f"--base-url {base_url}: is for agents whose provider is `compatible`, and there is "
            "none; name one, such as --agent react:compatible/my-model"
        )
    return tuple(
        agent.model_copy(update={"base_url": base_url}) if agent.name in there else agent
        for agent in agents
    )


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
