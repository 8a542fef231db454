"""The checklist of a reviewer on the command line: from options, or asked item by item."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from taskdata.schema.review import Answer, Checklist, ChecklistItem, ItemAnswer

YesOption = Annotated[
    bool, typer.Option("--yes", help="Answer every item that is not named otherwise with yes.")
]
NoOption = Annotated[
    list[str] | None, typer.Option("--no", help="An item to which the answer is no; repeatable.")
]
UnsureOption = Annotated[
    list[str] | None, typer.Option("--unsure", help="An item you are unsure of; repeatable.")
]
NoteOption = Annotated[
    list[str] | None, typer.Option("--note", help="ITEM=TEXT, a note on an answer; repeatable.")
]

_MEANT: "dict[str, Answer]" = {
    "y": "yes",
    "yes": "yes",
    "n": "no",
    "no": "no",
    "u": "unsure",
    "unsure": "unsure",
}


def answered(
    no: Iterable[str] | None,
    unsure: Iterable[str] | None,
    notes: Iterable[str] | None,
    *,
    rest_is_yes: bool,
) -> "Checklist":
    """Return the checklist that options give.

    Args:
        no: Names of items.
        unsure: Names of items.
        notes: `ITEM=TEXT` each.
        rest_is_yes: Whether the items that are not named have the answer yes, or none.

    Raises:
        Misuse: if an item is unknown or named twice, or a note is on an item without an answer.
    """
    from taskdata.schema.review import ChecklistItem, ItemAnswer

    answers: dict[ChecklistItem, Answer] = {}
    given: tuple[tuple[Answer, Iterable[str]], ...] = (("no", no or ()), ("unsure", unsure or ()))
    for answer, names in given:
        for item in map(_item, names):
            if answers.setdefault(item, answer) != answer:
                raise Misuse(f"item {item.value} is said to be both {answers[item]} and {answer}")
    if rest_is_yes:
        answers = {item: answers.get(item, "yes") for item in ChecklistItem}
    said = dict(map(_note, notes or ()))
    for item in said:
        if item not in answers:
            raise Misuse(f"the note is on item {item.value}, which has no answer")
    return tuple(
        ItemAnswer(item=item, answer=answers[item], note=said.get(item, ""))
        for item in ChecklistItem
        if item in answers
    )


def is_asked_here() -> bool:
    """Return whether a person sits at this terminal who can be asked."""
    return sys.stdin.isatty() and console.out.is_terminal


def asked(task_id: str, title: str) -> "Checklist":
    """Ask a person the items of the checklist about one task; return the answers.

    Raises:
        Misuse: if the input ends.
    """
    from taskdata.schema.review import ChecklistItem

    console.heading(f"\n{task_id}: {title}")
    console.say("y: yes, n: no, u: unsure; what follows it is a note")
    return tuple(_one(item) for item in ChecklistItem)


def line(question: str) -> str:
    """Ask a person for one line and return it without spaces around.

    Raises:
        Misuse: if the input ends.
    """
    try:
        return console.ask(question).strip()
    except EOFError as exc:
        raise Misuse("the answers ended early; about this task nothing was decided") from exc


def written(checklist: "Sequence[ItemAnswer]") -> str:
    """Return a checklist in one line."""
    from taskdata.schema.review import ChecklistItem

    wrong = [str(one) for one in checklist if one.answer != "yes" or one.note]
    yes = sum(one.answer == "yes" for one in checklist)
    if not checklist:
        return "checklist not answered"
    return "; ".join([f"yes to {yes} of {len(ChecklistItem)}", *wrong])


def _one(item: "ChecklistItem") -> "ItemAnswer":
    from taskdata.schema.review import NOTE_CHARACTERS, ItemAnswer

    while True:
        word, _, note = line(f"{item.question} ").partition(" ")
        answer = _MEANT.get(word.lower().rstrip(",:;"))
        if answer is None:
            console.say("y, n or u, please")
        elif len(note) > NOTE_CHARACTERS:
            console.say(f"a note of at most {NOTE_CHARACTERS} characters, please")
        else:
            return ItemAnswer(item=item, answer=answer, note=note.strip())


def _item(name: str) -> "ChecklistItem":
    from taskdata.schema.review import ChecklistItem

    try:
        return ChecklistItem(name)
    except ValueError as exc:
        known = ", ".join(ChecklistItem)
        raise Misuse(f"{name[:60]!r} is no item of the checklist; there are: {known}") from exc


def _note(given: str) -> "tuple[ChecklistItem, str]":
    from taskdata.schema.review import NOTE_CHARACTERS

    name, equals, text = given.partition("=")
    if not equals or not text.strip():
        raise Misuse(f"--note {given[:60]!r}: expected ITEM=TEXT")
    if len(text) > NOTE_CHARACTERS:
        raise Misuse(f"--note {name[:60]}: longer than {NOTE_CHARACTERS} characters")
    return _item(name.strip()), text.strip()
