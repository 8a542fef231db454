"""The recipes of docs/other-agents.md, as they are written there."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from taskdata.schema.agent import AgentSpec

PAGE = Path(__file__).resolve().parents[4] / "docs" / "other-agents.md"
_RECIPE = re.compile(
    r"^### (?P<name>[\w-]+)\n\nSeen working: [\d.]+\.\n\n"
    r"```sh\n(?P<install>.*?)\n```\n\n```toml\n(?P<settings>.*?)```",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Recipe:
    """How one program is installed, and which agent it is then."""

    name: str
    install: str
    agent: AgentSpec


def section() -> str:
    """The part of the page that holds them."""
    return PAGE.read_text().partition("## Recipes")[2].partition("\n## ")[0]


def _recipe(found: re.Match[str]) -> Recipe:
    (given,) = tomllib.loads(found["settings"])["run"]["agents"]
    return Recipe(found["name"], found["install"], AgentSpec.parse(given.pop("name"), **given))


RECIPES = {found["name"]: _recipe(found) for found in _RECIPE.finditer(section())}
