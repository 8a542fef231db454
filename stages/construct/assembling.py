"""Assembles the task that a candidate and its draft describe."""

from pydantic import ValidationError

from taskdata.banks.loader import describe
from taskdata.canary import canary_of
from taskdata.errors import BadTaskData
from taskdata.schema.construct import Candidate, Origin, TaskDraft
from taskdata.schema.task import UNKNOWN_LICENCE, InputFile, Provenance, Task
from taskdata.store import Store


def available_files(store: Store, candidate: Candidate) -> dict[str, InputFile]:
    """Return the input files that a candidate's task may use, by path.

    They are the attachments of its seed and the files of the task that it varies, if it has them.
    """
    files: tuple[InputFile, ...] = ()
    if candidate.exemplar is not None:
        files += store.task(candidate.exemplar).files
    if candidate.seed_id is not None:
        files += store.seed(candidate.seed_id).query.attachments
    return {file.path: file for file in files}


def case_provenance(source: Task) -> Provenance:
    """Return where a planning case comes from: the task that it was made of."""
    return source.provenance.model_copy(update={"source": source.id, "seed_id": None})


def provenance(store: Store, candidate: Candidate) -> Provenance:
    """Return where a candidate's task comes from."""
    if candidate.seed_id is not None:
        seed = store.seed(candidate.seed_id).query
        return Provenance(
            source=seed.source,
            license=seed.license or UNKNOWN_LICENCE,
            seed_id=candidate.seed_id,
            url=seed.url,
        )
    if candidate.exemplar is not None:
        source = store.task(candidate.exemplar)
        if candidate.origin is Origin.PLAN_CASE:
            return case_provenance(source)
        origin = source.provenance
        # A variation was written here: it has no published form, and is not scored as one.
        varied = f"{origin.source}-variation"
        return origin.model_copy(update={"source": varied}) if origin.as_published else origin
    return Provenance(license=UNKNOWN_LICENCE)


def assembled(store: Store, candidate: Candidate, draft: TaskDraft | None = None) -> Task:
    """Return the task of a candidate, from the given draft or its latest one.

    Raises:
        BadTaskData: if there is no draft yet, or it is not a valid task; names the field.
    """
    draft = draft or store.draft(candidate.id)
    if draft is None:
        raise BadTaskData(f"candidate {candidate.id!r} has no draft yet")
    files = available_files(store, candidate)
    try:
        task = draft.as_task(candidate.task_id, candidate.tier, files, provenance(store, candidate))
    except ValidationError as exc:
        raise BadTaskData(f"task {candidate.task_id!r}: {describe(exc)}") from exc
    bank = store.refresh(candidate.refresh_id).config.bank
    return task.model_copy(update={"canary": canary_of(bank)})
