import io
import struct
import time
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskdata.archives import ArchiveLimits, archive_fault


def forged(data, offset, layout, *values):
    """Overwrite the one directory entry of an archive."""
    changed = bytearray(data)
    struct.pack_into(layout, changed, data.index(b"PK\x01\x02") + offset, *values)
    return bytes(changed)


def test_an_ordinary_archive_and_what_is_none_pass(new_zip):
    assert archive_fault(new_zip(a=b"some text", b=b"x" * 1_000_000)) is None
    assert archive_fault(new_zip(zipfile.ZIP_STORED, a=b"some text")) is None
    assert archive_fault(new_zip()) is None
    assert archive_fault(b"just text") is None


def test_an_office_document_that_embeds_another_passes(new_zip):
    assert archive_fault(new_zip(sheet=new_zip(inner=new_zip(table=b"1,2,3")))) is None


def test_a_bomb_is_noticed_by_its_ratio(new_zip):
    bomb = new_zip(zeros=bytes(60 << 20))
    assert len(bomb) < 1 << 20
    assert archive_fault(bomb) == "is a ZIP archive that unpacks to more than 100 times its size"


def test_a_bomb_is_noticed_by_its_size(new_zip):
    limits = ArchiveLimits(unpacked_bytes=1_000)
    assert "unpacks to more than" in archive_fault(new_zip(text=b"x" * 1_001), limits)


def test_a_bomb_whose_directory_lies_is_noticed_quickly(new_zip):
    bomb = forged(new_zip(zeros=bytes(80 << 20)), 24, "<L", 10)
    begin = time.monotonic()
    assert "more than 100 times" in archive_fault(bomb)
    assert time.monotonic() - begin < 20


def test_a_bomb_inside_an_archive_is_noticed(new_zip):
    bomb = new_zip(zeros=bytes(60 << 20))
    assert "more than 100 times" in archive_fault(new_zip(a=bomb, b=bomb))


def test_archives_in_archives_have_a_bottom(new_zip):
    data = new_zip(text=b"x")
    for _level in range(4):
        data = new_zip(inner=data)
    assert "more than 3 deep" in archive_fault(data)


def test_very_many_entries_are_refused():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(ArchiveLimits().entries + 1):
            archive.writestr(str(number), b"")
    assert "more than 5000 entries" in archive_fault(target.getvalue())


@pytest.mark.parametrize("name", ["../up", "a/../../up", "/abs", "..\\up"])
def test_an_entry_that_climbs_out_is_refused(new_zip, name):
    assert "outside its folder" in archive_fault(new_zip(**{name: b"x"}))


@pytest.mark.parametrize(
    ("offset", "layout", "value", "says"),
    [
        (8, "<H", 1, "encrypted"),
        (10, "<H", 12, "something else than its directory says"),
        (16, "<L", 7, "something else than its directory says"),
        (24, "<L", 3, "something else than its directory says"),
        (20, "<L", 1 << 30, "ends before"),
        (42, "<L", 1 << 30, "broken"),
    ],
)
def test_a_directory_that_lies_is_noticed(new_zip, offset, layout, value, says):
    assert says in archive_fault(forged(new_zip(text=b"some text" * 50), offset, layout, value))


def test_a_truncated_archive_is_broken(new_zip):
    assert "broken" in archive_fault(new_zip(text=b"some text" * 50)[:-30])


def test_a_method_that_is_not_looked_into_is_refused(new_zip):
    assert "compression method 12" in archive_fault(new_zip(zipfile.ZIP_BZIP2, a=b"x" * 99))


@given(st.data())
def test_whatever_is_damaged_an_archive_gives_a_reason_or_passes(data):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"some text" * 9)
        archive.writestr("b", b"")
    damaged = bytearray(target.getvalue())
    for _byte in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    fault = archive_fault(bytes(damaged))
    assert fault is None or fault.startswith("is a ")
