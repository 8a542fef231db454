import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from environments.tools.media.parts import AUDIO_ENDINGS, Part, Seconds, part_of, result_file
from taskdata.errors import ToolRefused

SECONDS = TypeAdapter(Seconds)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_clock_times_are_read_as_seconds(hours, minutes, seconds, thousandths):
    text = f"{hours:02}:{minutes:02}:{seconds:02}.{thousandths:03}"
    expected = hours * 3600 + minutes * 60 + seconds + thousandths / 1000
    assert SECONDS.validate_python(text) == pytest.approx(expected)


def test_plain_numbers_are_read_and_other_texts_are_not():
    assert SECONDS.validate_python("1:30") == 90
    assert SECONDS.validate_python(" 2.5 ") == SECONDS.validate_python(2.5) == 2.5
    for bad in (-1, "soon", "1:2:3:4", float("inf"), float("nan")):
        with pytest.raises(ValidationError):
            SECONDS.validate_python(bad)


@given(st.floats(0.02, 1e4), st.floats(0, 1e4), st.none() | st.floats(0, 2e4))
def test_a_part_lies_in_the_whole_or_is_refused(whole, start, end):
    try:
        part = part_of("a.mp3", whole, start, end)
    except ToolRefused:
        assert start >= whole or min(whole, whole if end is None else end) - start < 0.01
    else:
        assert 0 <= part.start < part.end <= whole


def test_refusals_say_how_long_the_recording_is():
    with pytest.raises(ToolRefused, match=r"a\.mp3 lasts 3\.00 s: nothing of it begins at 3\.50 s"):
        part_of("a.mp3", 3.0, 3.5, None)
    with pytest.raises(ToolRefused, match="end_time must be after start_time"):
        part_of("a.mp3", 3.0, 2.0, 1.0)
    assert part_of("a.mp3", 3.0, 1.0, 9.0) == Part(1.0, 3.0)


def test_a_result_is_named_after_its_source_and_never_overwrites_unasked(workspace):
    for expected in ("output/b_c_clip.mp3", "output/b_c_clip_2.mp3"):
        target, path = result_file(workspace, None, "input/a/b c.mp3", "clip", AUDIO_ENDINGS)
        assert path == expected
        target.touch()
    assert result_file(workspace, None, "input/film.mp4", "clip", AUDIO_ENDINGS)[1].endswith(".wav")
    with pytest.raises(ToolRefused, match=r"\.flac"):
        result_file(workspace, "output/a.exe", "input/a.mp3", "clip", AUDIO_ENDINGS)
