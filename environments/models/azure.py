"""The URLs of Azure OpenAI: the v1 path, and deployments with an api-version."""

import os
import re
from urllib.parse import parse_qs, urlsplit, urlunsplit

_DEPLOYMENTS = "/openai/deployments/"
_V1 = "/openai/v1"
_ADVICE = (
    "deployments of Azure are models of the provider azure: azure/DEPLOYMENT with the base URL "
    "https://NAME.openai.azure.com"
)
_HOST = re.compile(r"\.azure\.com(?::\d+)?$", re.IGNORECASE)


def azure_url(named: str) -> str:
    """Return the base URL of an Azure resource, including how it is called.

    With an api-version, in the URL or in `OPENAI_API_VERSION`, the URL keeps it as its query and
    calls go to the deployments of the resource; without one they go to its v1 path.
    """
    url = urlsplit(named)
    path = url.path.rstrip("/")
    if path.endswith(_V1):
        return named.rstrip("/")
    version = _version_in(url.query) or os.environ.get("OPENAI_API_VERSION")
    query = f"api-version={version}" if version else ""
    return urlunsplit((url.scheme, url.netloc, path if version else path + _V1, query, ""))


def azure_deployment(base_url: str, model: str) -> tuple[str, str, str] | None:
    """Return resource, deployment and api-version of a base URL made by `azure_url`.

    None if calls go to the v1 path. The deployment is `model` unless the path names one.
    """
    url = urlsplit(base_url)
    version = _version_in(url.query)
    if version is None:
        return None
    path, _, named = f"{url.path}/".partition(_DEPLOYMENTS)
    resource = urlunsplit((url.scheme, url.netloc, path.rstrip("/"), "", ""))
    return resource, named.partition("/")[0] or model, version


def unsupported_path(base_url: str) -> str | None:
    """Return why other providers cannot use a deployment's URL; None for every other URL."""
    return _ADVICE if _DEPLOYMENTS in f"{urlsplit(base_url).path}/" else None


def not_found_at(where: str) -> str | None:
    """Return what a 404 from Azure may mean if another provider was named; else None."""
    return _ADVICE if _HOST.search(where) and not where.startswith("azure/") else None


def _version_in(query: str) -> str | None:
    return next(iter(parse_qs(query).get("api-version", ())), None)
