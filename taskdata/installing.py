"""How something that is missing is added to this installation."""

from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


def install_command(requirement: str, root: Path = _ROOT) -> str:
    """Return the command that installs what is missing, in backquotes.

    Args:
        requirement: As pip takes it on a command line.
        root: The folder that our packages are in: a checkout has its locked environment without
            pip, and a command that brings whatever there is.
    """
    is_checkout = (root / "scripts" / "setup").is_file()
    return "`make setup-all`" if is_checkout else f"`pip install {requirement}`"


def extra_command(extra: str) -> str:
    """Return the command that installs an extra of ours, in backquotes."""
    return install_command(f"'nightshift-evals[{extra}]'")
