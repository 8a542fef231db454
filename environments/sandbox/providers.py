"""The sandbox providers by name; adding one is one module and one line here."""

from collections.abc import Callable, Mapping

from environments.ports import SandboxProvider
from environments.sandbox.bubblewrap.provider import Bubblewrap
from environments.sandbox.docker.provider import Docker
from taskdata.errors import Misuse

PROVIDERS: Mapping[str, Callable[[], SandboxProvider]] = {
    "bubblewrap": Bubblewrap,
    "docker": Docker,
}


def sandbox_provider(name: str) -> SandboxProvider:
    """Return the provider called `name`, which may still be `unavailable()` on this host.

    Raises:
        Misuse: there is no such provider.
    """
    try:
        return PROVIDERS[name]()
    except KeyError:
        known = ", ".join(PROVIDERS)
        raise Misuse(f"unknown sandbox {name!r}; choose one of: {known}") from None
