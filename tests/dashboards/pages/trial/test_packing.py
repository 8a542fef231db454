import base64
import gzip
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.pages.trial.caps import CAPS
from dashboards.pages.trial.packing import (
    MAX_FILE_BYTES,
    equal_share,
    pack,
    pack_files,
    pack_pages,
    pack_pictures,
)


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


def test_thousands_that_cannot_fit_are_not_packed_under_every_cap():
    packings = []

    def details(trial_id, cap):
        packings.append(cap)
        return {"text": trial_id}

    assert pack([f"trial {number}" for number in range(1_000)], details, 20_000) == {}
    assert 1_000 < len(packings) <= 1_000 + 50 * len(CAPS)


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


def test_files_are_kept_from_the_smallest_on_and_a_large_one_is_not(store):
    files = [b"a" * 10, random.Random(1).randbytes(2_000), random.Random(2).randbytes(5_000)]
    sizes = {store.artifacts.put_bytes(data): len(data) for data in files}
    small, middle, large = sizes
    assert list(pack_files(store.artifacts, sizes, 4_000)) == [small, middle]
    kept = pack_files(store.artifacts, sizes, 4_000)[middle]
    assert gzip.decompress(base64.b64decode(kept)) == files[1]
    assert list(pack_files(store.artifacts, {large: MAX_FILE_BYTES + 1, small: 10}, 10**6)) == [
        small
    ]


def test_a_lost_file_costs_none_of_the_others(store):
    kept = store.artifacts.put_bytes(b"here")
    assert list(pack_files(store.artifacts, {"f" * 64: 1, kept: 4}, 10**6)) == [kept]


def test_every_first_page_comes_before_any_second(store, png):
    pages = [store.artifacts.put_bytes(png + bytes([number]) * 50) for number in range(4)]
    places = dict(zip(pages, (1, 0, 1, 0), strict=True))
    room = 3 * (len(base64.b64encode(png)) + 64 + 24 + 70)
    kept = pack_pages(store.artifacts, places, room)
    assert {pages[1], pages[3]} < set(kept)
    assert len(kept) == 3
