"""What notices say: plain sentences with a link.

A notice goes into chats and mails, which make links, mentions and markup of what they are sent.
What a task, an agent or an error message says is therefore quoted: capped, in one line, and without
the characters that those react to.
"""

from collections.abc import Sequence

from dashboards.visible_text import visible
from flows.notices.settings import Kind
from taskdata.schema.base import Value
from taskdata.schema.night import ScoreChange

QUOTED_CHARACTERS = 300
_NAMED = 5

# Others that look like them, for chats and mail readers disagree about how these are escaped.
_INERT = str.maketrans({"<": "‹", ">": "›", "&": "＆", "@": "＠", "`": "'"})


class Notice(Value):
    """One message."""

    kind: Kind
    about: str
    """Id of the run or the refresh."""
    subject: str
    text: str
    """With its link, if there is one."""

    @property
    def event(self) -> str:
        """Name of the event that carries it."""
        return event_of(self.kind)


def event_of(kind: Kind) -> str:
    """Return the name of the event that carries notices of that kind."""
    names = {
        Kind.FAILED_NIGHT: "night.failed",
        Kind.FAILED_REFRESH: "refresh.failed",
        Kind.FAILED_GATE: "gate.failed",
        Kind.REGRESSION: "regression.confirmed",
        Kind.REVIEW: "review.waiting",
    }
    return f"nightshift.{names[kind]}"


def quoted(text: str, most: int = QUOTED_CHARACTERS) -> str:
    """Return what others wrote so that no chat and no mail reader makes more than text of it."""
    line = " ".join(visible(text).split()).translate(_INERT)
    line = line.replace("://", ": //").replace("www.", "www .")
    return f"`{line if len(line) <= most else line[: most - 2] + ' …'}`"


def failed_night(run_id: str, cause: str, link: str | None) -> Notice:
    """Return the notice that a night has failed."""
    subject = f"Nightshift: night {run_id} has failed"
    said = f"Night {run_id} has failed: {quoted(cause)}. Retry in the Prefect UI goes on."
    return _notice(Kind.FAILED_NIGHT, run_id, subject, said, link)


def failed_refresh(refresh_id: str, cause: str, link: str | None) -> Notice:
    """Return the notice that a refresh has failed."""
    subject = f"Nightshift: refresh {refresh_id} has failed"
    said = f"Refresh {refresh_id} has failed: {quoted(cause)}. Retry in the Prefect UI goes on."
    return _notice(Kind.FAILED_REFRESH, refresh_id, subject, said, link)


def failed_gate(about: str, cause: str, link: str | None) -> Notice:
    """Return the notice that a gate of a night or a refresh does not hold."""
    subject = f"Nightshift: a gate has stopped {about}"
    return _notice(
        Kind.FAILED_GATE, about, subject, f"A gate does not hold: {quoted(cause)}.", link
    )


def waiting_review(refresh_id: str, bank: str, tasks: int, link: str | None) -> Notice:
    """Return the notice that a refresh waits for a person."""
    subject = f"Nightshift: {tasks} tasks for bank {bank} wait for your review"
    said = (
        f"Refresh {refresh_id} of bank {bank} waits for its review: {tasks} tasks need a decision. "
        "The flow run has a form, under Resume; `nightshift review list` names the tasks."
    )
    return _notice(Kind.REVIEW, refresh_id, subject, said, link)


def confirmed_regression(
    run_id: str, against: Sequence[str], changes: Sequence[ScoreChange], link: str | None
) -> Notice:
    """Return the notice of what has got worse since earlier nights.

    Args:
        run_id: The night that is worse.
        against: The nights that it is compared with.
        changes: What got worse, at least one change, in the order in which they are told.
        link: To the page about it.
    """
    count = len(changes)
    subject = f"Nightshift: {count} confirmed regression{'s' * (count > 1)} in {run_id}"
    nights = ", ".join(against[:_NAMED])
    said = [f"Night {run_id} is worse than the nights before ({nights}), and a re-run confirms it."]
    for change in changes[:_NAMED]:
        interval = change.difference.ci95
        told = f", 95 % interval {interval[0]:+.1f} to {interval[1]:+.1f}" if interval else ""
        where = "all tasks" if change.scope == "all" else change.scope
        said.append(
            f"{quoted(change.agent, 80)} on {quoted(where, 80)}: {change.before:.1f} before, "
            f"{change.after:.1f} now ({change.after - change.before:+.1f}{told})."
        )
    if count > _NAMED:
        said.append(f"There are {count - _NAMED} more.")
    return _notice(Kind.REGRESSION, run_id, subject, "\n".join(said), link)


def _notice(kind: Kind, about: str, subject: str, said: str, link: str | None) -> Notice:
    text = f"{said}\n{link}" if link else said
    return Notice(kind=kind, about=about, subject=subject, text=text)
