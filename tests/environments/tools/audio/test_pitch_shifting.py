import numpy as np
import pytest

from taskdata.schema.tool import ToolErrorKind


@pytest.mark.parametrize("n_steps", [-12, -5, 0.5, 7])
def test_frequencies_change_and_the_duration_stays(
    written, tone, put, heard, loudest_hertz, n_steps
):
    path = put(tone(440, 2.0))
    result = written("PitchShifting", audio=path, n_steps=n_steps, path="output/b.wav")
    assert f"{n_steps:+g} semitones" in result.text
    samples, rate = heard("output/b.wav")
    assert samples.size == 2 * rate
    assert loudest_hertz(samples, rate) == pytest.approx(440 * 2 ** (n_steps / 12), rel=0.005)


def test_both_channels_are_shifted(written, tone, put, heard, loudest_hertz):
    path = put(np.column_stack([tone(300, 1.0), tone(500, 1.0)]), "a.flac")
    written("PitchShifting", audio=path, n_steps=12, path="output/b.flac")
    samples, rate = heard("output/b.flac")
    assert [loudest_hertz(column, rate) for column in samples.T] == pytest.approx(
        [600, 1000], rel=0.01
    )


def test_a_shift_has_a_limit(run, tone, put):
    result = run("PitchShifting", audio=put(tone(440, 0.5)), n_steps=100)
    assert result.error is ToolErrorKind.BAD_ARGUMENTS
    assert "n_steps: should be less than or equal to 36" in result.text
