"""Trials are dealt into batches that lose and repeat none."""

from hypothesis import given
from hypothesis import strategies as st

from flows.runners import batches


@given(
    st.integers(0, 500).map(lambda n: [f"t{i}" for i in range(n)]),
    st.integers(1, 8),
    st.integers(1, 32),
)
def test_every_trial_is_in_exactly_one_batch(trials, workers, in_flight):
    dealt = batches(trials, workers, in_flight)
    assert sorted(t for batch in dealt for t in batch) == sorted(trials)
    assert all(dealt)


@given(st.integers(1, 10_000), st.integers(1, 8), st.integers(1, 200))
def test_batches_fill_a_workers_loop_and_leave_some_for_the_others(count, workers, in_flight):
    sizes = [len(batch) for batch in batches([str(n) for n in range(count)], workers, in_flight)]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= max(16, 4 * in_flight)
    assert max(sizes) >= min(count / 2, in_flight / 2)


def test_neighbours_go_to_different_batches_so_that_agents_mix():
    trials = [f"{agent}-{i}" for agent in ("cheap", "dear") for i in range(16)]
    for batch in batches(trials, workers=2, in_flight=2):
        assert {t.split("-")[0] for t in batch} == {"cheap", "dear"}
