from datetime import date

import pytest

from stages.intake.readers.raw import Fault, RawRow
from stages.intake.rows import Defaults, UnknownFields, read_row

ROW = {"text": "sum the figures", "source": "internal"}


def read(defaults=None, unknown=None, **fields):
    raw = RawRow(1, "", {k: v for k, v in (ROW | fields).items() if v is not ...})
    return read_row(raw, defaults or Defaults(), unknown or UnknownFields())


def test_every_field_finds_its_place():
    row = read(
        url="https://example.org/1", date="2026-03-01", licence="CC0-1.0", attachments=["a.csv"]
    )
    assert row.seed.text == "sum the figures"
    assert row.seed.url == "https://example.org/1"
    assert row.seed.collected_on == date(2026, 3, 1)
    assert row.seed.license == "CC0-1.0"
    assert row.attachments == ("a.csv",)


DISCOVERY = {
    "domain": "museums",
    "scenario": "Labels",
    "need": "Labels that fit.",
    "role": "Designer",
    "difficulty": "easy",
    "tools": ["ReadCSV"],
    "verified_by": "Every row has a label.",
    "model": "openai/m",
    "prompts": ["discover@1"],
}


def test_a_row_may_say_that_a_model_proposed_it():
    row = read(discovery=DISCOVERY)
    assert row.seed.discovery.difficulty == "easy"
    assert read().seed.discovery is None
    assert row.seed.seed_id != read().seed.seed_id


@pytest.mark.parametrize(
    ("discovery", "reason"),
    [
        ("a model", "dictionary"),
        ({**DISCOVERY, "difficulty": "hopeless"}, "difficulty: "),
        ({**DISCOVERY, "score": 10}, "score: "),
        ({**DISCOVERY, "need": "NUL \0"}, "need: holds NUL"),
    ],
)
def test_a_discovery_that_cannot_be_read_is_a_fault_of_its_row(discovery, reason):
    fault = read(discovery=discovery)
    assert isinstance(fault, Fault)
    assert fault.field == "discovery"
    assert reason in fault.reason


def test_defaults_hold_only_where_a_row_is_silent():
    defaults = Defaults(source="forum", license="CC0-1.0")
    silent = read(defaults, source=...)
    assert (silent.seed.source, silent.seed.license) == ("forum", "CC0-1.0")
    spoken = read(defaults, source="web", license="MIT")
    assert (spoken.seed.source, spoken.seed.license) == ("web", "MIT")


@pytest.mark.parametrize(
    "written",
    [
        "2026-03-01",
        "20260301",
        "2026/03/01",
        "2026/3/1",
        "2026-03-01T23:30:00Z",
        "2026-03-01 23:30",
        "2026-03-01T23:30:00.5+02:00",
        "2026/3/1 23:30",
        "2026-W09-7",
    ],
)
def test_a_date_may_be_written_in_several_ways(written):
    assert read(date=written).seed.collected_on == date(2026, 3, 1)
    assert read(collected_on=written).seed.collected_on == date(2026, 3, 1)


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"text": ...}, "text", "is missing"),
        ({"text": "  "}, "text", "is missing"),
        ({"text": "?!"}, "text", "no word"),
        ({"text": 3}, "text", "expected text, got a number"),
        ({"text": "half \ud800"}, "text", "U+D800"),
        ({"text": "nul \0"}, "text", "U+0000"),
        ({"text": "x" * 100_001}, "text", "at most 100000"),
        ({"source": ...}, "source", "--source"),
        ({"source": ["web"]}, "source", "expected text, got a list"),
        ({"source": "s" * 81}, "source", "at most 80"),
        ({"date": "NaN"}, "date", "'NaN' is no date"),
        ({"date": "2026-02-30"}, "date", "is no date"),
        ({"date": "03/01/2026"}, "date", "is no date"),
        ({"date": 20260301}, "date", "expected text, got a number"),
        ({"date": "2026-03-01", "collected_on": "2026-03-02"}, "collected_on", "more than once"),
        ({"attachments": 3}, "attachments", "expected a list of paths"),
        ({"attachments": [{"path": "a"}]}, "attachments", "expected text, got a mapping"),
        ({"attachements": ["a"]}, "attachements", "did you mean 'attachments'"),
        ({"lisence": "MIT"}, "lisence", "did you mean 'licence'"),
    ],
)
def test_a_bad_field_is_named_with_its_reason(fields, field, reason):
    fault = read(**fields)
    assert isinstance(fault, Fault)
    assert fault.field == field
    assert reason in fault.reason


def test_of_several_faults_the_first_is_told_and_the_others_counted():
    assert read(text=..., source=...).reason == "is missing (and 1 more)"


def test_a_cell_holds_several_paths_between_semicolons():
    assert read(attachments="a.csv; b/c.csv;").attachments == ("a.csv", "b/c.csv")


def test_fields_of_other_names_are_left_out_and_told():
    unknown = UnknownFields()
    assert read(unknown=unknown, context="c", Upvotes=3).seed.text == ROW["text"]
    assert unknown.note() == "fields that are not known were left out: 'context', 'upvotes'"


def test_of_very_many_unknown_fields_a_few_are_told():
    unknown = UnknownFields()
    read(unknown=unknown, **{f"column {n}": "x" for n in range(1_000)})
    assert unknown.note().endswith("and more")
    assert len(unknown.note()) < 500
