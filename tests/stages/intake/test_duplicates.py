import random

import pytest

from stages.intake.duplicates import MAX_LINKS, SIMILAR_WORDS, DuplicateIndex

TEXT = (
    "Turn the three quarterly sales files into one workbook with a sheet per region, a chart of "
    "revenue by month, and a short summary of what has changed since last year."
)
OTHER = "Plan a weekend in Lisbon for a family of four that likes trams, tiles and custard tarts."


def links_of(index, *texts):
    return index.links([(f"new-{n}", text) for n, text in enumerate(texts)])


def test_the_same_words_are_an_exact_duplicate_whatever_their_dress():
    index = DuplicateIndex()
    index.learn("seed", [("old", TEXT), ("unlike", OTHER)])
    (link,) = links_of(index, f"  {TEXT.upper().replace(',', ' -')}!\n")
    assert (link.seed_id, link.other_kind, link.other_id) == ("new-0", "seed", "old")
    assert (link.method, link.similarity) == ("exact", 1)


@pytest.mark.parametrize(
    "text",
    [
        f"Hello! {TEXT} Thank you.",
        TEXT.replace("short", "brief"),
        TEXT.replace("a chart of revenue by month", "a revenue chart by month"),
    ],
)
def test_nearly_the_same_words_are_a_near_duplicate(text):
    index = DuplicateIndex()
    index.learn("task", [("sales-workbook", TEXT), ("trip", OTHER)])
    (link,) = links_of(index, text)
    assert (link.other_kind, link.other_id, link.method) == ("task", "sales-workbook", "minhash")
    assert SIMILAR_WORDS <= link.similarity < 1


def test_other_requests_are_no_duplicates():
    index = DuplicateIndex()
    index.learn("seed", [("old", TEXT)])
    assert links_of(index, OTHER, "東京で三日間過ごす計画を立ててください", "Sum it up.") == []


def test_seeds_of_one_batch_are_compared_with_each_other_in_order():
    links = links_of(DuplicateIndex(), TEXT, OTHER, TEXT + "!", OTHER + " Please.")
    assert [(link.seed_id, link.other_id) for link in links] == [
        ("new-2", "new-0"),
        ("new-3", "new-1"),
    ]


def test_a_seed_that_repeats_both_a_task_and_a_seed_is_linked_to_both():
    index = DuplicateIndex()
    index.learn("task", [("t", TEXT)])
    index.learn("seed", [("s", TEXT)])
    found = {(link.other_kind, link.other_id) for link in links_of(index, TEXT)}
    assert found == {("task", "t"), ("seed", "s")}


def test_two_versions_of_a_task_are_one_link():
    index = DuplicateIndex()
    index.learn("task", [("t", TEXT), ("t", TEXT.replace("short", "brief"))])
    (link,) = links_of(index, TEXT)
    assert link.method == "exact"


def test_the_same_texts_always_give_the_same_links():
    texts = [TEXT.replace("three", str(n)) for n in range(30)]
    assert links_of(DuplicateIndex(), *texts) == links_of(DuplicateIndex(), *texts)


def test_a_crowd_of_one_template_is_linked_but_not_to_everybody():
    links = links_of(DuplicateIndex(), *(f"{TEXT} Case {n}." for n in range(300)))
    linked = {link.seed_id for link in links}
    assert len(linked) == 299
    assert max(sum(link.seed_id == seed for link in links) for seed in linked) <= MAX_LINKS


def test_no_pair_is_linked_twice():
    rng = random.Random(7)
    texts = [" ".join(rng.choices(["plan", "sum", "draw", "a", "b"], k=6)) for _ in range(200)]
    links = links_of(DuplicateIndex(), *texts)
    pairs = [(link.seed_id, link.other_kind, link.other_id) for link in links]
    assert len(pairs) == len(set(pairs))


class LetterEncoder:
    """Texts that begin with the same letter mean the same."""

    name = "letters"

    def encode(self, texts):
        import numpy as np

        return np.array([[float(t[0] == "a"), float(t[0] != "a")] for t in texts], np.float32)


def test_an_encoder_finds_what_says_the_same_in_other_words():
    index = DuplicateIndex(LetterEncoder())
    index.learn("seed", [("old", "add the figures"), ("unlike", "bake a cake")])
    links = links_of(index, "all numbers together", "another sum", "add the figures!")
    assert [(link.seed_id, link.other_id, link.method) for link in links] == [
        ("new-0", "old", "embedding"),
        ("new-1", "old", "embedding"),
        ("new-1", "new-0", "embedding"),
        ("new-2", "old", "exact"),
        ("new-2", "new-0", "embedding"),
        ("new-2", "new-1", "embedding"),
    ]
