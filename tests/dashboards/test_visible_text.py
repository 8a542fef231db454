import pytest

from dashboards.visible_text import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("\x1b[2J", "⟨U+001B⟩[2J"),
        ("nul\0", "nul⟨U+0000⟩"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
        ("half \ud800", "half ⟨U+D800⟩"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, shown):
    assert visible(text) == shown
    visible(text).encode()


@pytest.mark.parametrize(
    "text",
    ["tab\tand\nline", "שלום\u200f", "\U0001f469\u200d\U0001f680 café", "日本語"],
)
def test_ordinary_text_of_any_script_stays_as_it_is(text):
    assert visible(text) == text
