"""API keys: from the environment, else from the keyring of the machine, and from nowhere else."""

import os

from taskdata.errors import Misuse

KEYRING_SERVICE = "nightshift"
"""Name under which keys lie in the keyring, each as the user of its environment variable."""


def find_key(variable: str) -> str | None:
    """Return the key, or None; a keyring that is missing or locked simply holds none."""
    key = os.environ.get(variable, "").strip()
    return key or _in_keyring(variable)


def required_key(variable: str) -> str:
    """Return the key; raises `Misuse`, which names both ways to give it, if there is none."""
    key = find_key(variable)
    if key is None:
        raise Misuse(
            f"set the environment variable {variable}, or store the key with "
            f"`keyring set {KEYRING_SERVICE} {variable}`"
        )
    return key


def _in_keyring(variable: str) -> str | None:
    # Looks for the desktop's services when it is loaded.
    import keyring
    from keyring.errors import KeyringError

    try:
        key = keyring.get_password(KEYRING_SERVICE, variable)
    # Backends let the errors of the service behind them through.
    except (KeyringError, OSError, RuntimeError):
        return None
    return (key or "").strip() or None
