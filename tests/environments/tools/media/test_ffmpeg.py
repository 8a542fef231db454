import errno
import resource

import pytest

from environments.tools.media.ffmpeg import media_input, raw_input, reading, write
from environments.tools.media.tracks import open_sound
from taskdata.errors import ToolRefused

TONE = ("-f", "lavfi", "-i", "sine=frequency=440:duration=2:sample_rate=8000")
SAMPLES = ("-map", "0:a:0", "-f", "s16le")


def test_a_reader_may_stop_early(workspace, made):
    source = workspace / made("a.wav", *TONE)
    with reading([*media_input(source), *SAMPLES], "input/a.wav") as stream:
        assert len(stream.read(100)) == 100
    with reading([*media_input(source), *SAMPLES], "input/a.wav") as stream:
        assert len(stream.read()) == 2 * 2 * 8_000


def test_a_failure_is_one_line_that_names_the_file_as_the_agent_knows_it(workspace):
    (workspace / "input/a.wav").write_bytes(b"nothing" * 50)
    arguments = [*media_input(workspace / "input/a.wav"), *SAMPLES]
    with pytest.raises(ToolRefused) as refused, reading(arguments, "input/a.wav") as stream:
        assert stream.read() == b""
    text = str(refused.value)
    assert text.startswith("input/a.wav cannot be read as sound or video: ")
    assert "\n" not in text
    assert str(workspace) not in text


def test_a_file_is_replaced_only_by_a_whole_one(workspace):
    target = workspace / "output/a.wav"
    target.write_bytes(b"before")
    form = raw_input("-f", "s16le", "-ar", "8000", "-ac", "1")
    with pytest.raises(ToolRefused):
        write([*form, "-c:a", "no_such_encoder"], target, "output/a.wav", b"\0\0" * 8_000)
    assert target.read_bytes() == b"before"
    write(form, target, "output/a.wav", b"\0\0" * 8_000)
    assert target.read_bytes().startswith(b"RIFF")
    assert open_sound(workspace, "output/a.wav")[1].seconds == pytest.approx(1)
    assert list((workspace / "output").iterdir()) == [target]


def test_a_file_that_gets_too_large_is_a_limit_and_no_fault_of_the_source(workspace):
    form = raw_input("-f", "s16le", "-ar", "8000", "-ac", "1")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match="File too large") as raised:
            write(form, workspace / "output/a.wav", "input/a.wav", b"\0\0" * 80_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.errno == errno.EFBIG
