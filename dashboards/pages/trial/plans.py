"""The plan that an agent began with, as the trial's page shows it before the transcript."""

from typing import Any

from dashboards.pages import formats
from dashboards.pages.trial.caps import Cap, shown
from taskdata.schema.plan import Plan, PlanVersion

Shape = dict[str, Any]


def planned(plan: Plan | None, cap: Cap) -> Shape | None:
    """Return the plan's versions with their steps, and what they took; None: there was no plan."""
    if plan is None:
        return None
    facts = [
        ["Model calls", str(len(plan.replies))],
        ["Tokens", f"{plan.usage.total:,}"],
        ["Cost", "unknown" if plan.cost_usd is None else formats.money(plan.cost_usd)],
        ["Time", formats.duration(sum(reply.seconds for reply in plan.replies))],
    ]
    versions = [_version("Draft", plan.draft, plan, cap)]
    if plan.refined is not None:
        versions.append(_version("Refined", plan.refined, plan, cap))
    return {"facts": facts, "versions": versions}


def _version(title: str, version: PlanVersion, plan: Plan, cap: Cap) -> Shape:
    notes = [f"model {version.replies[-1].model}"] if version.replies else []
    notes += ["asked twice"] if len(version.replies) > 1 else []
    notes += ["shared with another trial"] if any(r.cached for r in version.replies) else []
    is_followed = version is plan.followed and bool(version.text)
    notes += ["the agent was given this one"] if is_followed else []
    kept = version.steps[: cap.nodes]
    left = len(version.steps) - len(kept)
    return {
        "title": title,
        "notes": shown(" · ".join(notes), cap.reason),
        "criticism": shown(version.criticism, cap.text),
        "fault": shown(version.fault, cap.reason),
        "steps": [
            {
                "tool": "" if step.tool is None else shown(step.tool, cap.reason),
                "purpose": shown(step.purpose, cap.reason),
            }
            for step in kept
        ],
        "more": f"{formats.plural(left, 'step')} not shown" if left else "",
        "raw": "" if version.steps else shown(version.text, cap.text),
    }
