"""Data Docs lie beside the page, and the page links to no others."""

from datetime import UTC, datetime, timedelta

import pytest

from dashboards.gate_docs import rules_over, write_gate_docs
from taskdata.errors import StoreUnavailable
from taskdata.schema.gate import ExpectationOutcome, GateLevel, GatePass, GateResult


def gate(name: str, docs_sha256: str | None) -> GateResult:
    return GateResult(
        gate=name, run_id="r1", success=True, rows=1, expectations=1, docs_sha256=docs_sha256
    )


def test_every_gate_with_data_docs_gets_its_file(store, tmp_path):
    kept = store.artifacts.put_bytes(b"<p>docs</p>")
    written = write_gate_docs(store.artifacts, [gate("seeds", kept), gate("bank", None)], tmp_path)
    assert written == {"seeds"}
    assert (tmp_path / "gates" / "seeds.html").read_bytes() == b"<p>docs</p>"
    assert [path.name for path in (tmp_path / "gates").iterdir()] == ["seeds.html"]


def test_no_folder_is_made_for_nothing(store, tmp_path):
    folder = tmp_path / "page"
    folder.mkdir()
    assert write_gate_docs(store.artifacts, [gate("bank", None)], folder) == frozenset()
    assert list(folder.iterdir()) == []


def test_lost_data_docs_are_left_out_with_a_warning(store, tmp_path, caplog):
    assert write_gate_docs(store.artifacts, [gate("seeds", "f" * 64)], tmp_path) == frozenset()
    assert "gate seeds of r1" in caplog.text


def test_an_artifact_store_that_is_away_is_not_a_lost_artifact(store, tmp_path, monkeypatch):
    def refuse(_sha256, _target):
        raise StoreUnavailable("artifact store s3://x: cannot read: timed out")

    monkeypatch.setattr(store.artifacts, "copy_to", refuse)
    with pytest.raises(StoreUnavailable):
        write_gate_docs(store.artifacts, [gate("seeds", "f" * 64)], tmp_path)


PAGE = b"<body><main>result</main></body>"
NIGHT = datetime(2026, 3, 1, 2, tzinfo=UTC)


def outcome(unexpected: int | None = 0, **known) -> ExpectationOutcome:
    values = {
        "rule": "draught",
        "expectation": "a ship draws 2 to 9 m",
        "type": "expect_column_values_to_be_between",
        "level": GateLevel.QUARANTINE,
        "limits": {"max_value": 9},
        "evaluated": 20,
        "unexpected": unexpected,
        "success": not unexpected,
    }
    return ExpectationOutcome.model_validate(values | known)


def passes(*found: tuple[ExpectationOutcome, ...], **known) -> list[GatePass]:
    """Nights of one gate, newest first."""
    values = {"gate": "tasks", "is_run": True, "success": True, "rows": 20, "quarantined": 0}
    return [
        GatePass(
            subject=f"r{len(found) - i}",
            outcomes=outcomes,
            at=NIGHT - timedelta(days=i),
            **values | known,
        )
        for i, outcomes in enumerate(found)
    ]


@pytest.fixture
def written(store, tmp_path):
    """Write the Data Docs of the run `r1` with a history; return the page."""

    def write(history: list[GatePass], *there: str) -> str:
        kept = store.artifacts.put_bytes(PAGE)
        pages = {done.subject: tmp_path / done.subject / "dashboard.html" for done in history}
        for subject in there:
            pages[subject].parent.mkdir()
            pages[subject].touch()
        folder = tmp_path / "r1"
        write_gate_docs(store.artifacts, [gate("tasks", kept)], folder, {"tasks": history}, pages)
        return (folder / "gates" / "tasks.html").read_text()

    return write


def test_the_history_follows_the_result_newest_first_with_links_to_pages_that_are_there(written):
    html = written(passes((outcome(1),), (outcome(),), (outcome(3),)), "r2")

    assert html.index("#history") < html.index("result</main>") < html.index('id="history"')
    assert html.index("2026-03-01 02:00") < html.index("2026-02-28") < html.index("2026-02-27")
    cells = [html.index(f">{n} / 20") for n in (1, 0, 3)]
    assert cells == sorted(cells)
    assert html.count('class="broken"') == 2
    assert '<a href="../../r2/dashboard.html">r2</a>' in html
    assert '<a href="../dashboard.html">r1</a>' in html, "its own page is written after it"
    assert "r3/dashboard.html" not in html


def test_other_limits_an_unknown_past_and_a_new_rule_are_told(written):
    old = outcome(2, limits={"max_value": 5}, expectation="a ship draws 2 to 5 m")
    new = outcome(None, rule="crew", type="t", evaluated=None, success=True)

    html = written(passes((outcome(), new), (old,), ()))

    assert html.count("2 / 20<sup>*</sup>") == 1
    assert 'title="a ship draws 2 to 5 m"' in html
    assert html.count('class="none"') == 3
    assert ">held<" in html


def test_a_rule_keeps_its_line_while_its_limits_and_its_place_change():
    share, other = outcome(1, rule="state"), outcome(2, rule="state")

    lines = rules_over(passes((share, other), (outcome(rule="id"), share, other)), 12)

    assert [line.now.rule for line in lines] == ["state", "state", "id"]
    assert [[o and o.unexpected for o in line.shown] for line in lines] == [
        [1, 1],
        [2, 2],
        [None, 0],
    ]
    assert lines[1].shares == (0.1, 0.1)


def test_a_few_of_many_have_a_bar_that_can_be_seen():
    (line,) = rules_over(passes((outcome(20),), (outcome(1, evaluated=5_000),), (outcome(),)), 12)

    assert line.heights == [0, 2, 19]


def test_what_a_refresh_or_a_sentence_is_called_is_shown_and_never_interpreted(written):
    poison = "<script>alert(1)</script> {{ 7 * 7 }}"
    found = outcome(1, expectation=poison, rule=poison, part=poison, limits={"regex": poison})

    html = written(passes((found,), release=poison))

    assert "<script" not in html
    assert "{{ 7 * 7 }}" in html
