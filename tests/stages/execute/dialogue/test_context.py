from hypothesis import example, given
from hypothesis import strategies as st

from environments.ports import Media, Message
from stages.execute.dialogue.context import KEPT_TURNS, Context
from taskdata.schema.transcript import ToolCall

OPENING = (Message("system", "rules " * 100), Message("user", "task " * 1000))
CALL = ToolCall(id="c", tool="t", arguments={}, raw="{}")


def context_of(turns: int, size: int = 10) -> Context:
    context = Context(OPENING)
    for number in range(1, turns + 1):
        context.begin_turn(Message("assistant", f"call {number}", tool_calls=(CALL,)))
        context.add(Message("tool", "x" * size, call_id="c"))
    return context


def numbers(context: Context) -> list[int]:
    return [turn.number for turn in context.turns]


def test_the_task_and_the_last_turns_stay():
    context = context_of(KEPT_TURNS + 3)

    assert context.keep_newest() == "all turns but the last 10 were left out"

    assert context.messages[:2] == OPENING
    assert numbers(context) == list(range(4, 14))
    assert context.messages[2].text == "call 4"
    assert context.keep_newest() is None


def test_turns_are_dropped_with_their_results_and_keep_their_numbers():
    context = context_of(4, size=50)

    assert context.drop({1, 3, 4, 99}) == 2 * (len("call 1") + len("{}") + 50)

    assert numbers(context) == [2, 4], "the current turn stays"
    context.begin_turn(Message("assistant", "next"))
    assert numbers(context) == [2, 4, 5]


def test_shortening_keeps_the_newer_half_and_the_ends_of_long_texts():
    rows = "\n".join(f"row {n}" for n in range(1000))
    context = context_of(3)
    context.begin_turn(Message("assistant", "read"))
    context.add(Message("tool", rows, call_id="c"))

    assert "the last 2 turns" in context.shorten()

    text = context.messages[-1].text
    assert text.startswith("row 0\nrow 1\n")
    assert text.endswith("row 998\nrow 999")
    assert "characters left out" in text
    assert context.messages[-1].call_id == "c"
    assert numbers(context) == [3, 4]


def test_what_a_provider_wants_back_unchanged_is_never_cut():
    context = Context(OPENING)
    thinking = Message("assistant", "y" * 9000, replay=({"type": "thinking"},))
    context.begin_turn(thinking)
    assert context.shorten() is None
    assert context.messages[-1] == thinking


def test_nothing_is_left_to_leave_out():
    assert Context(OPENING).shorten() is None
    assert Context(OPENING).keep_newest() is None
    assert context_of(1).shorten() is None


def test_a_note_stands_at_the_end_of_what_the_model_is_told_next():
    context = Context(OPENING)
    context.note("Mind the gap.")
    assert context.messages[-1].text.endswith("task \n\n[Mind the gap.]")
    context.begin_turn(Message("assistant", "call", tool_calls=(CALL,)))
    context.add(Message("tool", "result", call_id="c", is_error=True))
    context.note("Half full.")
    assert context.messages[-1] == Message(
        "tool", "result\n\n[Half full.]", call_id="c", is_error=True
    )


def test_files_can_be_hidden_again():
    picture = Media("image/png", b"...")
    context = Context([OPENING[0], Message("user", "look", media=(picture,))])
    assert context.hide_media()
    assert context.messages[1] == Message("user", "look")
    assert not context.hide_media()


def test_a_turn_can_be_replaced():
    context = context_of(2)
    context.replace_turn([Message("assistant", "the reference's step")])
    assert [m.text for m in context.messages[2:]] == ["call 1", "x" * 10, "the reference's step"]
    assert numbers(context) == [1, 2]


STEPS = st.one_of(
    st.tuples(st.just("turn"), st.integers(0, 3), st.integers(0, 20_000)),
    st.tuples(st.just("drop"), st.integers(1, 12), st.integers(1, 12)),
    st.tuples(st.just("shorten"), st.just(0), st.just(0)),
    st.tuples(st.just("keep"), st.integers(1, 5), st.just(0)),
    st.tuples(st.just("note"), st.just(0), st.just(0)),
)


@given(st.lists(STEPS, max_size=20))
@example([("turn", 1, 401), ("shorten", 0, 0)])
def test_whatever_is_left_out_no_call_is_parted_from_its_results(steps):
    context = Context(OPENING)
    for kind, first, second in steps:
        before = context.chars
        if kind == "turn":
            calls = tuple(CALL.model_copy(update={"id": str(n)}) for n in range(first))
            context.begin_turn(Message("assistant", "call", tool_calls=calls))
            for call in calls:
                context.add(Message("tool", "x" * second, call_id=call.id))
        elif kind == "drop":
            context.drop(range(first, second + 1))
        elif kind == "shorten" and context.shorten() is not None:
            assert context.chars < before
        elif kind == "keep":
            context.keep_newest(first)
        elif kind == "note":
            context.note("a note")
    messages = context.messages
    assert messages[0] == OPENING[0]
    assert messages[1].text.startswith(OPENING[1].text)
    waiting: list[str] = []
    for message in messages[2:]:
        if message.role == "assistant":
            assert not waiting
            waiting = [call.id for call in message.tool_calls]
        else:
            assert message.call_id == waiting.pop(0)
    assert not waiting
    measured = sum(len(m.text) + sum(len(c.raw) for c in m.tool_calls) for m in messages)
    assert context.chars == measured
