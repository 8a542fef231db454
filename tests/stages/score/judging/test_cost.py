"""What a judged leaf costs this process beside the model call."""

from benchmarks.judge_cost import measure


def test_leaves_of_a_trial_share_the_cost_of_its_files():
    figures = measure(leaves=12, pictures=2)
    assert figures.other_leaf_ms < 5
    # The files alone take longer than that, and are laid out and encoded once.
    assert figures.sent_mb > 10
    assert figures.first_leaf_ms > 2 * figures.other_leaf_ms
