import numpy as np
import pytest


def lines(result) -> dict[str, str]:
    assert result.error is None, result.text
    return dict(line.split(": ", 1) for line in result.text.splitlines())


def test_a_tone_measures_as_what_it_is(run, tone, put):
    samples = np.column_stack([tone(440, 3.0, 0.5)] * 2)
    found = lines(run("SoundCharacteristicExtraction", audio=put(samples)))
    assert found["input/a.wav"] == "3.00 s, 22050 Hz, stereo, pcm_s16le"
    assert found["level (RMS)"] == "-9.0 dBFS"
    assert found["peak"] == "-6.0 dBFS"
    # A 0 dBFS sine of 997 Hz in one channel is -3.01 LUFS (ITU-R BS.1770); at 440 Hz the
    # weighting takes about 0.7 dB, half the amplitude 6 dB, and two channels add 3 dB.
    loudness = found["loudness (integrated, EBU R 128)"]
    assert float(loudness.removesuffix(" LUFS")) == pytest.approx(-6.7, abs=0.2)
    assert found["pitch"].startswith("median 440.0 Hz (A4 +0 cents)")
    assert found["tempo"] == "no regular beat found"
    assert found["onsets"] == "1, at 0.00 s"
    assert found["spectral centroid"].startswith("mean 4")
    crossings = found["zero crossing rate"].split("(")[1].split(" per second")[0]
    assert int(crossings) == pytest.approx(880, rel=0.02)
    assert len(found["MFCC 1 to 13, mean in dB"].split(", ")) == 13


def test_rhythm_and_key_are_estimated(run, tone, put):
    steps = (0, 4, 7, 12, 5, 9, 7, 11, 2, 7, 4, 0)
    silence = np.zeros(round(0.25 * 22_050), np.float32)
    melody = [part for step in steps for part in (tone(262 * 2 ** (step / 12), 0.25), silence)]
    found = lines(run("SoundCharacteristicExtraction", audio=put(np.concatenate(melody))))
    assert found["onsets"].startswith("12, at 0.00, 0.5")
    assert float(found["tempo"].split()[0]) == pytest.approx(120, rel=0.01)
    assert found["key"].startswith("C major (estimate")


def test_silence_and_a_blink_of_sound_are_measured_too(run, put, tone):
    silent = lines(run("SoundCharacteristicExtraction", audio=put(np.zeros(22_050, np.float32))))
    assert silent["level (RMS)"] == "digital silence"
    assert silent["pitch"] == "none between 50 and 2000 Hz"
    assert silent["onsets"] == "none"
    assert "too quiet" in silent["loudness (integrated, EBU R 128)"]
    short = lines(run("SoundCharacteristicExtraction", audio=put(tone(440, 0.05))))
    assert short["input/a.wav"].startswith("0.05 s")


def test_a_sound_too_long_to_hold_is_refused_before_it_is_decoded(refused, put):
    path = put(np.zeros(700 * 1_000, np.float32), rate=1_000)
    assert refused("SoundCharacteristicExtraction", audio=path) == (
        "input/a.wav lasts 700 s: at most 600 s can be worked on at once. Cut a part with "
        "AudioClipTool first."
    )


def test_broken_samples_do_not_spoil_the_values(run, workspace, tone):
    import soundfile as sf

    samples = tone(440, 1.0).astype(np.float64)
    samples[::1000] = [np.nan, np.inf, -np.inf, 1e30][: samples[::1000].size] * 5 + [np.nan] * 3
    sf.write(workspace / "input/a.wav", samples, 22_050, subtype="DOUBLE")
    text = run("SoundCharacteristicExtraction", audio="input/a.wav").text
    assert "nan" not in text
    assert "inf" not in text


def test_sounds_are_changed_and_measured_in_the_sandbox(in_sandbox, tone, tmp_path):
    import soundfile as sf

    sf.write(tmp_path / "a.wav", tone(440, 1.0), 22_050)
    data = (tmp_path / "a.wav").read_bytes()
    shift = {"audio": "input/a.wav", "n_steps": 12, "path": "output/b.mp3"}
    shifted, measured = in_sandbox(
        ("PitchShifting", shift),
        ("SoundCharacteristicExtraction", {"audio": "output/b.mp3"}),
        files={"a.wav": data},
    )
    assert shifted.files == ("output/b.mp3",)
    assert "Hz (A5 " in measured.text
