import re
from html.parser import HTMLParser
from typing import Any

import pytest

from quality.data_docs import data_docs
from quality.gates import Distribution, Suite, hold
from quality.suites.expectations import between, one_of, quarantining, unique

HOSTILE = "<script>alert('x')</script> ${name} $status_title {{ 237 * 41 }} \"&amp; \ue000img\ue001"

SUITE = Suite(
    name="sums",
    id_column="name",
    columns=("name", "fault", "sum"),
    expectations=lambda: [
        *quarantining([one_of("fault", "there is no fault", [])]),
        unique("name", "names are unique"),
        between("sum", "a sum is at least 5 and < 10", 5, 9),
    ],
    distribution=Distribution(
        columns=("share",),
        groups=lambda kept: [{"group": f"like {kept[0]['name']}", "share": 1 / len(kept)}],
        expectations=lambda: [between("share", "shares are small", 0, 0.9)],
    ),
)


def row(name: str, fault: str | None = None, total: Any = 7) -> dict[str, Any]:
    return {"name": name, "fault": fault, "sum": total}


def page(*rows: dict[str, Any], run_id: str = "r1") -> str:
    return data_docs(hold(SUITE, rows, run_id)[1])


class Elements(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_says_what_was_expected_what_was_found_and_in_which_rows():
    text = Elements(page(row("a"), row("b", "torn"), row("c", total=3))).text

    assert "there is no fault (else: quarantine)" in text
    assert "torn" in text
    assert "a sum is at least 5 and < 10" in text
    assert re.search(r"1 unexpected values found\..*of 2 total rows", text)
    assert "Failed" in text
    assert "run r1" in text


def test_a_gate_that_only_kept_rows_back_succeeded():
    text = Elements(page(row("a"), row("b", "torn"), row("c"))).text

    assert "Succeeded" in text
    assert "Failed" not in text


def test_a_passing_distribution_shows_what_was_observed():
    assert ": 0.5" in Elements(page(row("a"), row("b"))).text


def test_the_page_fetches_nothing_and_runs_nothing():
    html = page(row("a"), row("b", "torn", 3))
    elements = Elements(html)

    assert not {tag for tag, _ in elements.tags} & {"script", "img", "link", "iframe", "object"}
    addresses = [a[n] for _, a in elements.tags for n in ("href", "src") if n in a]
    assert addresses
    assert all(address is not None and address.startswith("#") for address in addresses)
    assert not re.search(r"https?://|url\(|@import", html)
    assert "default-src 'none'" in html


@pytest.mark.parametrize(
    "hostile",
    [row("b", fault=HOSTILE), row(HOSTILE, total=3), row(HOSTILE, fault="torn")],
    ids=["value", "name of a broken row", "name of a row in quarantine"],
)
def test_what_rows_say_is_shown_and_never_interpreted(hostile: dict[str, Any]):
    elements = Elements(page(row("a"), hostile, row("c"), row("d", "torn")))

    assert {"script", "img"}.isdisjoint(tag for tag, _ in elements.tags)
    assert str(237 * 41) not in elements.text
    assert HOSTILE.replace("\ue000", "\ufffd").replace("\ue001", "\ufffd") in elements.text


def test_the_name_of_a_group_is_shown_and_never_interpreted():
    elements = Elements(page(row(HOSTILE), row("b")))

    assert "script" not in {tag for tag, _ in elements.tags}
    assert "like <script>alert('x')</script> ${name}" in elements.text


def test_a_value_of_any_length_and_number_makes_a_short_page():
    rows = [row(f"n{i}", fault=f"{i} {'x' * 5_000}") for i in range(500)]

    assert len(page(*rows, row("sound"))) < 100_000


def test_an_expectation_that_could_not_be_evaluated_shows_its_cause():
    assert "same type" in Elements(page(row("a", total="high"))).text


def test_a_run_id_that_looks_like_a_date_of_no_calendar_is_a_name():
    assert "run 99999999999999999999999999" in page(row("a"), run_id="9" * 26)
