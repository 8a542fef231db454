"""When the night begins: a cron expression and its time zone.

Prefect validates the expression itself, but takes seconds to import, so this is done only where the
night is served.
"""

from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator

from taskdata.errors import Misuse

if TYPE_CHECKING:
    from prefect.schedules import Schedule


def nightly_schedule(cron: str, timezone: str) -> "Schedule":
    """Return the schedule of the night.

    Raises:
        Misuse: if Prefect does not take the expression.
    """
    from prefect.schedules import Cron

    try:
        return Cron(cron, timezone=timezone)
    except ValueError as exc:
        cause = " ".join(str(exc).split())
        raise Misuse(f"schedule: {cause}; expected such as '0 2 * * *'") from exc


def time_zone(name: str) -> str:
    """Return the name of a time zone as it is.

    Raises:
        ValueError: if there is none of that name.
    """
    try:
        ZoneInfo(name)
    # Names that are no file's, a folder's, or lead out of the folder of zones.
    except (ZoneInfoNotFoundError, OSError, ValueError) as exc:
        raise ValueError("is no time zone; expected such as UTC or Europe/Berlin") from exc
    return name


TimeZone = Annotated[str, AfterValidator(time_zone)]
