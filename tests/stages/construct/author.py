"""A scripted author: answers each prompt of construction over the wire, by what it asks for."""

import copy
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

_OPENINGS = {
    "You write tasks": "generate",
    "You decide what": "classify",
    "You make a task": "augment",
    "You put a task": "refine",
    "A task of a benchmark": "repair",
    "You proofread": "opinions",
    "You guard the door": "harm",
    "You write the tree": "checkpoints",
    "You decide how one checkpoint": "leaf",
    "You list what a task demands": "requirements",
}

TASK: dict[str, Any] = {
    "title": "Sums for the allotment",
    "query": "Our allotment club harvested 40 kg of leek, 2 kg of kale and 13 kg of beet. Put the "
    "total, the largest and the smallest crop into totals.json.",
    "category": "data_analysis",
    "capabilities": ["logic", "operation"],
    "human_minutes": 15,
    "files": [],
    "deliverables": [{"name": "totals.json", "type": "json", "description": "the three figures"}],
    "tools": ["python_execute", "write_file"],
}


def leaf(name: str, value: object) -> dict[str, Any]:
    return {
        "id": name,
        "parent": "root",
        "requirement": f"The file states the {name} of the harvest.",
        "weight": 1.0,
        "verifier": "check",
        "check": "json_values",
        "args": json.dumps({"values": {name: value}}),
        "rubric": "",
        "looks_at": ["totals.json"],
    }


TREE = [
    {
        "id": "root",
        "parent": "",
        "requirement": "The figures of the harvest are right.",
        "weight": 1.0,
        "verifier": "group",
        "check": "",
        "args": "",
        "rubric": "",
        "looks_at": [],
    },
    leaf("total", 55),
    leaf("largest", "leek"),
    leaf("smallest", "kale"),
]
LEAVES = [
    {name: node[name] for name in ("check", "args", "rubric", "looks_at")} for node in TREE[1:]
]
"""How the leaves are scored, as it is asked for one by one."""
DRAFT = TASK | {"checkpoints": TREE}
PASS = {"verdict": "pass", "reasons": ["It asks for three figures that can be decided."]}
CLEAN: dict[str, Any] = {"findings": []}
DEMANDS: dict[str, Any] = {
    "requirements": [
        {"quote": "the total", "leaves": ["total"]},
        {"quote": "the largest and the smallest crop", "leaves": ["largest", "smallest"]},
    ]
}


def changed(form: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return copy.deepcopy(form) | fields


def tree(**fields_of_total: Any) -> list[dict[str, Any]]:
    """The tree with its leaf `total` changed."""
    nodes = copy.deepcopy(TREE)
    nodes[1] |= fields_of_total
    return nodes


class Author:
    """Answers by prompt: the scripted replies in order, the last one from then on."""

    def __init__(self, wire: Any) -> None:
        self._wire = wire
        self.asked: Counter[str] = Counter()
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.replies: dict[str, list[Any]] = {
            "generate": [DRAFT],
            "classify": [PASS],
            "opinions": [CLEAN],
            "requirements": [DEMANDS],
        }
        wire.respond = self._respond

    def says(self, name: str, *replies: Any) -> None:
        """Script the replies to a prompt: a form, a raw text, or a behaviour of the wire."""
        self.replies[name] = list(replies)

    def requests(self, name: str) -> list[str]:
        """All that the model was shown with each request of a prompt."""
        return [
            "\n".join(message["content"] for message in body["messages"])
            for asked, body in self.bodies
            if asked == name
        ]

    def _respond(self, seen: Any) -> Callable[..., Any]:
        system = seen.body["messages"][0]["content"]
        name = next(name for start, name in _OPENINGS.items() if system.startswith(start))
        script = self.replies[name]
        reply = script[min(self.asked[name], len(script) - 1)]
        self.asked[name] += 1
        self.bodies.append((name, seen.body))
        if callable(reply):
            return reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return self._wire.says(text, input_tokens=1_000, output_tokens=200)
