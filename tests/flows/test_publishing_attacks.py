"""Attacks on who reads the Prefect UI, whose Markdown makes links of whatever looks like one."""

import pytest
from markdown_it import MarkdownIt

from flows.publishing import gate_report, plain
from taskdata.schema.gate import GateFailure, GateLevel, GateResult

HOSTILE = [
    "https://evil.example/login",
    "www.evil.example",
    "me@evil.example",
    "[approve](https://evil.example)",
    "![x](https://evil.example/pixel.png)",
    "<https://evil.example>",
    "<img src=https://evil.example onerror=alert(1)>",
    "`https://evil.example`",
    "``` https://evil.example ```` www.evil.example",
    "\\` https://evil.example",
    "a\n\n# https://evil.example\n\n- www.evil.example",
    "a\r\rhttps://evil.example",
    "a\u2028\u2028https://evil.example",
    "[x]: https://evil.example\n[x]",
    "| a | b |\n|---|---|\n| https://evil.example | x |",
    "`",
    "",
]


def text_outside_code(markdown):
    """What is neither code nor an address of the page's own: what could become a link."""
    blocks = MarkdownIt("commonmark").enable("table").parse(markdown)
    assert not {"html_block", "fence", "code_block", "table_open"} & {b.type for b in blocks}
    spans = [span for block in blocks for span in block.children or ()]
    assert {span.type for span in spans} <= {"text", "code_inline", "strong_open", "strong_close"}
    return " ".join(span.content for span in spans if span.type == "text")


@pytest.mark.parametrize("text", HOSTILE)
def test_what_rows_say_is_shown_as_code_and_nothing_else(text):
    failure = GateFailure(
        expectation=f"values {text}",
        column=text,
        level=GateLevel.STOP,
        unexpected_count=1,
        rows=(text, f"before {text} after"),
    )
    report = gate_report(
        GateResult(
            gate="tasks",
            run_id="run-1",
            success=False,
            rows=1,
            expectations=1,
            failures=(failure,),
        )
    )
    left = text_outside_code(report)
    assert "does not hold" in left
    for word in ("evil", "www", "@", "<", "approve", "onerror"):
        assert word not in left


def test_a_reader_sees_the_text_as_it_was_written():
    (block,) = MarkdownIt().parse(plain("a `b` [c](d)\u202e https://e.example"))[1:2]
    assert [span.content for span in block.children] == ["a `b` [c](d)⟨U+202E⟩ https://e.example"]
