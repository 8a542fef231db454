"""The start of a refresh: the seeds that it uses, and a candidate for each."""

import hashlib
import re
import time
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from environments.models.money.prices import price_of
from environments.models.money.spending import require_price
from environments.models.registry import require_model
from stages.construct.planning.supplied import read_supplied
from stages.intake.languages import fill_in
from taskdata.banks.found import find_bank
from taskdata.banks.loader import bundled_banks
from taskdata.errors import Misuse
from taskdata.schema.construct import (
    Candidate,
    Construction,
    Origin,
    Refresh,
    RefreshConfig,
    RefreshStatus,
)
from taskdata.schema.run import StageReport
from taskdata.schema.seed import EXCERPT_CHARACTERS, QuarantinedRow, SeedLink, StoredSeed
from taskdata.schema.task import Tier
from taskdata.store import Store
from taskdata.version import code_version

STAGE = "start"

_SLUG_CHARACTERS = 48
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Repeated:
    """A seed that is left out because its text equals that of another seed or task."""

    seed: StoredSeed
    link: SeedLink

    @property
    def reason(self) -> str:
        """Why the seed is left out."""
        return f"says word for word the same as {self.link.other_kind} {self.link.other_id}"


def start_refresh(
    store: Store, config: RefreshConfig, refresh_id: str, flow_run_id: str | None = None
) -> Refresh:
    """Store a refresh with a candidate for each of its seeds; idempotent.

    A seed that repeats an older seed or a task word for word is left out, with a row in the
    quarantine and a note in the stage's report; one that is merely similar to another is kept, and
    the reviewer is told. What was in quarantine in earlier refreshes and has been mended is part
    of this one.

    Raises:
        Misuse: if a refresh of that id has another configuration, or see `require_ready`.
    """
    require_ready(store, config)
    started = time.monotonic()
    known = store.find_refresh(refresh_id)
    if known is not None and known.config != config:
        raise Misuse(f"refresh {refresh_id!r} exists with another configuration; take another id")
    if any(report.stage == STAGE for report in store.refresh_stages(refresh_id)) and known:
        return known
    taken, repeated = chosen_seeds(store, config, refresh_id)
    if known is None:
        known = Refresh(
            id=refresh_id,
            status=RefreshStatus.RUNNING,
            config=config,
            code_version=code_version(),
            created_at=datetime.now(UTC),
            flow_run_id=flow_run_id,
        )
        store.add_refresh(known)
    store.add_candidates([candidate_of(refresh_id, seed) for seed in taken])
    mended = mended_elsewhere(store, config, refresh_id)
    store.move_candidates(mended, refresh_id)
    store.quarantine([_left_out(refresh_id, one) for one in repeated])
    # Last: this report marks the start as complete.
    store.record_refresh_stage(
        StageReport(
            stage=STAGE,
            run_id=refresh_id,
            due=len(taken) + len(repeated) + len(mended),
            done=len(taken) + len(mended),
            seconds=time.monotonic() - started,
            note="; ".join(filter(None, (_note(repeated), _taken_up(mended)))),
        )
    )
    return known


def require_ready(store: Store, config: RefreshConfig) -> None:
    """Check everything that a refresh of this configuration needs; makes no model call.

    Raises:
        Misuse: if the bank's name is that of a bundled one, the base or a named seed does not
            exist, a model cannot be used, or its price is unknown and a limit in money is set.
    """
    if config.bank in bundled_banks():
        raise Misuse(
            f"bank name {config.bank!r} is that of a bundled bank, which a refresh can build on "
            "(--base) but not replace; give another name (--bank)"
        )
    for model, base_url in config.models:
        require_price(config.limits, price_of(model))
        require_model(model, base_url)
    if config.base is not None:
        find_bank(store, config.base)
    if config.plan_cases is not None:
        find_bank(store, config.plan_cases)
    if config.plan_words is not None:
        read_supplied(Path(config.plan_words))
    for seed_id in config.seeds:
        store.seed(seed_id)


def chosen_seeds(
    store: Store, config: RefreshConfig, refresh_id: str | None = None
) -> tuple[tuple[StoredSeed, ...], tuple[Repeated, ...]]:
    """Return the seeds for a refresh, and those left out because they repeat others.

    Seeds that the refresh of that id has used already, before an interruption, count as unused.

    Raises:
        Misuse: if a seed that the configuration names is not in the store.
    """
    if config.plan_cases is not None:
        return (), ()
    used = store.used_seeds(config.bank)
    if refresh_id is not None:
        used -= {candidate.seed_id or "" for candidate in store.candidates(refresh_id)}
    if config.seeds:
        asked = [store.seed(seed_id) for seed_id in dict.fromkeys(config.seeds)]
    else:
        if config.language is not None:
            fill_in(store)
        asked = [seed for seed in store.seeds(language=config.language) if seed.id not in used]
    ages = {seed.id: (seed.added_at, seed.id) for seed in asked}
    taken, repeated = list[StoredSeed](), list[Repeated]()
    for seed in asked:
        link = _repeats(seed, ages, used)
        if link is None:
            taken.append(seed)
        else:
            repeated.append(Repeated(seed, link))
    return tuple(taken), tuple(repeated)


def mended_elsewhere(
    store: Store, config: RefreshConfig, refresh_id: str | None = None
) -> list[Candidate]:
    """Return what earlier refreshes of the bank stopped and a person has mended since.

    A refresh of named seeds takes up nothing else. Tasks that were asked for by another stage than
    the start go on in their own refresh.
    """
    if config.seeds or config.plan_cases is not None:
        return []
    found = store.mended_candidates(config.bank)
    return [c for c in found if c.origin is Origin.SEED and c.refresh_id != refresh_id]


def candidate_of(refresh_id: str, seed: StoredSeed) -> Candidate:
    """Return the candidate made from a seed; a seed always gives the same candidate."""
    key = hashlib.sha256(f"{refresh_id}\n{seed.id}".encode()).hexdigest()
    return Candidate(
        id=f"c{key[:15]}",
        refresh_id=refresh_id,
        task_id=task_slug(seed.query.text, seed.id),
        tier=Tier.WORKFLOW,
        origin=Origin.SEED,
        seed_id=seed.id,
        stage=Construction.GENERATE,
    )


def task_slug(text: str, key: str) -> str:
    """Return a task id: the first words of `text`, and eight hex digits derived from `key`."""
    ascii_ = unicodedata.normalize("NFKD", text[:400]).encode("ascii", "ignore").decode().lower()
    words = [word for word in _NOT_SLUG.split(ascii_) if word]
    slug = ""
    for word in words:
        if len(slug) + len(word) + 1 > _SLUG_CHARACTERS:
            break
        slug += f"{word}-"
    return f"{slug or 'task-'}{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def _repeats(
    seed: StoredSeed, ages: dict[str, tuple[datetime, str]], used: Collection[str]
) -> SeedLink | None:
    """Return the link to the task or older seed that makes this seed superfluous."""
    for link in seed.duplicate_of:
        if link.method != "exact":
            continue
        if link.other_kind == "task" or (link.other_id in used and link.other_id != seed.id):
            return link
        # Two seeds may be linked both ways, and one of them must stay.
        if link.other_id in ages and ages[link.other_id] < ages[seed.id]:
            return link
    return None


def _left_out(refresh_id: str, repeated: Repeated) -> QuarantinedRow:
    return QuarantinedRow(
        stage=STAGE,
        origin=refresh_id,
        item=repeated.seed.id,
        field="text",
        reason=repeated.reason,
        excerpt=repeated.seed.query.text[:EXCERPT_CHARACTERS],
        at=datetime.now(UTC),
    )


def _taken_up(mended: Sequence[Candidate]) -> str:
    if not mended:
        return ""
    return (
        f"{len(mended)} mended candidates of earlier refreshes taken up; first: {mended[0].task_id}"
    )


def _note(repeated: Sequence[Repeated]) -> str:
    if not repeated:
        return ""
    first = repeated[0]
    return f"{len(repeated)} left out; first: seed {first.seed.id} {first.reason}"
