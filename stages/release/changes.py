"""How much a draft demands, and how rewriting changed that (GTA-2, tables 2 and 3).

GTA-2 does not say how it counts. Here a constraint is a clause of the query that limits the result:
the query is split at line breaks, sentence ends, colons, semicolons, commas and the words and, but,
with; a clause counts once if it contains a word of obligation, a bound, an exclusion, a
distribution, a form, a file name or a number. The tree is not counted: it is regenerated after
rewriting.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    ConstructionStep,
    TaskDraft,
)
from taskdata.schema.rewriting import (
    DraftCounts,
    Increase,
    RewriteMagnitude,
    RewritingTable,
    SourceOutcomes,
)
from taskdata.schema.seed import StoredSeed
from taskdata.schema.task import DeliverableType

REWRITING_KINDS = ("augmentation", "refinement")

_CUT = re.compile(r"[\n;]|[.!?:,](?:\s|$)|\b(?:and|but|with)\b", re.IGNORECASE)
_TYPES = "|".join(DeliverableType)
_BINDING = re.compile(
    r"\b(?:must|should|shall|needs?|ha(?:s|ve) to|required|make sure|ensure|please)\b"
    r"|\b(?:at (?:least|most)|no (?:more|fewer|less|later)|up to|exactly|only|maximum|minimum"
    r"|between|within|under|over|below|above)\b"
    r"|\b(?:not|never|without|except|excluding|avoid|none)\b|n['’]t\b"
    r"|\b(?:each|every|all|per|both|either)\b"
    r"|\b(?:sorted|ordered|grouped|rounded|format(?:ted)?|titled|named|labelled|columns?|rows?"
    r"|headings?|sections?|pages?|slides?|sheets?|words)\b"
    rf"|\b(?:{_TYPES}|word|excel|powerpoint)\b|\d",
    re.IGNORECASE,
)


def counts(draft: TaskDraft) -> DraftCounts:
    """Return counts of what the draft demands."""
    described = sum(len(_clauses(spec.description)) for spec in draft.deliverables)
    return DraftCounts(
        constraints=constraints_in(draft.query),
        deliverable_requirements=len(draft.deliverables) + described,
        tools=draft.tools,
    )


def constraints_in(query: str) -> int:
    """Return the number of the query's clauses that limit the result."""
    return sum(_BINDING.search(clause) is not None for clause in _clauses(query))


def rewriting_table(
    steps: Iterable[ConstructionStep],
    candidates: Sequence[Candidate],
    seeds: Iterable[StoredSeed],
) -> RewritingTable:
    """Return the results of candidates by the source of their seeds, and what the refresh added.

    Args:
        steps: Steps of these candidates, in order for each candidate.
        candidates: For a candidate without a seed, its origin is its source.
        seeds: At least the seeds of the candidates.
    """
    sources = {seed.id: seed.query.source for seed in seeds}
    by_candidate: dict[str, list[ConstructionStep]] = {}
    for step in steps:
        by_candidate.setdefault(step.candidate_id, []).append(step)
    ways = [
        _way(candidate, sources, by_candidate.get(candidate.id, ())) for candidate in candidates
    ]
    named = sorted({way.source for way in ways})
    magnitudes = [
        _magnitude(source, kind, [w for w in ways if source in (None, w.source)])
        for source in (*named, None)
        for kind in REWRITING_KINDS
    ]
    return RewritingTable(
        sources=tuple(_outcomes(s, [w for w in ways if w.source == s]) for s in named),
        total=_outcomes("all", ways),
        magnitudes=tuple(magnitude for magnitude in magnitudes if magnitude is not None),
    )


@dataclass(frozen=True)
class _Way:
    """One candidate's history in construction."""

    source: str
    kind: str | None
    """The classifier's verdict."""
    is_final: bool
    rewriting: tuple[DraftCounts, DraftCounts] | None
    """Counts before the first rewrite and after the last."""


def _way(
    candidate: Candidate, sources: Mapping[str, str], steps: Sequence[ConstructionStep]
) -> _Way:
    kinds = [step.verdict for step in steps if step.stage is Construction.CLASSIFY]
    facts = [step.facts for step in steps if step.stage is Construction.REWRITE]
    facts = [fact for fact in facts if "before" in fact]
    rewriting = None
    if facts:
        first, last = facts[0]["before"], facts[-1]["after"]
        rewriting = DraftCounts.model_validate(first), DraftCounts.model_validate(last)
    return _Way(
        source=sources[candidate.seed_id] if candidate.seed_id else candidate.origin.value,
        kind=kinds[-1] if kinds else None,
        is_final=candidate.status in (CandidateStatus.APPROVED, CandidateStatus.RELEASED),
        rewriting=rewriting,
    )


def _outcomes(source: str, ways: Sequence[_Way]) -> SourceOutcomes:
    kinds = Counter(way.kind for way in ways)
    sorted_ = {kind: kinds[kind] for kind in (*REWRITING_KINDS, "deletion")}
    return SourceOutcomes(
        source=source,
        initial=len(ways),
        passed=kinds["pass"],
        unclassified=len(ways) - sum(sorted_.values()) - kinds["pass"],
        final=sum(way.is_final for way in ways),
        **sorted_,
    )


def _magnitude(source: str | None, kind: str, ways: Sequence[_Way]) -> RewriteMagnitude | None:
    pairs = [way.rewriting for way in ways if way.kind == kind and way.rewriting is not None]
    if not pairs:
        return None
    return RewriteMagnitude(
        source=source,
        kind=kind,
        tasks=len(pairs),
        constraints=_increase([(b.constraints, a.constraints - b.constraints) for b, a in pairs]),
        deliverable_requirements=_increase(
            [
                (
                    b.deliverable_requirements,
                    a.deliverable_requirements - b.deliverable_requirements,
                )
                for b, a in pairs
            ]
        ),
        tools=_increase([(len(b.tools), len(set(a.tools) - set(b.tools))) for b, a in pairs]),
    )


def _increase(changes: Sequence[tuple[int, int]]) -> Increase:
    """Return the relative increase, from pairs of the old amount and the added amount."""
    before, added = sum(b for b, _ in changes), sum(a for _, a in changes)
    return Increase(mean=added / len(changes), percent=100 * added / before if before else None)


def _clauses(text: str) -> list[str]:
    return [clause for clause in map(str.strip, _CUT.split(text)) if clause]
