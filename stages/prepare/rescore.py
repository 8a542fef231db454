"""A rescoring: what a run's agents left is scored once more, in a run of its own.

Its id is its source's and a name, so that it is planned once and carried on where it was
interrupted. Agents, tasks and repetitions are those of the source, and so the two are compared
trial by trial.
"""

import re
import time
from datetime import UTC, datetime

from taskdata.errors import Misuse
from taskdata.schema.run import Run, RunConfig, RunStatus, StageReport
from taskdata.store import Store
from taskdata.version import code_version

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_CONFIRMATION = "confirm"
"""With it a run's id is that of the re-run which confirms it."""


def rescoring_id(source_id: str, name: str) -> str:
    """Return the id of the run that scores a source again under that name.

    Raises:
        Misuse: if that is no name.
    """
    if _NAME.fullmatch(name) is None or name == _CONFIRMATION:
        raise Misuse(
            f"--name {name!r}: expected up to 40 lower-case letters, digits, _ and -, and "
            f"something else than {_CONFIRMATION!r}"
        )
    return f"{source_id}-{name}"


def default_name(config: RunConfig) -> str:
    """Return the name of a rescoring that was given none: by its judges, or `again`."""
    if config.keeps_verdicts:
        return "again"
    names = [judge.model.model.lower() for judge in config.every_judge]
    if len(names) > 1:
        names.insert(0, config.panel)
    return re.sub(r"[^a-z0-9]+", "-", "-".join(names)).strip("-")[:40].strip("-") or "again"


def rescoring_config(source: Run, **changes: object) -> RunConfig:
    """Return the configuration of a rescoring: its source's, except for `changes`.

    Raises:
        Misuse: if the source is no run that is evaluated.
    """
    if source.config.purpose not in ("evaluation", "rescoring"):
        raise Misuse(f"run {source.id} is a {source.config.purpose}; rescore the run it is for")
    fields = {
        "purpose": "rescoring",
        "rescores": source.id,
        "replies": "ask",
        "max_usd": None,
        # A rescoring asks no labeller, whose calls would cost money that nobody asked to spend.
        "labeller": None,
        "labeller_base_url": None,
    }
    return RunConfig.model_validate(source.config.model_dump() | fields | changes)


def plan_rescoring(store: Store, source: Run, config: RunConfig, name: str) -> Run:
    """Return the rescoring of that name; a new one is stored first.

    Raises:
        Misuse: if there is one of that name which scores with something else, or it is no name.
    """
    run_id = rescoring_id(source.id, name)
    known = store.find_run(run_id)
    if known is not None:
        _require_same(known, config, name)
        return known
    run = Run(
        id=run_id,
        status=RunStatus.RUNNING,
        config=config,
        release_hash=source.release_hash,
        code_version=code_version(),
        created_at=datetime.now(UTC),
    )
    store.add_run(run)
    return run


def copy_trials(store: Store, run: Run) -> StageReport:
    """Copy the source's trials into its rescoring, those that are not there yet.

    Raises:
        Misuse: if the source is no longer there, or no trial of it has finished.
    """
    started, source = time.monotonic(), run.config.rescores or ""
    copied = store.copy_trials(source, run.id)
    if not copied.finished:
        raise Misuse(f"run {source} has no finished trial to score; `nightshift run --resume` it")
    counts = (
        (copied.lost, "lost to infrastructure errors"),
        (copied.not_tried, "not tried yet, which are left out"),
    )
    notes = "".join(f"; {count} {what}" for count, what in counts if count)
    return StageReport(
        stage="prepare",
        run_id=run.id,
        due=copied.finished,
        done=copied.finished,
        seconds=time.monotonic() - started,
        note=f"{copied.finished} finished trials of run {source}{notes}",
    )


def _require_same(known: Run, config: RunConfig, name: str) -> None:
    if known.config.model_copy(update={"max_usd": None}) == config.model_copy(
        update={"max_usd": None}
    ):
        return
    raise Misuse(
        f"run {known.id} is there already and scores with something else "
        f"({known.config.judge_name or 'no judge'}); give this one another --name than {name!r}"
    )
