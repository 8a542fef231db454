"""A week of nights of two scripted agents, with trouble on given days."""

import hashlib
import re
from collections import Counter
from pathlib import Path

from tests.wire_server import Seen, WireServer

STEADY, SHAKY = "function_calling:compatible/steady", "function_calling:compatible/shaky"
CATEGORIES = ("data_analysis", "retrieval_qa")
SHEETS = 8
"""Tasks of each category."""

_TASK = """\
tier: atomic
category: {category}
capabilities: [logic]
title: Add two numbers of sheet {number}
query: What do 2 and 3 make? This is sheet {number} of {category}.
tools: [Calculator, finish]
answer: {{kind: objective, whitelist: [["5"]]}}
checkpoints:
  id: root
  requirement: The answer is right.
  children:
    - id: sum
      requirement: It says 5.
      verifier: {{kind: check, name: answer_contains, args: {{all: [["5"]]}}}}
"""
_SHEET = re.compile(r"sheet (\d+) of (\w+)")


class Models:
    """The two models: both answer eleven in twelve tasks right, apart from what a day plants."""

    def __init__(self) -> None:
        self.day = 1
        self.worse_in: str | None = None
        """Category in which the shaky one is wrong all day."""
        self.broken: str | None = None
        """Model whose provider answers nothing but 500."""
        self.refused = False
        """Whether the provider no longer takes the key."""
        self._asked: Counter[str] = Counter()

    def respond(self, seen: Seen):
        """Return the behaviour for one request."""
        model = seen.body["model"]
        if model == self.broken:
            return WireServer.fails(500)
        if self.refused:
            return WireServer.fails(401)
        found = _SHEET.search(str(seen.body["messages"]))
        number, category = found.groups() if found else ("", "")
        key = f"{self.day} {model} {category} {number}"
        self._asked[key] += 1
        chance = hashlib.sha256(f"{key} {self._asked[key]}".encode()).digest()[0]
        is_wrong = chance % 12 == 0 or (model == "shaky" and category == self.worse_in)
        return WireServer.says(f"The answer is {4 if is_wrong else 5}.")


def write_bank(folder: Path) -> None:
    """Write the tasks of the week."""
    for category in CATEGORIES:
        for number in range(SHEETS):
            task = folder / f"{category.replace('_', '-')}-{number}"
            task.mkdir(parents=True)
            (task / "task.yaml").write_text(_TASK.format(number=number, category=category))


def settings(bank: str, url: str, model: str) -> str:
    """Return the `nightshift.toml` of the week; `model` writes the tasks of its refresh."""
    agents = ", ".join(f'{{name = "{name}", base_url = "{url}"}}' for name in (STEADY, SHAKY))
    return f"""
[run]
bank = "{bank}"
agents = [{agents}]
repetitions = 2
refinement_rounds = 0

[night]
confirm = 3

[refresh]
model = "compatible/scripted"
base_url = "{model}"
bank = "week"
base = "{bank}"
max_augmentations = 0
"""
