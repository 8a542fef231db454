"""The plan that an agent began with, for reading in a terminal."""

from flows.cli import console
from taskdata.schema.plan import Plan, PlanReply, PlanVersion

_SHOWN_LETTERS = 4_000


def write_plan(plan: Plan, *, full: bool) -> None:
    """Write the plan's versions and what they took; an unread reply is cut, unless `full`."""
    calls = len(plan.replies)
    paid = "unknown cost" if plan.cost_usd is None else f"${plan.cost_usd:.4f}"
    console.heading("Plan")
    console.say(
        f"{calls} model call{'' if calls == 1 else 's'}, {plan.usage.total:,} tokens, {paid}; all "
        "of it is part of the trial's usage and cost"
    )
    _write(plan.draft, "Draft", full=full)
    if plan.refined is not None:
        _write(plan.refined, "Refined", full=full)
        if plan.followed is plan.draft:
            console.say("The agent was given the draft.")


def _write(version: PlanVersion, title: str, *, full: bool) -> None:
    console.heading(f"\n{title}{_asked(version.replies)}")
    if version.criticism:
        console.block(f"Criticism of the draft: {version.criticism}")
    if not version.steps:
        console.block(f"No plan could be read: {version.fault or 'there is none'}")
        if version.text:
            console.block("As the model wrote it:")
    text = version.text if full else version.text[:_SHOWN_LETTERS]
    if text:
        console.block(text, indent=4)
    if len(text) < len(version.text):
        left = len(version.text) - len(text)
        console.block(f"[... {left:,} more characters; --full shows them]", indent=4)


def _asked(replies: tuple[PlanReply, ...]) -> str:
    if not replies:
        return ""
    last = replies[-1]
    parts = [f"{sum(reply.seconds for reply in replies):.1f} s"]
    parts += ["asked twice"] if len(replies) > 1 else []
    parts += ["shared with another trial"] if any(reply.cached for reply in replies) else []
    return f": {last.model} ({', '.join(parts)})"
