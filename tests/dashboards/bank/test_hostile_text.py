"""The page of a release takes no text of a seed or a model for markup, and stays small."""

from dashboards.bank import BANK_BYTES, build_bank
from dashboards.pages.page import packed_plotly
from dashboards.visible_text import visible
from taskdata.schema.release import TaskChange
from taskdata.schema.statistics import BankStatistics
from tests.dashboards.bank.pages import POISON, cells, scripts, soup, table_of


def test_no_poison_becomes_markup(store, made_notes, new_notes):
    """The poisoned page has exactly the kinds of elements and the scripts that a clean one has."""
    clean = soup(build_bank(store, made_notes, table_of("reddit")))
    dirty = new_notes(title=POISON).model_copy(
        update={
            "refresh_id": "refresh-1",
            "changes": tuple(c.model_copy(update={"why": POISON}) for c in made_notes.changes),
            "statistics": BankStatistics(tasks=1, sources={POISON: 1}, tools={POISON: 1}),
        }
    )
    names = ("origin", "seed_id", "seed_source", "candidate_id", "reviewer")
    entry = dirty.lineage[0].model_copy(
        update=dict.fromkeys(names, POISON) | {"prompts": (POISON,), "models": (POISON,)}
    )
    dirty = dirty.model_copy(update={"lineage": (entry,)})
    html = build_bank(store, dirty, table_of(POISON))
    page = soup(html)
    assert {e.name for e in page.find_all(True)} <= {e.name for e in clean.find_all(True)}
    assert scripts(page) == scripts(clean)
    assert page.find("meta", attrs={"http-equiv": "Content-Security-Policy"}) == clean.find(
        "meta", attrs={"http-equiv": "Content-Security-Policy"}
    )
    for element in page.find_all(True):
        assert not [name for name in element.attrs if name.startswith("on")]
    assert {a["href"][:1] for a in page.find_all("a")} == {"#"}
    assert page.select_one("#lineage th small").get_text() == visible(POISON)
    assert page.select_one("#changes td.long").get_text() == visible(POISON)
    assert cells(html, "Outcomes by source")[0][0] == visible(POISON)
    assert "\u202e" not in html


def test_no_source_is_markup_in_a_figure(store, new_notes, data_of):
    statistics = BankStatistics(tasks=1, sources={"<b>%{x}</b>": 1})
    figures = data_of(build_bank(store, new_notes(statistics=statistics)), "figures")
    (name,) = figures["sources"]["layout"]["yaxis"]["ticktext"]
    assert name == "&lt;b&gt;%{x}&lt;/b&gt; "
    assert figures["sources"]["data"][0]["customdata"] == [["&lt;b&gt;%{x}&lt;/b&gt;", 1]]


def test_nothing_is_loaded_from_anywhere(store, made_notes):
    page = soup(build_bank(store, made_notes))
    for element in page.find_all(True):
        for name in ("src", "href", "srcset", "data", "action", "poster", "background"):
            if name in element.attrs:
                assert element[name].startswith("#") or element[name] == "data:,"


def test_a_large_bank_shows_its_first_rows_and_says_so(store, made_notes):
    lineage = made_notes.lineage * 10_000
    changes = tuple(
        TaskChange(task_id=f"task-{i}", kind="added", why="came with import") for i in range(10_000)
    )
    counts = {f"source {i}": 1 for i in range(30)}
    notes = made_notes.model_copy(
        update={
            "lineage": lineage,
            "changes": changes,
            "statistics": BankStatistics(tasks=10_000, sources=counts),
        }
    )
    html = build_bank(store, notes, plotly="../plotly.js")
    page = soup(html)
    assert len(html.encode()) <= BANK_BYTES
    assert len(cells(html, "Lineage of the tasks")) == 1_000
    assert "The first 1,000 of 10,000 tasks." in page.find(id="lineage").get_text()
    assert "The first 1,000 of 10,000 changes." in page.find(id="changes").get_text()
    assert "The 20 most frequent of 30." in page.find(id="statistics").get_text()


def test_long_texts_cost_rows_and_never_the_limit(store, made_notes):
    changes = tuple(
        TaskChange(task_id=f"task-{i}", kind="added", why="\u202e" * 500) for i in range(2_000)
    )
    html = build_bank(store, made_notes.model_copy(update={"changes": changes}))
    assert len(html.encode()) <= BANK_BYTES + len(packed_plotly())
    assert "The first 100 of 2,000 changes." in soup(html).find(id="changes").get_text()
    assert cells(html, "Changelog")[0][2] == "⟨U+202E⟩" * 400 + "…"
