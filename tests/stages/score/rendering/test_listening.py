"""Transcripts: each content is listened to once, and never at the cost of a score."""

import asyncio

import pytest

from environments.renderers.sound.hear import HeardSound
from environments.sandbox.providers import sandbox_provider
from stages.score.rendering.listening import Listener, has_sound
from taskdata.errors import SandboxFailed
from taskdata.schema.run import Deliverable
from taskdata.schema.views import AudioView, Heard, TextView, VideoView

SPEECH = HeardSound(text="0.0 to 1.0 s: Grüezi", clip=b"RIFF....WAVE")


@pytest.fixture
def listener(store, tmp_path, monkeypatch):
    """Make a listener, as each process and each run has its own, whose sandbox gives `answer`."""

    def make(answer: HeardSound | Exception) -> tuple[Listener, list[str]]:
        asked: list[str] = []

        async def hear(sandbox: object, name: str) -> HeardSound:
            asked.append(name)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr("stages.score.rendering.listening.hear", hear)
        return Listener(sandbox_provider("bubblewrap"), store, tmp_path, "run-1"), asked

    return make


@pytest.fixture
def talk(store):
    def put(name: str = "talk.mp3") -> Deliverable:
        return Deliverable(name=name, sha256=store.artifacts.put_bytes(b"ID3"), size_bytes=3)

    return put


def test_equal_contents_are_listened_to_once_for_all_trials_and_runs(store, listener, talk):
    first, asked = listener(SPEECH)

    async def twice():
        return await asyncio.gather(first.hear(talk()), first.hear(talk("other/b.MP3")))

    one, other = asyncio.run(twice())
    assert one == other
    assert one.text == SPEECH.text
    assert store.artifacts.read_bytes(one.clip_sha256) == SPEECH.clip
    later, again = listener(SPEECH)
    assert asyncio.run(later.hear(talk())) == one
    assert (asked, again) == (["deliverable.mp3"], [])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            HeardSound(reason="no speech recogniser is installed", needs_recogniser=True),
            "no speech",
        ),
        (SandboxFailed("no bwrap"), "the sandbox for listening failed"),
    ],
)
def test_what_may_work_another_time_is_tried_again(listener, talk, answer, reason):
    first, _ = listener(answer)
    assert asyncio.run(first.hear(talk())).reason.startswith(reason)
    second, _ = listener(SPEECH)
    assert asyncio.run(second.hear(talk())).text == SPEECH.text


def test_a_file_without_sound_is_not_tried_again(listener, talk):
    first, asked = listener(HeardSound(reason="it has no sound"))
    for _ in range(2):
        assert asyncio.run(first.hear(talk("a.mp4"))) == Heard(reason="it has no sound")
    assert len(asked) == 1


def test_only_what_has_sound_is_listened_to(listener, talk):
    first, asked = listener(SPEECH)
    assert asyncio.run(first.hear(talk("notes.txt"))) is None
    assert asked == []
    sound = AudioView(seconds=1, sample_rate=8000, channels=1, peak=0, rms=0, envelope=())
    film = VideoView(seconds=1, width=8, height=8, frames_per_second=1, has_sound=False)
    assert [has_sound(view) for view in (sound, film, TextView(text=""))] == [True, False, False]
