"""GTA-Atomic: `dataset.json`, `toolmeta.json`, a folder of images (GTA, sections 3.3, 4.2)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from taskdata.formats.documents import document
from taskdata.formats.files import Folder
from taskdata.formats.gta.dialogs import Dialog, read_dialog, read_files
from taskdata.formats.gta.items import items
from taskdata.formats.gta.tools import IMAGE_TOOLS, capabilities_of, read_toolmeta, tools_of
from taskdata.formats.rows import (
    Imported,
    Made,
    RawRow,
    RowNotes,
    Source,
    each,
    refusal,
    slug,
    title_of,
)
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.task import (
    Answer,
    DeliverableSpec,
    DeliverableType,
    ImageGenerationAnswer,
    ObjectiveAnswer,
    Provenance,
    SubjectiveAnswer,
    Task,
    Tier,
)

DATASET = "dataset.json"
PICTURE = DeliverableSpec(name="*.png", type=DeliverableType.PNG)
"""Image-generation tasks name no file: any picture is meant."""
_MAX_ARGUMENTS = 500
_FIELDS = {"tools", "files", "dialogs", "gt_answer", "category", "task_id"}


def read(source: Source) -> Iterator[Imported]:
    """Yield the items of a data set: the folder of `dataset.json`, or that file itself.

    Raises:
        Misuse: if there is no such file.
        BadTaskData: if it is not JSON.
    """
    path = document(source.path, (DATASET,))
    folder = Folder(path.parent)
    every = read_toolmeta(path.parent, source.ignored)

    def make(raw: RawRow, notes: RowNotes) -> Made:
        return _made(source, folder, every, raw, notes)

    return each(source, path.name, items(path, source), make)


def _made(
    source: Source, folder: Folder, every: tuple[str, ...], raw: RawRow, notes: RowNotes
) -> Made:
    item = raw.value
    if not isinstance(item, dict):
        raise refusal(None, "must be a mapping with tools, files, dialogs and gt_answer", item)
    if "gt_answer" not in item:
        raise refusal("gt_answer", "is missing; null means an image-generation task", item)
    dialog = read_dialog(item, notes)
    files, places = read_files(item, dialog, folder, notes)
    tools = tools_of(item, every, notes)
    answer = read_answer(item["gt_answer"], notes)
    notes.keep("key", raw.item)
    notes.keep_rest(item, _FIELDS)
    notes.assumed.update(("title", "human_minutes"))
    task = Task(
        id=slug(f"{source.format}-{raw.item}"),
        tier=Tier.ATOMIC,
        category=source.category_of(notes, item.get("category")),
        capabilities=capabilities_of(tools, notes),
        title=title_of(dialog.query),
        query=dialog.query,
        files=files,
        tools=tools,
        deliverables=(PICTURE,) if isinstance(answer, ImageGenerationAnswer) else (),
        checkpoints=tree_of(answer, dialog),
        answer=answer,
        reference=dialog.reference,
        provenance=Provenance(source=source.format, license=source.licence_of(notes)),
        extras=source.extras(notes),
    )
    return task, places


def read_answer(given: Any, notes: RowNotes) -> Answer:
    """Return the answer that `gt_answer` stands for, read as the published scorer reads it.

    Three texts are published for a subjective answer; the scorer takes any number.

    Raises:
        RowRefused: if it is neither lists of aliases, nor texts, nor empty.
    """
    if given is None or given in ([], {}, ""):
        return ImageGenerationAnswer()
    if isinstance(given, list):
        if not all(isinstance(text, str) and text.strip() for text in given):
            raise refusal("gt_answer", "a subjective answer is a list of texts", given)
        return SubjectiveAnswer(references=tuple(given))
    if not isinstance(given, Mapping):
        raise refusal("gt_answer", "must be a mapping, a list of texts, or null", given)
    notes.keep_rest(given, {"whitelist", "blacklist"}, "gt_answer.")
    whitelist = _groups("gt_answer.whitelist", given.get("whitelist"))
    if not whitelist:
        raise refusal("gt_answer.whitelist", "must name at least one thing", given)
    return ObjectiveAnswer(
        whitelist=whitelist, blacklist=_groups("gt_answer.blacklist", given.get("blacklist"))
    )


def _groups(where: str, given: Any) -> tuple[tuple[str, ...], ...]:
    groups = [] if given is None else given
    texts = isinstance(groups, list) and all(
        isinstance(group, list) and group and all(isinstance(alias, str) for alias in group)
        for group in groups
    )
    if not texts:
        raise refusal(where, "must be a list of lists of texts, of which none is empty", given)
    return tuple(tuple(group) for group in groups)


def tree_of(answer: Answer, dialog: Dialog) -> Checkpoint:
    """Return the checkpoint tree that scores this kind of answer, as far as code can."""
    if isinstance(answer, ObjectiveAnswer):
        leaves = [_objective(answer)]
    elif isinstance(answer, SubjectiveAnswer):
        leaves = [_subjective(answer)]
    else:
        leaves = _image_generation(dialog)
    return Checkpoint(
        id="root", requirement="The request is answered rightly.", children=tuple(leaves)
    )


def _objective(answer: ObjectiveAnswer) -> Checkpoint:
    groups = [list(group) for group in answer.whitelist]
    wrong = [alias for group in answer.blacklist for alias in group]
    args: dict[str, Any] = {"all": groups} | ({"none": wrong} if wrong else {})
    return Checkpoint(
        id="answer",
        requirement="The answer names everything it must and nothing that is wrong.",
        verifier=Check(name="answer_contains", args=args),
    )


def _subjective(answer: SubjectiveAnswer) -> Checkpoint:
    references = "\n".join(f"({n}) {text}" for n, text in enumerate(answer.references, start=1))
    rubric = (
        "Compare the answer with the meaning of these reference answers, of which any one is "
        f"right:\n{references}\n10: says the same as one of them. 7: the same, with a detail "
        "missing. 4: agrees in part. 0: another meaning, or no answer."
    )
    return Checkpoint(
        id="answer",
        requirement="The answer means what one of the reference answers means.",
        verifier=Judge(rubric=rubric),
    )


def _image_generation(dialog: Dialog) -> list[Checkpoint]:
    """Return the judged requirement: that a tool drew something says nothing about what it drew."""
    used = [step for step in dialog.steps if step.tool in IMAGE_TOOLS]
    calls = "\n".join(f"- {step.tool}: {_written(step.arguments)}" for step in used)
    right = f" The picture of the reference was made by these calls:\n{calls}\n" if used else " "
    return [
        Checkpoint(
            id="picture",
            requirement="The picture that was asked for has been made.",
            verifier=Judge(
                rubric=f"Compare the picture with the request.{right}"
                "10: it shows everything that is asked for, where it is asked for, and nothing "
                "else. 5: it meets the request in part. 0: no picture, the input unchanged, or "
                "another picture than the one asked for.",
                deliverables=(PICTURE.name,),
            ),
        )
    ]


def _written(arguments: Mapping[str, Any]) -> str:
    text = json.dumps(dict(arguments), ensure_ascii=False)
    return text if len(text) <= _MAX_ARGUMENTS else f"{text[:_MAX_ARGUMENTS]} ..."
