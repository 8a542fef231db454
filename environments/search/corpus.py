"""An offline search over documents, in a folder or of a task, for frozen evaluations.

A line of a JSONL file is a document (`title`, `text`, and optionally `url`); a markdown or text
file is one document. Ranking is BM25 by SQLite's full-text index in memory.
"""

import asyncio
import io
import json
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from environments.search.cleaning import clean_hit
from environments.search.ports import SearchHit
from taskdata.errors import Misuse

_MAX_DOCUMENTS = 200_000
_MAX_FILE_BYTES = 512_000_000
_MAX_DOCUMENT_CHARS = 500_000
_SUFFIXES = (".jsonl", ".md", ".txt")
_TERM = re.compile(r"\w+")
_MAX_TERMS = 32
_SNIPPET_TOKENS = 64
_HEADING = re.compile(r"^#{1,6}[ \t]+(.{1,300})", re.MULTILINE)


class _Document(NamedTuple):
    title: str
    url: str
    text: str


class Corpus:
    """A `SearchProvider` over documents; equal documents give equal answers."""

    name = "corpus"

    def __init__(self, documents: Iterable[_Document], where: str) -> None:
        """Index the documents; raises `Misuse`, naming `where`, if they are none or too many."""
        self._lock = threading.Lock()
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute(
            "CREATE VIRTUAL TABLE documents USING fts5"
            "(title, url UNINDEXED, text, tokenize='porter unicode61')"
        )
        found = 0
        with self._index:
            for document in documents:
                found += 1
                if found > _MAX_DOCUMENTS:
                    raise Misuse(f"{where}: more than {_MAX_DOCUMENTS} documents")
                self._index.execute("INSERT INTO documents VALUES (?, ?, ?)", document)
        if not found:
            raise Misuse(f"{where}: holds no document ({', '.join(_SUFFIXES)})")

    async def search(self, query: str, count: int) -> tuple[SearchHit, ...]:
        """Return up to `count` documents that contain any word of the query, best first."""
        return await asyncio.to_thread(self._found, query, count)

    async def close(self) -> None:
        """Do nothing: the index is shared by the whole process."""

    def _found(self, query: str, count: int) -> tuple[SearchHit, ...]:
        terms = _TERM.findall(query)[:_MAX_TERMS]
        if not terms:
            return ()
        # Quoted, so that no word of a query is read as an operator of the index.
        asked = " OR ".join(f'"{term}"' for term in terms)
        with self._lock:
            rows = self._index.execute(
                "SELECT title, url, snippet(documents, 2, '', '', ' … ', ?) FROM documents "
                "WHERE documents MATCH ? ORDER BY bm25(documents, 4.0, 0.0, 1.0), rowid LIMIT ?",
                (_SNIPPET_TOKENS, asked, count),
            ).fetchall()
        return tuple(hit for row in rows if (hit := clean_hit(*row)) is not None)


@lru_cache(maxsize=4)
def open_corpus(folder: Path) -> Corpus:
    """Return the corpus of a folder, indexed once per process; raises as `Corpus`."""
    return Corpus(_documents(folder), f"search_corpus {folder}")


def corpus_of_files(files: Mapping[str, bytes], where: str) -> Corpus:
    """Return the corpus of files in memory, by their paths; raises as `Corpus`."""
    return Corpus(_documents_in(files), where)


def require_corpus(folder: Path) -> None:
    """Raise `Misuse` unless the folder has files of a corpus; reads none of them."""
    if not folder.is_dir():
        raise Misuse(f"search_corpus {folder}: is not a folder")
    if next(_files(folder), None) is None:
        raise Misuse(f"search_corpus {folder}: holds no document ({', '.join(_SUFFIXES)})")


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in _SUFFIXES and path.is_file() and not path.is_symlink():
            yield path


def _documents(folder: Path) -> Iterator[_Document]:
    for path in _files(folder):
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise Misuse(f"{path}: has more than {_MAX_FILE_BYTES} bytes; split it")
        place = path.relative_to(folder).as_posix()
        if path.suffix.lower() == ".jsonl":
            with path.open(encoding="utf-8", errors="replace") as lines:
                yield from _lines(lines, str(path), place)
            continue
        yield _page(path.read_text(encoding="utf-8", errors="replace"), place)


def _documents_in(files: Mapping[str, bytes]) -> Iterator[_Document]:
    for place, content in sorted(files.items()):
        suffix = PurePosixPath(place).suffix.lower()
        if suffix not in _SUFFIXES:
            continue
        text = content.decode("utf-8", errors="replace")
        if suffix == ".jsonl":
            yield from _lines(io.StringIO(text), place, place)
        else:
            yield _page(text, place)


def _page(text: str, place: str) -> _Document:
    text = text[:_MAX_DOCUMENT_CHARS]
    heading = _HEADING.search(text)
    return _Document(heading[1] if heading else PurePosixPath(place).stem, _address(place), text)


def _lines(lines: Iterable[str], file: str, place: str) -> Iterator[_Document]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            document: Any = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise Misuse(f"{file}, line {number}: is not JSON") from exc
        if not isinstance(document, dict):
            raise Misuse(f"{file}, line {number}: expected an object with title and text")
        title, text, url = (document.get(name) for name in ("title", "text", "url"))
        if not (isinstance(title, str) and isinstance(text, str)):
            raise Misuse(f"{file}, line {number}: title and text must both be texts")
        address = url if isinstance(url, str) and url else _address(f"{place}#{number}")
        yield _Document(title, address, text[:_MAX_DOCUMENT_CHARS])


def _address(place: str) -> str:
    """Return an address for a document without one; its host cannot exist."""
    return f"https://corpus.invalid/{place}"
