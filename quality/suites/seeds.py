"""The gate before construction: are these seed queries fit to be made into tasks?"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import Field

from quality.gates import Distribution, Suite
from quality.injection import injection_signs
from quality.safety.columns import SAFETY_COLUMNS, safety_columns, safety_expectations
from quality.safety.personal import masked
from quality.suites.expectations import (
    between,
    empty,
    filled,
    like,
    one_of,
    quarantining,
    unique,
)
from quality.validation import Row
from taskdata.schema.base import Value
from taskdata.schema.gate import Bounds, Share
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.schema.seed import SeedQuery

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

_SHOWN = 200


class SeedRules(Value):
    """What the gate asks of a seed beyond being well formed."""

    text_length: Bounds = (20, 20_000)
    """Characters, white space at the ends not counted."""
    sources: tuple[str, ...] = ()
    """The sources that are known; empty: any slug."""
    max_attachments: int = Field(default=20, ge=0)
    max_source_share: Share = 0.6
    """Largest share (0-1) of the seeds that may come from one source."""
    min_seeds_for_share: int = Field(default=50, ge=1)
    """Below it, the share of a source says nothing."""


def seed_rows(seeds: Sequence[SeedQuery], today: date) -> list[dict[str, Any]]:
    """Return one row per seed; columns that name faults are None where there are none."""
    return [_row(seed, today) for seed in seeds]


def seeds_suite(rules: SeedRules = SeedRules(), safety: SafetyRules = NOTHING_ALLOWED) -> Suite:
    """Return the suite named `seeds` over `seed_rows`.

    A seed that breaks a rule goes into quarantine. Seeds of one id, or too many of one source
    among those that are left, stop the flow.
    """
    return Suite(
        name="seeds",
        id_column="seed_id",
        columns=(
            "seed_id",
            "text_length",
            "injection",
            *SAFETY_COLUMNS,
            "source",
            "bad_url",
            "license",
            "collected_in_future",
            "attachments",
            "repeated_attachments",
        ),
        expectations=lambda: [
            unique("seed_id", "seed ids are unique"),
            *quarantining(_fit(rules, safety)),
        ],
        distribution=_sources(rules),
    )


def _row(seed: SeedQuery, today: date) -> dict[str, Any]:
    paths = Counter(file.path for file in seed.attachments)
    later = seed.collected_on is not None and seed.collected_on > today
    return {
        "seed_id": seed.seed_id,
        "text_length": len(seed.text.strip()),
        "injection": ", ".join(injection_signs(seed.text)) or None,
        **safety_columns(
            {"text": seed.text, "url": seed.url or "", "attachment names": ", ".join(paths)}
        ),
        "source": seed.source,
        "bad_url": _bad_url(seed.url),
        "license": (seed.license or "").strip() or None,
        "collected_in_future": str(seed.collected_on) if later else None,
        "attachments": len(seed.attachments),
        "repeated_attachments": ", ".join(p for p, n in sorted(paths.items()) if n > 1) or None,
    }


def _bad_url(url: str | None) -> str | None:
    """Return an address that no browser would open as a web page."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        fits = False
    return (
        None
        if fits and not re.search(r"[\s\x00-\x1f\x7f<>\"]", url)
        else masked(url)[:_SHOWN] or "''"
    )


def _fit(rules: SeedRules, safety: SafetyRules) -> list["Expectation"]:
    shortest, longest = rules.text_length
    most = rules.max_attachments
    fit = [
        between("text_length", f"a seed has {shortest} to {longest} characters", shortest, longest),
        empty("injection", "a seed does not speak to the model that reads it"),
        *safety_expectations("a seed", safety),
        like("source", "a source is a slug", r"^[a-z0-9][a-z0-9_\-]{0,79}$"),
        empty("bad_url", "an address begins with http:// or https:// and names a host"),
        filled("license", "a seed has a licence"),
        empty("collected_in_future", "a seed was not collected in the future"),
        between("attachments", f"a seed has at most {most} attachments", 0, most),
        empty("repeated_attachments", "the paths of a seed's attachments are distinct"),
    ]
    if rules.sources:
        fit.append(one_of("source", "the source is a known one", rules.sources))
    return fit


def _sources(rules: SeedRules) -> Distribution:
    most, least = rules.max_source_share, rules.min_seeds_for_share

    def groups(kept: Sequence[Row]) -> list[dict[str, Any]]:
        judged = len(kept) >= least
        return [
            {"group": source, "source_share": round(n / len(kept), 4) if judged else None}
            for source, n in Counter(row["source"] for row in kept).most_common()
        ]

    says = f"no source gives more than {most:.0%} of {least} seeds or more"
    return Distribution(
        columns=("source_share",),
        groups=groups,
        expectations=lambda: [between("source_share", says, 0, most)],
    )
