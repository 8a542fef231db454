"""The `[notifications]` table: who is told, and of what."""

import os
from enum import StrEnum
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from taskdata.errors import Misuse
from taskdata.schema.base import Value


class Kind(StrEnum):
    """What a notice is about."""

    FAILED_NIGHT = "failed_night"
    FAILED_REFRESH = "failed_refresh"
    FAILED_GATE = "failed_gate"
    REGRESSION = "regression"
    REVIEW = "review"


class Notifications(Value):
    """Which channels notices go to; none of them: nobody is told.

    Addresses are secrets, so the settings name the variables of the environment that hold them.
    """

    webhook_url_from: str | None = None
    """Variable with the URL of a webhook that takes Slack's `{"text": ...}`."""
    mail_url_from: str | None = None
    """Variable with `mailtos://USER:PASSWORD@HOST?from=...&to=...`, as Apprise reads it."""
    blocks: tuple[str, ...] = ()
    """Notification blocks that the Prefect server has, such as `pager-duty-webhook/on-call`."""
    about: tuple[Kind, ...] = Field(default=tuple(Kind), min_length=1)
    """What notices are sent about."""


def require_addresses(settings: Notifications) -> None:
    """Raise `Misuse` if a variable that the settings name is not set, or holds no address."""
    webhook_url(settings)
    mail_url(settings)


def webhook_url(settings: Notifications) -> SecretStr | None:
    """Return the URL of the webhook, None without one.

    Raises:
        Misuse: if the variable is not set, or holds no such URL; says nothing of its value.
    """
    return _url(settings.webhook_url_from, "webhook_url_from", ("http", "https"))


def mail_url(settings: Notifications) -> SecretStr | None:
    """Return the URL of the mail server with its recipients, None without one; raises likewise."""
    return _url(settings.mail_url_from, "mail_url_from", ("mailto", "mailtos"))


def _url(variable: str | None, field: str, schemes: tuple[str, ...]) -> SecretStr | None:
    if variable is None:
        return None
    told = f"notifications.{field}: the variable {variable}"
    value = os.environ.get(variable, "").strip()
    if not value:
        raise Misuse(f"{told} is not set in the environment")
    try:
        parts = urlsplit(value)
        fits = parts.scheme in schemes and bool(parts.hostname)
    except ValueError:
        fits = False
    if not fits:
        expected = " or ".join(f"{scheme}://" for scheme in schemes)
        raise Misuse(f"{told} holds no URL that begins with {expected}")
    return SecretStr(value)
