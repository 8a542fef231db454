"""How something that is missing is added to this installation."""

from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


DEFAULT_MODEL = "default-model"
"""The extra with the model of the default run: not a dependency, for it has 491 MB."""
LOCAL_MODELS = "local-models"
"""The extra that is too large to come with all the others."""
_TARGETS = {DEFAULT_MODEL: "setup", LOCAL_MODELS: "setup-models"}


def install_command(requirement: str, root: Path = _ROOT, target: str = "setup-all") -> str:
    """Return the command that installs what is missing, in backquotes.

    Args:
        requirement: As pip takes it on a command line.
        root: The folder that our packages are in: a checkout has its locked environment without
            pip, and a command that brings whatever there is.
        target: That command, a target of the Makefile.
    """
    is_checkout = (root / "scripts" / "setup").is_file()
    return f"`make {target}`" if is_checkout else f"`pip install {requirement}`"


def extra_command(extra: str) -> str:
    """Return the command that installs an extra of ours, in backquotes."""
    target = _TARGETS.get(extra, "setup-all")
    return install_command(f"'nightshift-evals[{extra}]'", target=target)
