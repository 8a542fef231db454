"""What small models get that read slowly: a short prompt, and results cut short."""

import json
import re

from tests.stages.execute.harnesses.voices import ReactVoice, errors


def test_a_local_model_gets_the_short_prompt_with_an_example(wire, play, task):
    wire.then(ReactVoice.answer(wire, "ok"))

    transcript = play("react:local/smollm2-135m", task)

    roles = [m["role"] for m in wire.seen[0].body["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert len(json.dumps(wire.seen[0].body["messages"])) < 2500
    assert transcript.cost_usd == 0


def test_a_local_model_reads_on_in_what_it_is_shown_the_beginning_of(wire, play, task):
    code = "for n in range(300): print(f'line {n:05}')"
    wire.then(
        ReactVoice.call(wire, "python_execute", {"code": code}),
        ReactVoice.call(wire, "handle_overlong_tool_outputs", {"result": 1, "page": 2}),
        ReactVoice.call(wire, "handle_overlong_tool_outputs", {"result": 1, "search": "00299"}),
        ReactVoice.answer(wire, "ok"),
    )

    transcript = play("react:local/smollm2-135m", task)

    assert errors(transcript) == [None] * 3
    cut, page, found = (ReactVoice.observed(seen) for seen in wire.seen[1:])
    assert all(len(text) <= len("Observation: ") + 1_200 for text in (cut, page))
    lines = [int(number) for number in re.findall(r"line (\d{5})$", f"{cut}{page}", re.MULTILINE)]
    assert sorted(set(lines)) == list(range(max(lines) + 1)), "nothing is left out between them"
    assert max(lines) > 150
    assert "line 00299" in found
    assert "line 00299" in transcript.tool_events[0].text, "what is on record is what the tool gave"
    assert "[cut:" not in transcript.tool_events[0].text
