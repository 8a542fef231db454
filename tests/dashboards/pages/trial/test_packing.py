import base64
import gzip
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.pages.trial.caps import CAPS
from dashboards.pages.trial.packing import equal_share, pack, pack_pictures


def unpacked(text: str) -> dict:
    return json.loads(gzip.decompress(base64.b64decode(text)))


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=40), st.integers(0, 200_000))
def test_an_equal_share_fits_and_wastes_nothing(sizes, room):
    share = equal_share(sizes, room)
    used = sum(min(size, share) for size in sizes)
    assert used <= room
    assert used == sum(sizes) or used > room - len(sizes)


def test_trials_that_fit_are_packed_as_they_are():
    packed = pack(["a", "b"], lambda trial_id, cap: {"id": trial_id, "cap": cap.text}, 10_000)
    assert [unpacked(text) for text in packed.values()] == [
        {"id": "a", "cap": CAPS[0].text},
        {"id": "b", "cap": CAPS[0].text},
    ]


def test_only_the_large_ones_are_cut_and_all_fit_together():
    dice = random.Random(1)
    sizes = {"small": 100, "large": 9_000, "huge": 12_000}

    def details(trial_id, cap):
        text = "".join(dice.choices("0123456789abcdef", k=min(cap.text, sizes[trial_id])))
        return {"cap": cap.text, "text": text}

    packed = pack(list(sizes), details, 8_000)
    caps = {trial_id: unpacked(text)["cap"] for trial_id, text in packed.items()}
    assert caps["small"] == CAPS[0].text
    assert caps["large"] < CAPS[0].text
    assert caps["huge"] < CAPS[0].text
    assert len(json.dumps(packed)) <= 8_000


def test_what_does_not_fit_at_all_is_left_out():
    assert pack(["a"], lambda trial_id, cap: {"text": "x"}, 20) == {}


def test_packed_text_cannot_end_a_script_element():
    packed = pack(["a"], lambda trial_id, cap: {"text": "</script><!--"}, 10_000)
    assert "<" not in packed["a"]


def test_pictures_come_smallest_first_while_there_is_room(store, png):
    small, large = store.artifacts.put_bytes(png), store.artifacts.put_bytes(png + b"\0" * 3_000)
    lost = "0" * 64
    assert set(pack_pictures(store.artifacts, [large, small, lost], 10_000)) == {small, large}
    assert set(pack_pictures(store.artifacts, [large, small, lost], 2_000)) == {small}
    assert pack_pictures(store.artifacts, [large, small], 10) == {}


@pytest.mark.parametrize("content", [b"<svg onload='alert(1)'/>", b"GIF89a", b""])
def test_only_png_files_become_pictures(store, content):
    sha256 = store.artifacts.put_bytes(content)
    assert pack_pictures(store.artifacts, [sha256], 10_000) == {}
