"""Adding a file: good rows are stored, bad ones quarantined, and a broken file leaves no trace."""

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stages.intake.duplicates import DuplicateIndex
from stages.intake.rows import Defaults
from stages.intake.work import ROWS_TOLD, SeedFile, add_file, add_files
from taskdata.banks.loader import load_bank
from taskdata.errors import BadTaskData, Misuse
from taskdata.store import Store

SUM = "Sum the figures of the quarter and draw a chart of them."
TRIP = "Plan a weekend in Lisbon for a family of four that likes trams."


def row(text=SUM, **fields):
    return json.dumps({"text": text, "source": "internal"} | fields) + "\n"


def everything(store, folder):
    artifacts = [p for p in (folder.parent / "artifacts").rglob("*") if p.is_file()]
    return store.seeds(), store.quarantined(), sorted(artifacts)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("seeds.jsonl", row(date="2026-03-01", license="MIT", attachments=["figures.csv"])),
        (
            "seeds.csv",
            f"text,source,date,licence,attachments\n{SUM},internal,2026-03-01,MIT,figures.csv;\n",
        ),
        (
            "seeds.yaml",
            f"- text: {SUM}\n  source: internal\n  date: 2026-03-01\n  license: MIT\n"
            "  attachments: [figures.csv]\n",
        ),
    ],
)
def test_the_same_seed_comes_out_of_every_format(store, add, folder, name, content):
    (folder / "figures.csv").write_text("1\n2\n")
    report = add(content, name)
    (seed,) = store.seeds()
    assert report.added == (seed.id,)
    assert (seed.origin, seed.row) == (str(folder / name), 1)
    assert seed.query.text == SUM
    assert seed.query.collected_on == date(2026, 3, 1)
    assert seed.query.license == "MIT"
    (attachment,) = seed.query.attachments
    assert attachment.path == "figures.csv"
    assert store.artifacts.read_bytes(attachment.sha256) == b"1\n2\n"


def test_good_rows_go_on_where_a_bad_one_stands(store, add, folder):
    report = add(row() + '{"text": "cut o\n' + row(TRIP, date="soon") + row(TRIP))
    assert (report.rows, len(report.added), report.quarantined) == (4, 2, 2)
    assert [seed.row for seed in store.seeds()] == [1, 4]
    cut, dated = store.quarantined(str(folder / "seeds.jsonl"))
    assert (cut.row, cut.field, cut.excerpt) == (2, None, '{"text": "cut o')
    assert (dated.row, dated.field, dated.stage) == (3, "date", "seeds")
    assert "'soon' is no date" in dated.reason
    assert report.rejected == (cut, dated)


def test_a_row_with_a_bad_attachment_is_quarantined(store, add, folder, new_zip):
    (folder / "bomb.xlsx").write_bytes(new_zip(zeros=bytes(60 << 20)))
    (folder.parent / "secret").write_text("secret")
    (folder / "link").symlink_to(folder.parent / "secret")
    paths = ("bomb.xlsx", "link", "../secret", "/etc/passwd", "nowhere")
    report = add("".join(row(f"{SUM} {p}", attachments=[p]) for p in paths))
    assert (report.added, report.quarantined) == ((), 5)
    assert {r.field for r in report.rejected} == {"attachments"}
    assert everything(store, folder)[2] == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("seeds.yaml", f'- text: {SUM}\n  source: a\n- text: "cut o', "line 3: not YAML"),
        ("seeds.csv", f"texts,source\n{SUM},a\n", "did you mean 'text'"),
        ("seeds.jsonl", b"\xff\xfe\x00", "is not UTF-8"),
        ("none.jsonl", None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_read_leaves_the_store_as_it_was(
    store, add, folder, name, content, message
):
    add(row(TRIP), "before.jsonl")
    before = everything(store, folder)
    with pytest.raises(BadTaskData, match=message) as caught:
        add(content, name)
    assert str(folder / name) in str(caught.value)
    assert everything(store, folder) == before


def test_adding_a_file_again_changes_nothing(store, add, folder):
    content = row() + "not json\n" + row(TRIP) + row(TRIP + "!")
    first = add(content)
    before = everything(store, folder)
    again = add(content)
    assert (len(first.added), first.known, first.duplicates) == (3, 0, 1)
    assert (again.added, again.known, again.quarantined) == ((), 3, 1)
    assert everything(store, folder) == before


def test_a_row_that_stands_in_a_file_twice_is_one_seed(store, add):
    report = add(row() * 3)
    assert (len(report.added), report.known, report.duplicates) == (1, 2, 0)
    assert store.seeds()[0].row == 1


def test_a_seed_that_repeats_another_is_kept_and_says_so(store, add):
    (first,) = add(row()).added
    report = add(row(SUM.upper(), source="forum"), "others.jsonl")
    assert report.duplicates == 1
    (link,) = store.seed(report.added[0]).duplicate_of
    assert (link.other_kind, link.other_id, link.method) == ("seed", first, "exact")


def test_a_seed_that_repeats_a_task_says_so(store, folder, new_task):
    stored = new_task("sum-quarter", query=SUM)
    store.add_release("mine", [stored], {})
    bundled = load_bank("starter").tasks[0]
    path = folder / "seeds.jsonl"
    path.write_text(row() + row(bundled.query))
    report = add_files(store, [SeedFile.at(path)], Defaults())
    links = [seed.duplicate_of[0] for seed in store.seeds()]
    assert {(link.other_kind, link.other_id) for link in links} == {
        ("task", "sum-quarter"),
        ("task", bundled.id),
    }
    assert report.files[str(path)].duplicates == 2


def test_stored_seeds_of_earlier_commands_are_remembered(store, folder):
    one, other = folder / "one.jsonl", folder / "other.jsonl"
    one.write_text(row())
    other.write_text(row(SUM + " Please."))
    for path in (one, other):
        report = add_files(store, [SeedFile.at(path)], Defaults())
    assert report.files[str(other)].duplicates == 1


@pytest.mark.postgres
def test_on_postgresql_it_is_the_same(postgres_url, folder, store_address):
    store = Store.open(store_address.model_copy(update={"database_url": postgres_url}))
    path = folder / "seeds.jsonl"
    path.write_bytes(row().encode() + b'{"text": "\\ud800 \x00"}\n\xff\n' + row(TRIP).encode() * 2)
    for added in (2, 0):
        report = add_file(store, SeedFile.at(path), Defaults(), DuplicateIndex)
        assert (len(report.added), report.quarantined) == (added, 2)
    assert len(store.quarantined()) == 2
    store.close()


def test_a_file_that_fails_does_not_stop_the_others(store, folder):
    good, bad = folder / "good.jsonl", folder / "bad.yaml"
    good.write_text(row())
    bad.write_text("text: a\n")
    report = add_files(store, [SeedFile.at(bad), SeedFile.at(good)], Defaults())
    assert list(report.errors) == [str(bad)]
    assert len(report.files[str(good)].added) == 1


def test_many_bad_rows_are_all_stored_and_some_told(store, add):
    report = add("?\n" * (ROWS_TOLD + 10))
    assert len(report.rejected) == ROWS_TOLD
    assert report.quarantined == len(store.quarantined()) == ROWS_TOLD + 10


def test_a_file_without_rows_says_so(add):
    assert add("").notes == ("holds no row",)


def test_a_file_of_another_kind_is_refused():
    with pytest.raises(Misuse, match=r"seeds\.xlsx: the ending says no format"):
        SeedFile.at(Path("seeds.xlsx"))


TEXTS = st.sampled_from(
    [
        b'{"text": "sum it", "source": "a"}\n',
        b"text,source\n",
        b"sum it,a\n",
        b"- text: sum it\n  source: a\n",
        b'"',
        b"\xff",
        b"\0",
        b"{",
        b"- ",
        b"\n",
        b",",
    ]
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["a.jsonl", "a.csv", "a.yaml"]),
    data=st.lists(st.one_of(TEXTS, st.binary(max_size=8)), max_size=8).map(b"".join),
)
def test_every_row_of_any_file_is_accounted_for(store, folder, name, data):
    path = folder / name
    path.write_bytes(data)
    before = len(store.seeds())
    try:
        report = add_file(store, SeedFile.at(path), Defaults("s"), DuplicateIndex)
    except BadTaskData:
        assert len(store.seeds()) == before
        return
    assert len(report.added) + report.known + report.quarantined == report.rows
    assert len(store.seeds()) == before + len(report.added)
