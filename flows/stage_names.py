"""Names of the stages that can be run alone; cheap to import, unlike the flows themselves."""

STAGES = ("gate", "prepare", "execute", "score", "diagnose", "refine", "publish")
"""Of a run."""

REFRESH_STAGES = (
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
