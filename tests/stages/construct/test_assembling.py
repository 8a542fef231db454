"""Where a candidate's task comes from."""

from stages.construct.assembling import provenance
from taskdata.schema.construct import Candidate, Construction, Origin
from taskdata.schema.task import Provenance, Tier


def test_a_variation_of_a_published_task_has_no_published_form(store, new_task, monkeypatch):
    published = Provenance(source="gta-workflow", license="MIT", url="https://example.org/gta")
    original = new_task("a", provenance=published)
    monkeypatch.setattr(store, "task", lambda _hash: original)
    candidate = Candidate(
        id="c",
        refresh_id="r",
        task_id="b",
        tier=Tier.WORKFLOW,
        origin=Origin.AUGMENTATION,
        exemplar=original.content_hash,
        stage=Construction.GENERATE,
    )

    varied = provenance(store, candidate)

    assert original.provenance.as_published
    assert not varied.as_published
    assert (varied.license, varied.url) == (published.license, published.url)
