"""What nobody has worked for earns at most 2 on any task of the starter bank.

Each cheat is left as the final answer and in every deliverable: all that the inputs hold, all words
and numbers, and lists of candidates that are known to hold the right ones.
"""

import importlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from environments.renderers.worker import READERS
from stages.score.evidence import TrialEvidence
from stages.score.library import kind_of_file, run_check
from stages.score.plain_text import searchable_text
from stages.score.tree import aggregate
from taskdata.banks.loader import Bank, load_bank
from taskdata.schema.checkpoint import Check, ToolResultCheck
from taskdata.schema.scores import LeafScore, Unscored
from taskdata.schema.task import Task, Tier
from taskdata.schema.views import (
    Cell,
    CsvView,
    DocumentView,
    HtmlView,
    Page,
    Paragraph,
    PdfView,
    Sheet,
    Slide,
    SlidesView,
    Table,
    TextRun,
    TextView,
    View,
    WorkbookView,
)

_UNREAD = (".png", ".jpg", ".wav")
"""Nor PDF files of workflow tasks, which take seconds to read."""
_MOST = 2.0
_WORKFLOW_CHEATS = ("everything", "near candidates as a list")
_TEXTS = 8_000
_ROWS = 400


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank("starter")


@pytest.fixture(scope="module")
def inputs(bank, tmp_path_factory):
    """Return the text of a task's inputs, each read once."""
    folder = tmp_path_factory.mktemp("inputs")

    def text_of(task: Task) -> str:
        texts = [task.query]
        for file in task.files:
            suffix = Path(file.path).suffix.lower()
            unread = _UNREAD if task.tier is Tier.ATOMIC else (*_UNREAD, ".pdf")
            if suffix in READERS and suffix not in unread:
                path = folder / f"{file.sha256}{suffix}"
                if not path.exists():
                    path.write_bytes(bank.files[file.sha256].read_bytes())
                module, reader = READERS[suffix]
                read = getattr(importlib.import_module(f"environments.renderers.{module}"), reader)
                texts.append(searchable_text(read(path)))
        return "\n".join(texts)

    return text_of


def cheats(task: Task, text: str) -> Iterator[tuple[str, str]]:
    """Yield each cheat by its name; those that name candidates leave out what is known as wrong."""
    yield "everything", text
    words = list(dict.fromkeys(re.findall(r"\S+", text)))
    yield "all words", " ".join(words)
    plain = dict.fromkeys(re.findall(r"[^\W\d_]+|\d[\d.,:]*\d|\d", text))
    yield "all words and numbers", ", ".join(plain)
    wrong, candidates = list[str](), list[str]()
    for check in checks_of(task):
        if check.name.startswith(("answer", "text")):
            wrong += [str(one) for one in check.args.get("none", [])]
            candidates += expected_of(check)
    near = [one for candidate in candidates for one in around(candidate)]
    names = re.findall(r"[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]+)*", text)
    found = dict.fromkeys([*near, *re.findall(r"\d[\d.,:]*\d|\d", text), *names])
    listed = [one for one in found if one not in wrong]
    few = [one for one in dict.fromkeys([*near, *names[:12]]) if one not in wrong]
    for kind, items in (("all candidates", listed), ("near candidates", few)):
        yield f"{kind} in a row", ", ".join(items)
        yield f"{kind} as a list", "\n".join(f"- {item}" for item in items)
        yield f"{kind} in sentences", " ".join(f"It may be {item}." for item in items)
        yield f"{kind} in bold", "**" + "** or **".join(items) + "**"
        yield f"{kind} as the answer", "Final answer: " + " or ".join(items)
        yield f"{kind} as the conclusion", "I tried it, so " + " and ".join(items)


def checks_of(task: Task) -> list[Check]:
    return [n.verifier for n in task.checkpoints.leaves() if isinstance(n.verifier, Check)]


def expected_of(check: Check) -> list[str]:
    if "expected" in check.args:
        return [str(check.args["expected"])]
    return [str(group[0]) for group in check.args.get("all", [])]


def around(candidate: str) -> list[str]:
    """Return a number or time among twelve like it; another text is returned alone."""
    if time := re.fullmatch(r"(\d{1,2}):(\d\d)", candidate):
        minutes = int(time[1]) * 60 + int(time[2])
        near = (minutes + 5 * step for step in range(-6, 7))
        return [f"{m // 60}:{m % 60:02}" for m in near]
    digits = candidate.replace(",", "")
    if not re.fullmatch(r"\d+(\.\d+)?", digits):
        return [candidate]
    places = len(digits.partition(".")[2])
    step = max(10**-places, float(digits) / 50 if not places else 0.0)
    return [f"{float(digits) + n * step:.{places}f}" for n in range(-6, 7)]


def view_of(name: str, text: str) -> View | None:
    """Return a file of this name that holds the text wherever such a file can."""
    lines = [line for line in text.splitlines() if line.strip()][:_ROWS]
    rows = tuple(tuple(re.split(r" \| |[,;\t]", line))[:30] for line in lines)
    table = Table(rows=rows)
    headings = tuple(Paragraph(text=line[:200], level=1) for line in lines)
    kind = kind_of_file(name)
    if kind is DocumentView:
        return DocumentView(paragraphs=headings, tables=(table,))
    if kind is TextView:
        return TextView(text=text)
    if kind is CsvView:
        return CsvView(table=table)
    if kind is HtmlView:
        return HtmlView(title=text[:200], headings=headings, text=text, tables=(table,))
    if kind is PdfView:
        return PdfView(
            pages=(Page(text=text, tables=(table,), width=595, height=842),), page_count=1
        )
    if kind is SlidesView:
        slides = [Slide(title=t[:200], runs=(TextRun(text=t[:200], size_pt=20),)) for t in lines]
        return SlidesView(slides=tuple(slides[:60]), width_pt=720, height_pt=540)
    if kind is WorkbookView:
        cells = {f"A{n}": Cell(value=line) for n, line in enumerate(lines, start=1)}
        cells |= {
            f"{chr(66 + column)}{n}": Cell(value=value)
            for n, row in enumerate(rows, start=1)
            for column, value in enumerate(row[:20])
        }
        names = re.findall(r"[A-Z]\w+", text)
        sheets = dict.fromkeys(["Sheet1", *names[:20]])
        return WorkbookView(
            sheets=tuple(
                Sheet(name=n, cells=cells, rows=len(lines), columns=20) for n in list(sheets)[:4]
            )
        )
    return None


def score_of(task: Task, answer: str) -> tuple[float, Sequence[LeafScore]]:
    views = {d.name: view_of(d.name, answer[:_TEXTS]) for d in task.deliverables}
    seen = {name: view for name, view in views.items() if view is not None}
    trial = TrialEvidence(views=seen, delivered=tuple(seen), final_answer=answer)
    leaves = {}
    for leaf in task.checkpoints.leaves():
        if isinstance(leaf.verifier, Check):
            leaves[leaf.id] = run_check(leaf.id, leaf.verifier, trial)
        elif isinstance(leaf.verifier, ToolResultCheck):
            # Whoever copies the inputs has read them.
            leaves[leaf.id] = LeafScore(leaf_id=leaf.id, score=10, verifier="t", reason="read")
        else:
            leaves[leaf.id] = LeafScore(
                leaf_id=leaf.id,
                score=None,
                verifier="judge:none@1",
                reason="not asked",
                unscored=Unscored.NOT_CONFIGURED,
            )
    root = aggregate(task.checkpoints, leaves)
    return root.score or 0.0, list(leaves.values())


def test_no_cheat_earns_more_than_2_on_any_task(bank, inputs):
    earned = []
    for task in bank.tasks:
        for name, answer in cheats(task, inputs(task)):
            if task.tier is not Tier.ATOMIC and name not in _WORKFLOW_CHEATS:
                continue
            score, leaves = score_of(task, answer)
            if score > _MOST:
                gained = [f"{leaf.leaf_id}: {leaf.reason}" for leaf in leaves if leaf.score]
                earned.append(f"{task.id}, {name}: {score:.2f} for {gained}")
    assert not earned, "\n".join(earned)


def test_the_reference_answers_keep_what_they_earned(bank):
    """The deliverables of references are scored in whole runs; their answers are scored here."""
    for task in bank.tasks:
        assert task.reference is not None
        trial = TrialEvidence(views={}, final_answer=task.reference.final_answer)
        for leaf in task.checkpoints.leaves():
            check = leaf.verifier
            if isinstance(check, Check) and check.deliverable is None:
                found = run_check(leaf.id, check, trial)
                assert found.score == 10, f"{task.id}: {found.reason}"
