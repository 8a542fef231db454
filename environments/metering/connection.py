"""Which way the proxy's own requests take."""

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from environments.models.wire.endpoint import Endpoint


def proxy_for(endpoint: Endpoint) -> str | None:
    """Return the proxy that the environment names for the endpoint, looked up once.

    aiohttp would look it up for every request, in another thread, and take logins from `.netrc`.
    """
    url = urlsplit(endpoint.base_url)
    # A local server is reached directly, whatever the environment says.
    if endpoint.spec.provider == "local" or proxy_bypass(endpoint.host):
        return None
    return getproxies().get(url.scheme)
