"""The scripts: what is said about one seed, from the first draft to the reference solution."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from examples.scripted_model.question import Asked, NotScripted, Question
from stages.construct.answers.drafts import shown_draft, shown_nodes, shown_task
from stages.construct.rules.coverage import coverage_map
from taskdata.schema.base import Value
from taskdata.schema.construct import TaskDraft
from taskdata.schema.task import ReferenceSolution

ANSWERS = Path(__file__).parent / "answers"

_KEPT = {
    "two_tools": True,
    "verifiable": True,
    "personal_data": False,
    "repeats": False,
    "verdict": "keep",
    "text": "",
    "why": "It holds against the whole list.",
}
"""A review that keeps a request unchanged; the number is filled in."""

NO_SOLUTION = "I have no solution to this that I would vouch for."
"""Said of the tasks that no reference was written for; no form, so the task stays unproven."""


class Words(Value):
    """An answer that is no draft: said as it stands."""

    text: str


class Classification(Value):
    """What the model finds should become of the first draft."""

    verdict: Literal["augmentation", "refinement", "deletion", "pass"]
    reasons: tuple[str, ...]


class Finding(Value):
    """A fault that the model sees in a draft."""

    rule: str
    place: str
    quote: str
    problem: str


class Demand(Value):
    """Something that the model finds demanded in a query."""

    quote: str
    leaves: tuple[str, ...] = ()


class Review(Value):
    """What the model says when it reviews one of its requests."""

    scenario: str
    difficulty: str
    says: Mapping[str, Any]
    """The fields of the review that differ from those of a kept request."""


class Script(Value):
    """All answers about one seed; a draft is named by its key in `drafts`."""

    request: str = ""
    """Words that only this seed says, whatever their case."""
    varies: str = ""
    """Instead of a seed: words of the atomic question that is varied."""
    aim: str = ""
    """Words of what is asked for beyond that; empty: nothing is."""
    drafts: Mapping[str, TaskDraft] = Field(default_factory=dict)
    generate: tuple[str | Words, ...] = ("first",)
    """Answers one after the other, each given when the one before was turned down."""
    classify: Classification | None = None
    rewrites: Mapping[str, str] = Field(default_factory=lambda: {"first": "final"})
    """Which draft a draft is rewritten to."""
    findings: Mapping[str, tuple[Finding, ...]] = Field(default_factory=dict)
    """Faults seen in a draft; in others none are."""
    trees: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Drafts whose trees are given for a draft, one after the other; by default its own."""
    demands: Mapping[str, tuple[Demand, ...]] = Field(default_factory=dict)
    """What a draft's query demands, and the leaves of the shown tree that score it; by default what
    code finds as well."""
    reference: ReferenceSolution | None = None
    slip: ReferenceSolution | None = None
    """A solution given before, which does not earn everything."""
    expand: tuple[Mapping[str, Any], ...] = ()
    """Answers about an atomic question, as the form wants them but for the arguments of steps."""
    domain: str = ""
    """Words in the name of the domain for which scenarios are proposed; there is no seed then."""
    scenarios: tuple[Mapping[str, Any], ...] = ()
    """Proposals for that domain, in order, in the structure of the form."""
    reviews: tuple[Review, ...] = ()
    """Reviews of requests in these scenarios; a request without a review is kept."""

    def draft_shown(self, shown: Mapping[str, Any]) -> str | None:
        """Return the name of the draft that a prompt shows; None: it is none of these."""
        same = [n for n, draft in self.drafts.items() if draft.query == shown.get("query")]
        tree = shown.get("checkpoints")
        exact = (n for n in same if shown_nodes(self.drafts[n].checkpoints) == tree)
        return next(exact, same[0] if same else None)


@cache
def scripts(folder: Path = ANSWERS) -> tuple[Script, ...]:
    """Return every script in the folder."""
    paths = sorted(folder.glob("*.yaml"))
    return tuple(Script.model_validate(yaml.safe_load(p.read_text("utf-8"))) for p in paths)


def answer(question: Question, known: Sequence[Script]) -> str:
    """Return what the model says.

    Raises:
        NotScripted: if no script has an answer.
    """
    if question.asked is Asked.GENERATE:
        return _generated(question, known)
    if question.asked is Asked.EXPAND:
        return _expanded(question, known)
    if question.asked is Asked.DISCOVER:
        return _discovered(question, known)
    if question.asked is Asked.REFLECT:
        return _reviewed(question, known)
    if question.asked is Asked.HARM:
        return _json({"findings": []})
    shown = _shown(question)
    if question.asked is Asked.OPINIONS and _is_variation(shown, known):
        return _json({"findings": []})
    script, name = _about(shown, known)
    match question.asked:
        case Asked.CLASSIFY if script.classify is not None:
            return _json(script.classify.model_dump())
        case Asked.REWRITE if name in script.rewrites:
            return _json(shown_task(script.drafts[script.rewrites[name]]))
        case Asked.OPINIONS:
            return _json({"findings": [f.model_dump() for f in script.findings.get(name, ())]})
        case Asked.CHECKPOINTS:
            named = script.trees.get(name, (name,))
            return _next_tree(question, [_tree(script.drafts[tree]) for tree in named])
        case Asked.REQUIREMENTS:
            return _demanded(script, name, question)
        case Asked.REFERENCE:
            return _solved(script, question)
    raise NotScripted(f"no answer to {question.asked.value} about {str(shown['title'])[:80]!r}")


def _is_variation(shown: Mapping[str, Any], known: Iterable[Script]) -> bool:
    queries = {str(form["query"]) for script in known for form in script.expand}
    return shown.get("query") in queries


def _generated(question: Question, known: Iterable[Script]) -> str:
    request = question.data.get("request", "").casefold()
    aim = question.data.get("aim", "")
    for script in known:
        is_asked = script.request and script.request.casefold() in request
        if is_asked and bool(script.aim) == bool(aim) and script.aim in aim:
            return _following([_said(script, answer) for answer in script.generate], question)
    about = " ".join((aim or request).split())
    raise NotScripted(f"no script is about the request or aim {about[:80]!r}")


def _said(script: Script, answer: str | Words) -> str:
    if isinstance(answer, Words):
        return answer.text
    return _json(shown_draft(script.drafts[answer]))


def _expanded(question: Question, known: Iterable[Script]) -> str:
    exemplar = question.data.get("finished question", "")
    for script in known:
        if script.varies and script.varies in exemplar and script.aim in question.text:
            return _following([_json(_with_texts(form)) for form in script.expand], question)
    raise NotScripted(f"no script varies the question {exemplar[:80]!r}")


def _discovered(question: Question, known: Iterable[Script]) -> str:
    script, there = _of_domain(question, known), question.data.get("known scenarios", "")
    new = [s for s in script.scenarios if s["name"] not in there.splitlines()]
    number = re.search(r"Write (\d+) scenario", question.text)
    return _json({"scenarios": new[: int(number[1]) if number else 1]})


def _reviewed(question: Question, known: Iterable[Script]) -> str:
    script = _of_domain(question, known)
    said = {(review.scenario, review.difficulty): review.says for review in script.reviews}
    reviews = [
        {
            **_KEPT,
            "number": one["number"],
            **said.get((one["scenario"], one["difficulty"]), {}),
        }
        for one in json.loads(question.data["proposals"])
    ]
    return _json({"reviews": reviews})


def _of_domain(question: Question, known: Iterable[Script]) -> Script:
    domain = question.data.get("domain", "").casefold()
    for script in known:
        if script.domain and script.domain.casefold() in domain:
            return script
    raise NotScripted(f"no script is about the domain {domain[:80]!r}")


def _shown(question: Question) -> Mapping[str, Any]:
    """Return the draft that the prompt shows."""
    try:
        shown = json.loads(question.data.get("draft") or question.data.get("task") or "{}")
    except json.JSONDecodeError as exc:
        raise NotScripted(f"the draft shown is not JSON: {exc}") from exc
    return shown if isinstance(shown, dict) else {}


def _about(shown: Mapping[str, Any], known: Iterable[Script]) -> tuple[Script, str]:
    for script in known:
        name = script.draft_shown(shown)
        if name is not None:
            return script, name
    raise NotScripted(f"no script has the draft {str(shown.get('title'))[:80]!r}")


def _next_tree(question: Question, trees: Sequence[str]) -> str:
    """Return the tree after the one found wanting in this conversation, or in an earlier one."""
    if question.rejected is None and "violations" in question.data:
        earlier = json.loads(question.data.get("earlier tree", "[]"))
        for place, tree in enumerate(trees[:-1]):
            if json.loads(tree)["checkpoints"] == earlier:
                return trees[place + 1]
    return _following(trees, question)


def _following(answers: Sequence[str], question: Question) -> str:
    """Return the answer after the rejected one; the last one is said again and again."""
    rejected = question.rejected
    place = answers.index(rejected) + 1 if rejected in answers else 0
    return answers[min(place, len(answers) - 1)]


def _demanded(script: Script, name: str, question: Question) -> str:
    there = {node["id"] for node in json.loads(question.data["checkpoints"])}
    trees = [one.checkpoints for one in script.drafts.values()]
    tree = next(t for t in trees if {leaf.id for leaf in t.leaves()} == there)
    draft = script.drafts[name].model_copy(update={"checkpoints": tree})
    known = script.demands.get(name) or [
        Demand(quote=one.quote, leaves=one.leaves)
        for one in coverage_map(draft)
        if one.quote in " ".join(draft.query.split())
    ]
    said = [{"quote": d.quote, "leaves": [x for x in d.leaves if x in there]} for d in known]
    return _json({"requirements": said})


def _solved(script: Script, question: Question) -> str:
    if script.reference is None:
        return NO_SOLUTION
    is_first = "earlier solution" not in question.data
    return _json(_solution(script.slip if script.slip and is_first else script.reference))


def _tree(draft: TaskDraft) -> str:
    return _json({"checkpoints": shown_nodes(draft.checkpoints)})


def _solution(reference: ReferenceSolution) -> dict[str, Any]:
    steps = [step.model_dump(include={"tool", "thought", "arguments"}) for step in reference.steps]
    return _with_texts({"steps": steps, "final_answer": reference.final_answer})


def _with_texts(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form with the arguments of its steps written as texts."""
    steps = [step | {"arguments": _json(step["arguments"])} for step in form["steps"]]
    return {**form, "steps": steps}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
