import struct

import pytest

from environments.tools.media.tracks import open_media, open_sound, open_video
from taskdata.errors import ToolRefused

TONE = ("-f", "lavfi", "-i", "sine=frequency=440:duration=1.5:sample_rate=44100")
PICTURES = ("-f", "lavfi", "-i", "testsrc=size=320x240:rate=10:duration=1.5")


def put(workspace, data: bytes, name: str) -> str:
    (workspace / "input" / name).write_bytes(data)
    return f"input/{name}"


def refusal(workspace, path: str) -> str:
    with pytest.raises(ToolRefused) as refused:
        open_media(workspace, path)
    text = str(refused.value)
    assert text.startswith(path)
    assert "\n" not in text
    assert str(workspace) not in text
    return text


@pytest.mark.parametrize("ending", ["wav", "mp3", "flac", "ogg", "m4a"])
def test_sounds_of_every_format_are_opened(workspace, made, ending):
    media, track = open_sound(workspace, made(f"a.{ending}", *TONE))
    assert track.seconds == pytest.approx(1.5, abs=0.06)
    assert (track.sample_rate, track.channels) == (44_100, 1)
    assert media.video is None


@pytest.mark.parametrize("ending", ["mp4", "webm", "mov", "mkv", "avi"])
def test_videos_of_every_format_are_opened(workspace, made, ending):
    media, track = open_video(workspace, made(f"a.{ending}", *PICTURES, *TONE))
    assert (track.width, track.height) == (320, 240)
    # AVI counts frames from the first one stored, not from the first one shown.
    assert track.seconds == pytest.approx(1.5, abs=0.11)
    assert track.frames_per_second == pytest.approx(10, rel=0.1)
    assert media.audio is not None


def test_a_cover_picture_is_no_video(workspace, made):
    cover = made("cover.png", "-f", "lavfi", "-i", "color=red:size=64x64", "-frames:v", "1")
    covered = ("-i", str(workspace / cover), "-map", "0", "-map", "1", "-c:v", "copy")
    path = made("a.mp3", *TONE, *covered, "-disposition:v", "attached_pic")
    assert open_media(workspace, path).video is None
    with pytest.raises(ToolRefused, match="no moving pictures"):
        open_video(workspace, path)
    with pytest.raises(ToolRefused, match="no sound"):
        open_sound(workspace, made("silent.mp4", *PICTURES))


def test_a_file_that_names_other_files_is_not_followed(workspace, made):
    made("secret.mp4", *PICTURES)
    lists = {
        "a.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.mp4\n#EXT-X-ENDLIST\n",
        "a.mp4": "ffconcat version 1.0\nfile secret.mp4\n",
        "a.mp3": "#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1/a.mp3\n",
        "a.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 9 RTP/AVP 0\n",
        "a.svg": "<svg xmlns='http://www.w3.org/2000/svg'><image href='secret.mp4'/></svg>",
    }
    for name, text in lists.items():
        assert "cannot be read as sound or video" in refusal(
            workspace, put(workspace, text.encode(), name)
        )


def test_a_name_is_a_name_and_no_address(workspace, made):
    made("plain.mp4", *PICTURES)
    for name in ("concat:plain.mp4|b.mp4", "http:%2F%2Fx.mp4", "pipe:0.mp4", "a%03d.mp4", "-y.mp4"):
        (workspace / "input" / name).write_bytes((workspace / "input/plain.mp4").read_bytes())
        assert open_media(workspace, f"input/{name}").video is not None


@pytest.mark.parametrize("data", [b"", b"RIFF", bytes(range(256)) * 40, b"hello\n" * 1_000])
@pytest.mark.parametrize("name", ["a.wav", "a.mp4", "a.mp3"])
def test_what_is_neither_sound_nor_video_is_refused(workspace, data, name):
    refusal(workspace, put(workspace, data, name))


@pytest.mark.parametrize("ending", ["mp4", "mov", "wav"])
def test_a_file_that_was_cut_off_is_refused(workspace, made, ending):
    sources = TONE if ending == "wav" else (*PICTURES, *TONE, "-movflags", "+faststart")
    whole = (workspace / made(f"a.{ending}", *sources)).read_bytes()
    refusal(workspace, put(workspace, whole[: len(whole) * 2 // 3], f"cut.{ending}"))


def test_a_length_that_the_header_invents_is_not_believed(workspace, made):
    data = bytearray((workspace / made("a.mp3", *TONE, "-write_xing", "1")).read_bytes())
    at = data.index(b"Info") + 8
    data[at : at + 4] = struct.pack(">I", 40_000_000)
    _, track = open_sound(workspace, put(workspace, bytes(data), "long.mp3"))
    assert track.seconds == pytest.approx(1.5, abs=0.06)


def test_frames_too_large_to_decode_are_refused_whatever_the_header_says(workspace, made):
    large = ("-f", "lavfi", "-i", "color=gray:size=4000x3000:rate=1", "-frames:v", "1")
    data = (workspace / made("a.mp4", *large, "-preset", "ultrafast")).read_bytes()
    at = data.index(b"avc1", data.index(b"stsd")) + 28
    assert data[at : at + 4] == struct.pack(">HH", 4_000, 3_000)
    lying = data[:at] + struct.pack(">HH", 64, 48) + data[at + 4 :]
    for path in ("input/a.mp4", put(workspace, lying, "lying.mp4")):
        with pytest.raises(ToolRefused, match="4000 x 3000 pixels"):
            open_video(workspace, path)
