"""Names of the stages that can be run alone; cheap to import, unlike the flows themselves."""

STAGES = ("gate", "prepare", "execute", "score", "diagnose", "refine", "publish")
