"""The offline search, over real files."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.search.corpus import Corpus, corpus_of_files, open_corpus, require_corpus
from taskdata.errors import Misuse

LINES = [
    {"title": "CN Tower", "url": "https://example.org/cn", "text": "The tower is 553.3 m tall."},
    {"title": "Eiffel Tower", "text": "The Eiffel Tower stands in Paris and is 330 m tall."},
    {"title": "Tea", "text": "Tea is made of leaves. " * 50},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("corpus")
    (root / "towers.jsonl").write_text("\n".join(map(json.dumps, LINES)) + "\n\n")
    (root / "notes").mkdir()
    (root / "notes" / "paris.md").write_text("# Visiting Paris\n\nTickets sell out; book early.\n")
    (root / "notes" / "plain.txt").write_text("Rain is likely in Toronto.")
    (root / "ignored.csv").write_text("tower,1")
    return root


def found(corpus: Corpus, query: str, count: int = 10):
    return asyncio.run(corpus.search(query, count))


def test_the_best_document_comes_first(folder):
    hits = found(open_corpus(folder), "How tall is the CN Tower?")
    assert [h.title for h in hits][:2] == ["CN Tower", "Eiffel Tower"]
    assert (hits[0].url, hits[0].snippet) == (
        "https://example.org/cn",
        "The tower is 553.3 m tall.",
    )
    assert hits[1].url == "https://corpus.invalid/towers.jsonl#2"
    assert len(found(open_corpus(folder), "tower", 1)) == 1


def test_markdown_and_text_files_are_documents(folder):
    corpus = open_corpus(folder)
    assert found(corpus, "booking tickets")[0].title == "Visiting Paris"
    assert found(corpus, "Toronto rain")[0].url == "https://corpus.invalid/notes/plain.txt"


def test_long_documents_show_the_part_that_fits(folder):
    (hit,) = found(open_corpus(folder), "leaves")
    assert "leaves" in hit.snippet
    assert len(hit.snippet) < 600


def test_nothing_is_found_without_words(folder):
    corpus = open_corpus(folder)
    assert found(corpus, "?!") == ()
    assert found(corpus, "zebra") == ()


def test_operators_of_the_index_are_words(folder):
    corpus = open_corpus(folder)
    assert found(corpus, 'title:"CN" NEAR(tower) OR NOT * ^')[0].title == "CN Tower"


@given(st.text(max_size=200))
def test_no_query_breaks_it(folder, query):
    assert len(found(open_corpus(folder), query, 2)) <= 2


def test_it_is_indexed_once(folder):
    assert open_corpus(folder) is open_corpus(folder)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{oops", "line 2: is not JSON"),
        ("[1]", "line 2: expected an object"),
        ('{"title": "x"}', "line 2: title and text must both be texts"),
    ],
)
def test_a_malformed_corpus_names_the_line(tmp_path, line, message):
    (tmp_path / "a.jsonl").write_text(json.dumps(LINES[0]) + "\n" + line)
    with pytest.raises(Misuse, match=rf"a\.jsonl, {message}"):
        open_corpus(tmp_path)


def test_files_in_memory_are_found_as_in_a_folder(folder):
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    corpus = corpus_of_files(files, "search of task 'towers'")

    for query in ("How tall is the CN Tower?", "booking tickets", "Toronto rain"):
        assert found(corpus, query) == found(open_corpus(folder), query)


def test_files_in_memory_are_refused_by_name():
    with pytest.raises(Misuse, match=r"search of task 'towers': holds no document"):
        corpus_of_files({"search/table.csv": b"a,b"}, "search of task 'towers'")
    with pytest.raises(Misuse, match=r"search/a\.jsonl, line 1: is not JSON"):
        corpus_of_files({"search/a.jsonl": b"{oops"}, "search of task 'towers'")


def test_a_folder_without_documents_is_none(tmp_path):
    with pytest.raises(Misuse, match="holds no document"):
        require_corpus(tmp_path)
    with pytest.raises(Misuse, match="is not a folder"):
        require_corpus(tmp_path / "nowhere")
