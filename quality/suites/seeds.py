"""The gate before construction: are these seed queries fit to be made into tasks?"""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from pydantic import Field

from quality.gates import Distribution, Suite
from quality.injection import injection_signs
from quality.safety.columns import SAFETY_PARTS, safety_columns, safety_expectations
from quality.safety.personal import masked
from quality.suites.expectations import (
    ROW,
    between,
    filled,
    holds,
    like,
    not_above,
    of_each,
    one_of,
    quarantining,
    rule,
    unique,
    unique_together,
)
from quality.validation import Row
from taskdata.schema.base import Value
from taskdata.schema.gate import Bounds, Share
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.schema.seed import SeedQuery

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

_SHOWN = 200
# White space is spelled out, for `\s` is not the same in every engine that pandas may use.
_UNFIT = r"\x00-\x20\x7f-\xa0" + "\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000" + '"<>'
_WEB_ADDRESS = (
    rf"^[Hh][Tt][Tt][Pp][Ss]?://(?:[^{_UNFIT}/?#@]*@)?(?:\[[0-9A-Fa-f:.]+\]|[^{_UNFIT}/?#@:\[\]]+)"
    rf"(?::[0-9]*)?(?:[/?#][^{_UNFIT}]*)?$"
)
"""What a browser would open as a web page: a scheme, a host and no white space."""


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
    """Return one row per seed, with its attachments and what is found in its text as parts."""
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
            "injection_marks",
            "source",
            "url",
            "license",
            "collected_on",
            "today",
            "attachments",
        ),
        parts=SAFETY_PARTS | {"attached_files": ("path",)},
        # An address may name a person.
        shown={"url": lambda url: masked(url)[:_SHOWN] or "''"},
        expectations=lambda: [
            unique("seed_id", "seed ids are unique"),
            *quarantining(_fit(rules, safety)),
        ],
        distribution=_sources(rules),
    )


def _row(seed: SeedQuery, today: date) -> dict[str, Any]:
    signs = injection_signs(seed.text)
    return {
        "seed_id": seed.seed_id,
        "text_length": len(seed.text.strip()),
        "injection_marks": len(signs),
        "injection_signs": signs,
        **safety_columns(
            {
                "text": seed.text,
                "url": seed.url or "",
                "attachment names": ", ".join(file.path for file in seed.attachments),
            }
        ),
        "source": seed.source,
        "url": seed.url,
        "license": (seed.license or "").strip() or None,
        "collected_on": None if seed.collected_on is None else seed.collected_on.isoformat(),
        "today": today.isoformat(),
        "attachments": len(seed.attachments),
        "attached_files": [{"path": file.path} for file in seed.attachments],
    }


def _fit(rules: SeedRules, safety: SafetyRules) -> list["Expectation"]:
    shortest, longest = rules.text_length
    most = rules.max_attachments
    fit = [
        between("text_length", f"a seed has {shortest} to {longest} characters", shortest, longest),
        rule(
            "injection",
            between("injection_marks", "a seed does not speak to the model that reads it", high=0),
            shows="injection_signs",
        ),
        *safety_expectations("a seed", safety),
        like("source", "a source is a slug", r"^[a-z0-9][a-z0-9_\-]{0,79}$"),
        rule(
            "bad_url",
            like(
                "url", "an address begins with http:// or https:// and names a host", _WEB_ADDRESS
            ),
        ),
        filled("license", "a seed has a licence"),
        rule(
            "collected_in_future",
            not_above("collected_on", "today", "a seed was not collected in the future"),
            shows="collected_on",
        ),
        between("attachments", f"a seed has at most {most} attachments", 0, most),
        *of_each(
            "attached_files",
            rule(
                "repeated_attachments",
                unique_together([ROW, "path"], "the paths of a seed's attachments are distinct"),
            ),
        ),
    ]
    if rules.sources:
        fit.append(one_of("source", "the source is a known one", rules.sources))
    return fit


def _sources(rules: SeedRules) -> Distribution:
    most, least = rules.max_source_share, rules.min_seeds_for_share

    def groups(kept: Sequence[Row]) -> list[dict[str, Any]]:
        return [
            {"group": source, "seeds": len(kept), "source_share": round(n / len(kept), 4)}
            for source, n in Counter(row["source"] for row in kept).most_common()
        ]

    says = f"no source gives more than {most:.0%} of {least} seeds or more"
    return Distribution(
        columns=("seeds", "source_share"),
        groups=groups,
        expectations=lambda: [
            between("source_share", says, 0, most, where=holds("seeds", at_least=least))
        ],
    )
