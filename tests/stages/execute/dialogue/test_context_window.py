from stages.execute.dialogue.context import ContextWindow
from taskdata.schema.transcript import Usage

COUNTED = Usage(input_tokens=900, output_tokens=100)


def test_what_the_provider_counted_is_the_base_and_only_the_rest_is_guessed():
    window = ContextWindow(2000)
    assert window.estimate(5000) is None
    window.count(COUNTED, chars=5000)
    assert window.estimate(5000) == 1000
    assert window.estimate(5300) == 1100


def test_what_is_left_of_a_conversation_has_its_share_of_the_tokens():
    window = ContextWindow(2000)
    window.count(COUNTED, chars=5000)
    assert window.estimate(2000) == 400
    window.count(COUNTED, chars=0)
    assert window.estimate(300) == 1100


def test_a_conversation_fits_with_its_reply_or_not():
    window = ContextWindow(2000)
    assert window.holds(10**9), "nobody has counted yet"
    window.count(COUNTED, chars=5000)
    assert window.holds(5000, reply_tokens=1000)
    assert not window.holds(5003, reply_tokens=1000)
    assert window.is_half_full(5000)
    assert not window.is_half_full(4990)


def test_without_a_known_window_or_a_count_everything_fits():
    unknown = ContextWindow(None)
    unknown.count(COUNTED, chars=10)
    silent = ContextWindow(100)
    silent.count(Usage(), chars=10)
    for window in (unknown, silent):
        assert window.holds(10**9)
        assert not window.is_half_full(10**9)
