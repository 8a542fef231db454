"""A mediocre model goes through every stage, and nothing it releases pays worthless work.

It writes trees that look for words of the query or for a number of words, references such as
"cost risk next" and 90 times "word", and maps that say that everything covers everything. Now and
then it writes a tree that asks for the right figures.
"""

import asyncio
import json
import re
from pathlib import Path

import pytest

from stages.construct import checkpoints
from stages.construct.proof import prove
from stages.construct.proof.adversarial.report import Resistance
from stages.construct.start import start_refresh
from stages.intake.rows import Defaults
from stages.intake.work import SeedFile, add_files
from stages.release.release import compose, release
from stages.release.review import awaiting
from stages.release.reviewing.deciding import approve_all
from stages.score.checking.leaves import check_leaves
from stages.score.evidence import TrialEvidence
from stages.score.tree import aggregate
from taskdata.schema.construct import CandidateStatus, RefreshConfig
from taskdata.schema.evidence import MOST_FOR_CHEATS
from taskdata.schema.scores import LeafScore, Unscored
from taskdata.schema.views import CsvView, JsonView, Table, TextView
from tests.soak import at_length_only

SEEDS = Path(__file__).parents[3] / "taskdata" / "seeds"
FILES = ("internal.jsonl", "forum.csv", "platform.yaml")
MANY = 20
WORDS = (
    "cost risk next",
    " ".join(["word"] * 90),
    " ".join(
        f"{a}{b}ing"
        for a in "bdfghklmpr"
        for b in ["oa", "ee", "ai", "ou", "ie", "ea", "oi", "au", "oo"]
    ),
)


def leaf(id_, requirement, check, looks_at, **args):
    return {
        "id": id_,
        "parent": "root",
        "requirement": requirement,
        "weight": 1.0,
        "verifier": "check",
        "check": check,
        "args": json.dumps(args),
        "rubric": "",
        "looks_at": [looks_at],
    }


def judged(round_):
    node = leaf("tone", "The note is easy to read.", "", "note.md")
    rubric = f"10 if it is good, variant {round_}."
    return node | {"verifier": "judge", "check": "", "args": "", "rubric": rubric}


def loose_words(round_):
    return [
        leaf(w, f"The note deals with the {w}.", "text_contains", "note.md", all=[[w]])
        for w in ("cost", "risk", "next")
    ]


def loose_length(round_):
    return [
        leaf("long", "The note is long enough.", "text_length", "note.md", min_words=60 + round_),
        leaf("short", "The note is not too long.", "text_length", "note.md", max_words=400),
        judged(round_),
    ]


def narrow_length(round_):
    """No dump of the inputs has just this many words."""
    least = 85 + round_
    return [
        leaf("size", "It has 90 words.", "text_length", "note.md", min_words=least, max_words=92),
        leaf("words", "It is made of words.", "text_matches", "note.md", pattern=r"\b\w+ing"),
        judged(round_),
    ]


def loose_form(round_):
    columns = ["item", "amount"]
    return [
        leaf("columns", "The columns are right.", "csv_columns", "table.csv", columns=columns),
        leaf("rows", "The table has rows.", "csv_rows", "table.csv", min=1),
        leaf("some", "There are not too many rows.", "csv_rows", "table.csv", max=90 + round_),
    ]


def sound(round_):
    """From its second attempt on; before that it takes the words of the query."""
    if round_ == 0:
        return loose_words(round_)
    figures = {"total": 55.5, "tithe": 5.55, "rest": 49.95}
    return [
        leaf(n, f"The file gives the {n}, {v}.", "json_values", "sums.json", values={n: v})
        for n, v in figures.items()
    ]


TREES = (loose_words, narrow_length, sound, loose_length, loose_form)
NAMES = {loose_form: "table.csv", sound: "sums.json"}
ASKED = {
    "note.md": "Write note.md about the cost, the risk and what comes next, in 90 words.",
    "table.csv": "Make table.csv with the columns item and amount.",
    "sums.json": "Put total, tithe and rest of 40.5 kg, 2 kg and 13 kg into sums.json.",
}
CONTENT = {
    loose_words: WORDS[0],
    loose_length: WORDS[1],
    narrow_length: WORDS[2],
    loose_form: "item,amount\nx,1\n",
    sound: json.dumps({"total": 55.5, "tithe": 5.55, "rest": 49.95}),
}


def mediocre(wire, scripts):
    """Return the model; each task carries its number in its title."""

    class Mediocre(scripts.Author):
        def _respond(self, seen):
            shown = "\n".join(m["content"] for m in seen.body["messages"][:2])
            system = seen.body["messages"][0]["content"]
            self.asked["all"] += 1
            return wire.says(json.dumps(self._said(system, shown)))

        def _said(self, system, shown):
            if system.startswith("You write tasks"):
                return self._draft(len(self.bodies))
            number = int(re.findall(r"Sums and notes (\d+)", shown)[-1])
            kind = TREES[number % len(TREES)]
            if system.startswith("You write the tree"):
                self.asked[f"tree {number}"] += 1
                return {"checkpoints": nodes(kind, self.asked[f"tree {number}"])}
            if system.startswith("You list what a task demands"):
                leaves = [node["id"] for node in nodes(kind, 1)[1:]]
                query = self.bodies[number][1]["query"]
                there = [one for one in leaves if f'"{one}"' in shown]
                return {"requirements": [{"quote": query[:40], "leaves": there}]}
            if system.startswith("You solve a task"):
                return solution(kind)
            return scripts.PASS if system.startswith("You decide what") else scripts.CLEAN

        def _draft(self, number):
            kind = TREES[number % len(TREES)]
            name = NAMES.get(kind, "note.md")
            draft = {
                **scripts.TASK,
                "title": f"Sums and notes {number}",
                "query": f"This is request number {number}. {ASKED[name]}",
                "deliverables": [{"name": name, "type": name.rsplit(".", 1)[1], "description": ""}],
                "checkpoints": nodes(kind, 0),
            }
            self.bodies.append((str(number), draft))
            return draft

    return Mediocre(wire)


def nodes(kind, round_):
    named = kind(round_)
    if kind is sound and round_ == 0:
        named = [node | {"looks_at": ["sums.json"], "check": "json_values"} for node in named]
        named = [n | {"args": json.dumps({"values": {n["id"]: 13}})} for n in named]
    root = {**named[0], "id": "root", "parent": "", "requirement": "It is what was asked for."}
    return [root | {"verifier": "group", "check": "", "args": "", "looks_at": []}, *named]


def solution(kind):
    path = f"output/{NAMES.get(kind, 'note.md')}"
    arguments = json.dumps({"path": path, "content": CONTENT[kind]})
    step = {"tool": "write_file", "thought": "", "arguments": arguments}
    return {"steps": [step], "final_answer": "Done."}


@pytest.fixture
def refreshed(store, wire, scripts, connect, construct):
    """A refresh of raw seeds by the mediocre model, proven to the end."""
    mediocre(wire, scripts)
    add_files(store, [SeedFile.at(SEEDS / name) for name in FILES], Defaults())
    seeds = sorted(seed.id for seed in store.seeds())[:MANY]
    model = {"provider": "openai", "model": "gpt-5-mini"}
    fields = {"base": None, "model": model, "seeds": seeds, "max_rewrites": 1}
    config = RefreshConfig.model_validate(fields | {"draft_references": True, "max_asks": 2})
    start_refresh(store, config, "r1")
    construct(store, "r1", connect)
    for _ in range(3):
        prove.do(store, "r1", connect)
        checkpoints.do(store, "r1", connect)
    return store


def worthless(task):
    """Yield what nobody worked for, under the right names."""
    for text in (*WORDS, task.query, ""):
        views = {
            "note.md": TextView(text=text),
            "table.csv": CsvView(table=Table(rows=(("item", "amount"), (text[:20], "")))),
            "sums.json": JsonView(value=dict.fromkeys(("total", "tithe", "rest"), text)),
        }
        yield text, {spec.name: views[spec.name] for spec in task.deliverables}


def paid(task, views, answer):
    """Return the root score by checks alone."""
    evidence = TrialEvidence(views=views, delivered=tuple(views), final_answer=answer)
    checked = asyncio.run(check_leaves(task.checkpoints.leaves(), evidence))
    unasked = {"score": None, "verifier": "none@1", "unscored": Unscored.NOT_CONFIGURED}
    others = {
        one.id: LeafScore(leaf_id=one.id, reason="not asked", **unasked)
        for one in task.checkpoints.leaves()
    }
    return aggregate(task.checkpoints, {**others, **checked}).score or 0.0


@pytest.mark.soak
@at_length_only  # the tests of each stage hold what it relies on
def test_nothing_of_a_mediocre_model_is_released_that_pays_worthless_work(refreshed):
    store = refreshed
    candidates = store.candidates("r1")
    assert len(candidates) == MANY
    waiting = awaiting(store, "r1")
    stopped = [c for c in candidates if c.status is CandidateStatus.QUARANTINED]
    assert len(waiting) + len(stopped) == MANY
    assert 0 < len(waiting) < len(stopped), "sound trees pass, and most are stopped"
    for candidate in waiting:
        steps = store.steps(candidate.id)
        found = Resistance.model_validate(steps[-1].facts["resistance"])
        assert (found.overpaid, found.unnoticed) == ((), ())

    approve_all(store, "r1", "kirsten", "looks fine")
    notes = release(store, compose(store, store.refresh("r1")))
    for task in store.tasks_of_release(notes.release_hash).values():
        for text, views in worthless(task):
            assert paid(task, views, text) <= MOST_FOR_CHEATS, (task.query, text[:40])
