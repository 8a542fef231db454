import gc

import pytest

from taskdata.garbage import collected_after


def fail_within_a_block() -> None:
    with collected_after():
        assert not gc.isenabled()
        raise ValueError("within")


def test_garbage_waits_for_the_end_of_the_block_however_that_ends():
    with pytest.raises(ValueError, match="within"):
        fail_within_a_block()
    assert gc.isenabled()


def test_a_block_within_a_block_lets_nothing_be_looked_for_before_the_end():
    with collected_after():
        with collected_after():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
