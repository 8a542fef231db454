from hypothesis import given
from hypothesis import strategies as st

from environments.ports import Message
from stages.execute.dialogue.context import shortened

OPENING = (Message("system", "rules " * 100), Message("user", "task " * 1000))


def turn(number: int, size: int = 10) -> list[Message]:
    return [Message("assistant", f"call {number}"), Message("user", f"{number}" * size)]


def test_the_oldest_half_of_the_turns_goes_first():
    messages = [*OPENING, *turn(1), *turn(2), *turn(3), *turn(4)]

    shorter, left_out = shortened(messages, 2)

    assert shorter == [*OPENING, *turn(3), *turn(4)]
    assert left_out == "the oldest 4 messages after the task"


def test_then_the_longest_text_of_the_last_turn_is_cut_in_the_middle():
    rows = "\n".join(f"row {n}" for n in range(1000))
    messages = [*OPENING, Message("assistant", "read"), Message("tool", rows, call_id="c")]

    shorter, _ = shortened(messages, 2)

    text = shorter[-1].text
    assert text.startswith("row 0\nrow 1\n")
    assert text.endswith("row 998\nrow 999")
    assert "characters left out" in text
    assert shorter[-1].call_id == "c"


def test_nothing_is_left_to_leave_out():
    assert shortened(OPENING, 2) is None
    assert shortened([*OPENING, *turn(1)], 2) is None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20_000)), max_size=12))
def test_shortening_ends_and_never_touches_the_opening_or_parts_a_turn(shape):
    messages = list(OPENING)
    for results, size in shape:
        messages.append(Message("assistant", "call"))
        messages += [Message("tool", "x" * size, call_id=str(n)) for n in range(results)]
    size = sum(len(m.text) for m in messages)
    for _ in range(200):
        result = shortened(messages, 2)
        if result is None:
            break
        messages, _ = result
        smaller = sum(len(m.text) for m in messages)
        assert smaller < size
        size = smaller
        assert tuple(messages[:2]) == OPENING
        assert messages[2].role == "assistant", "a result without its call is refused"
    else:
        raise AssertionError("it never ended")
