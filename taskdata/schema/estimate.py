"""A mean with its interval."""

from taskdata.schema.base import Value


class Estimate(Value):
    """A mean with its 95 % interval, which respects clustering by task."""

    mean: float | None
    ci95: tuple[float, float] | None
    """None where fewer than two tasks were scored."""
    n: int = 0
    """Trials behind the mean."""
    method: str | None = None
    """How it was estimated, where it is more than the mean of these trials."""
