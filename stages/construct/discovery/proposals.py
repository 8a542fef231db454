"""Proposed requests, and the faults that code finds in them, independent of the model's review."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quality.injection import injection_signs
from quality.safety.personal import masked
from quality.tool_names import tools_named
from stages.construct.discovery.forms import RequestForm, ReviewForm, ScenarioForm
from stages.construct.rules.wording import prescribed_steps
from stages.intake.wording import words
from taskdata.schema.package import Difficulty

LEAST_TOOLS = 2
LENGTH = (40, 4_000)
"""Shortest and longest request, in characters."""

_ADDRESS = re.compile(r"[\w.+-]{1,64}@(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})")
_RESERVED = re.compile(r"(?:^|\.)(?:example\.(?:com|net|org)|example|invalid|test|localhost)$")
"""Domain names that are reserved for examples (RFC 2606)."""
_NUMBER = re.compile(r"(?<![\w.,-])(?:\+|00)\d(?:[ ()/-]{0,2}\d){7,13}(?![\w])")
_ACCOUNT = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b|\b(?:\d{4}[ -]){3}\d{4}\b")
_HIDDEN = "[PERSONAL DATA]"


@dataclass(frozen=True)
class Proposal:
    """One request of a scenario."""

    scenario: ScenarioForm
    request: RequestForm
    mended: str | None = None
    """The request as the model's review changed it; None: unchanged."""

    @property
    def text(self) -> str:
        """The request in its current wording."""
        return (self.request.text if self.mended is None else self.mended).strip()


def proposals_of(scenarios: Sequence[ScenarioForm]) -> tuple[Proposal, ...]:
    """Return the requests of all scenarios, easy ones first within each."""
    order = list(Difficulty)
    return tuple(
        Proposal(scenario, request)
        for scenario in scenarios
        for request in sorted(scenario.requests, key=lambda r: order.index(r.difficulty))
    )


def faults_of(proposal: Proposal, offered: frozenset[str]) -> tuple[str, ...]:
    """Return a sentence for each fault of a proposal; the caller looks for repeated requests."""
    return tuple(_faults(proposal, offered))


def objections_of(review: ReviewForm) -> tuple[str, ...]:
    """Return the faults that the model's own review states for a request that it keeps."""
    found = {
        "it needs fewer than two tools": not review.two_tools,
        "its result cannot be verified": not review.verifiable,
        "it holds personal data": review.personal_data,
        "it repeats another one": review.repeats,
    }
    return tuple(objection for objection, holds in found.items() if holds)


def without_personal_data(text: str) -> str:
    """Return the text with addresses and telephone, account and card numbers replaced."""
    text = _ADDRESS.sub(_hidden_address, masked(text))
    return _ACCOUNT.sub(_HIDDEN, _NUMBER.sub(_HIDDEN, text))


def _hidden_address(found: re.Match[str]) -> str:
    return found[0] if _RESERVED.search(found["host"].lower()) else _HIDDEN


def _faults(proposal: Proposal, offered: frozenset[str]) -> Iterator[str]:
    text, named = proposal.text, frozenset(proposal.scenario.tools)
    if unknown := sorted(named - offered):
        yield f"its scenario names {unknown}, which are not on offer"
    if len(named & offered) < LEAST_TOOLS:
        yield f"its scenario names fewer than {LEAST_TOOLS} tools that are on offer"
    shortest, longest = LENGTH
    if not shortest <= len(text) <= longest or not words(text):
        yield f"it has {len(text)} characters; a request has {shortest} to {longest}"
    for tool in sorted(tools_named(text, offered)):
        yield f"it names the tool {tool}; say what is wanted instead"
    if steps := prescribed_steps(text):
        yield f"it prescribes steps ({steps!r}); say what is wanted instead"
    if without_personal_data(text) != text:
        yield "it holds personal data; say it without"
    if signs := injection_signs(text):
        yield f"it speaks to the model that reads it ({', '.join(signs)})"
