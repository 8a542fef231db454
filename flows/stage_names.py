"""Names of the stages that can be run alone; cheap to import, unlike the flows themselves."""

STAGES = ("gate", "prepare", "execute", "score", "diagnose", "refine", "confirm", "publish")
"""Of a run."""

REFRESH_STAGES = (
    "plan_cases",
    "generate",
    "classify",
    "rewrite",
    "validate",
    "checkpoints",
    "expand",
    "balance",
    "gate_bank",
    "prove",
    "review",
    "release",
)
"""Of a refresh of a bank."""


def deployment_of(stage: str) -> str:
    """Return the name of a stage's deployment; in the UI they stand below `nightly`, `refresh`."""
    return f"stage-{stage.replace('_', '-')}"


def stage_title(stage: str, round_: int) -> str:
    """Return the name under which a stage of that refinement round reports."""
    return f"{stage} (round {round_})" if round_ else stage
