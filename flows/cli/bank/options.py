"""What commands about a bank take: who decides, and how a refresh is configured."""

import getpass
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import given
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.construct import RefreshConfig


ReviewerOption = Annotated[
    str | None, typer.Option(help="Who decides; default: your user name on this machine.")
]


def reviewer_of(given: str | None) -> str:
    """Return who decides.

    Raises:
        Misuse: if no name is given and the user of this process has none.
    """
    if given is not None:
        return given
    try:
        return getpass.getuser()
    except (OSError, KeyError) as exc:
        raise Misuse("this user has no name; say who decides: --reviewer NAME") from exc


@dataclass(frozen=True, kw_only=True)
class RefreshOptions:
    """Options named like the field of `RefreshConfig` that they set, where there is one."""

    model: Annotated[str | None, typer.Option(help="provider/model that writes tasks.")] = None
    base_url: Annotated[
        str | None, typer.Option(help="Endpoint of an OpenAI-compatible server.")
    ] = None
    bank: Annotated[
        str | None, typer.Option(help="Name of the bank to release; default: refreshed.")
    ] = None
    base: Annotated[
        str | None,
        typer.Option(help="Bank to build on, or `none` for an empty one; default: starter."),
    ] = None
    seeds: Annotated[
        list[str] | None,
        typer.Option("--seed", help="Only this seed; repeatable; default: all that are new."),
    ] = None
    expansions: Annotated[
        int | None, typer.Option(help="Atomic tasks to make from the base's; default: 0.")
    ] = None
    max_augmentations: Annotated[
        int | None,
        typer.Option(
            "--augmentations", help="Most new tasks for under-represented tools; default: 3."
        ),
    ] = None
    tools: Annotated[
        str | None,
        typer.Option(help="all, or base: only tools that tasks of the base use; default: all."),
    ] = None
    tool_floor: Annotated[
        float | None,
        typer.Option(help="Share (0-1) of tasks below which a tool is rare; default: 0.05."),
    ] = None
    draft_references: Annotated[
        bool, typer.Option("--draft-references", help="Let the model draft reference solutions.")
    ] = False
    language: Annotated[
        str | None, typer.Option(help="Only seeds in this language, such as de; default: any.")
    ] = None
    reference_model: Annotated[
        str | None,
        typer.Option(
            help="Stronger provider/model that drafts reference solutions; default: --model."
        ),
    ] = None
    reference_base_url: Annotated[
        str | None, typer.Option(help="Endpoint of the --reference-model.")
    ] = None
    draft_twice: Annotated[
        bool,
        typer.Option(
            "--draft-twice",
            help="Confirm each reference by a second one that has not seen the tree.",
        ),
    ] = False
    reviewers: Annotated[
        int | None,
        typer.Option(help="Different people who must agree about each task; default: 1."),
    ] = None
    max_usd: Annotated[float | None, typer.Option(help="Most that all calls may cost.")] = None
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Release what passed without a human review.")
    ] = False
    wait: Annotated[
        bool, typer.Option("--wait", help="Pause for the review form in the Prefect UI.")
    ] = False


def new_config(settings: "Settings", options: RefreshOptions) -> "RefreshConfig":
    """Return the configuration of a new refresh.

    Raises:
        Misuse: An option does not fit; names it or the field.
    """
    from flows.config import refresh_config

    if options.auto_approve and options.wait:
        raise Misuse("--auto-approve leaves nothing to --wait for; give one of them")
    changes = given(options)
    if changes.pop("auto_approve", False):
        changes["review"] = "auto"
    if changes.pop("wait", False):
        changes["review"] = "wait"
    if "max_usd" in changes:
        changes["limits"] = {"max_usd": changes.pop("max_usd")}
    return refresh_config(settings, **changes)
