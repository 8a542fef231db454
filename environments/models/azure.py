"""Azure's addresses, as far as they can be told apart; it has no provider of its own yet."""

import re
from urllib.parse import urlsplit

_ADVICE = (
    "Azure's deployment paths with an api-version are not supported yet; use the resource's v1 "
    "endpoint, https://NAME.openai.azure.com/openai/v1, with the deployment as the model's name"
)
_HOST = re.compile(r"\.azure\.com(?::\d+)?$", re.IGNORECASE)


def unsupported_path(base_url: str) -> str | None:
    """Return why no call to a classic deployment path can work; None of every other address."""
    return _ADVICE if "/openai/deployments/" in f"{urlsplit(base_url).path}/" else None


def not_found_at(where: str) -> str | None:
    """Return what a 404 may mean at a place that ends in a host of Azure's; None of any other."""
    return _ADVICE if _HOST.search(where) else None
