"""Files are scanned for canaries and long overlaps, whatever form they come in."""

import gzip
import json
import random

import pytest

from quality.contamination.overlaps import BankIndex
from quality.contamination.scanning import scan
from quality.contamination.words import words_of
from taskdata.canary import canary_of
from taskdata.errors import Misuse
from taskdata.schema.checkpoint import Checkpoint, Judge

QUERY = (
    "Read the harbour log of March, add up the berthing fees of every vessel over forty metres, "
    'and write the sum with a "short" reason for each waiver into fees.csv, sorted by date.'
)
REQUIREMENT = (
    "The sum of the berthing fees of all vessels over forty metres is given in whole crowns."
)
CANARY = canary_of("office")


@pytest.fixture
def index(new_task):
    leaf = Checkpoint(id="sum", requirement=REQUIREMENT, verifier=Judge(rubric="x"))
    tree = Checkpoint(id="root", requirement="All is there.", children=(leaf,))
    return BankIndex([new_task("fees", query=QUERY, checkpoints=tree), new_task("other")])


def found(path, index):
    return [
        (f.task, f.line, round(f.query_share, 2), f.requirements)
        for f in scan([path], index, CANARY).findings
    ]


@pytest.mark.parametrize(
    "text",
    [
        QUERY,
        QUERY.upper().replace(",", " --"),
        "> " + QUERY.replace(" ", "\n> "),
        json.dumps({"messages": [{"content": f"Hello.\n{QUERY}\nThanks"}]}),
        json.dumps(json.dumps({"text": f"é\n{QUERY}"})),
        "word " * 400_000 + QUERY,
    ],
    ids=["as it is", "other case", "a word a line", "json", "json in json", "one long line"],
)
def test_a_query_is_found_in_any_form(tmp_path, index, text):
    path = tmp_path / "corpus.txt"
    path.write_text(f"Something else.\n{text}\n")
    assert found(path, index) == [("fees", 2, 1.0, 0)]


def test_a_part_of_a_query_is_told_as_its_share_and_a_requirement_by_number(tmp_path, index):
    path = tmp_path / "corpus.txt"
    half = " ".join(QUERY.split()[:20])
    path.write_text(f"first line\n{half}\n{REQUIREMENT}\n")
    ((task, line, share, requirements),) = found(path, index)
    assert (task, line, requirements) == ("fees", 2, 1)
    assert share == round((20 - 13 + 1) / (len(words_of(QUERY)) - 13 + 1), 2)


def test_twelve_words_in_a_row_are_no_overlap(tmp_path, index):
    path = tmp_path / "corpus.txt"
    path.write_text(
        " ".join(QUERY.split()[:12]) + " something else " + " ".join(QUERY.split()[12:24])
    )
    assert found(path, index) == []


def test_a_canary_is_found_in_a_compressed_file_and_told_apart_from_that_of_another_bank(
    tmp_path, index
):
    path = tmp_path / "corpus.jsonl.gz"
    lines = ["{}", json.dumps({"c": CANARY.upper()}), json.dumps({"c": canary_of("starter")})]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    own, other = scan([path], index, CANARY).findings
    assert (own.task, own.canary, own.line, own.is_own_canary) == (None, CANARY, 2, True)
    assert (other.line, other.is_own_canary) == (3, False)


def test_utf_16_and_all_files_of_a_folder_are_read(tmp_path, index):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "deep.txt").write_text(QUERY, encoding="utf-16")
    (tmp_path / "a" / "empty.txt").write_text("")
    report = scan([tmp_path / "a", tmp_path / "a" / "b"], index, CANARY)
    assert report.files == 2
    assert [finding.task for finding in report.findings] == ["fees"]


def test_files_that_are_no_text_or_cut_short_are_named_and_the_others_scanned(tmp_path, index):
    packed = gzip.compress(
        f"{QUERY}\n".encode() + random.Random(0).randbytes(50_000).hex().encode()
    )
    (tmp_path / "cut.gz").write_bytes(packed[:-9_000])
    (tmp_path / "image.png").write_bytes(b"\x89PNG\0\0\0" + b"x" * (1 << 20) + CANARY.encode())
    (tmp_path / "text.txt").write_text(QUERY)
    report = scan([tmp_path], index, CANARY)
    assert report.files == 1
    assert [f.file.rpartition("/")[2] for f in report.findings] == [
        "cut.gz",
        "image.png",
        "text.txt",
    ]
    reasons = {unread.file.rpartition("/")[2]: unread.reason for unread in report.unread}
    assert "cannot be read to its end" in reasons["cut.gz"]
    assert "only canaries were looked for" in reasons["image.png"]


def test_a_path_that_is_not_there_is_misuse(tmp_path, index):
    with pytest.raises(Misuse, match="nowhere"):
        scan([tmp_path / "nowhere"], index, CANARY)


def test_every_query_of_the_starter_is_found_and_an_unrelated_text_is_not(tmp_path):
    from taskdata.banks.loader import load_bank

    tasks = load_bank("starter").tasks
    index = BankIndex(tasks)
    (tmp_path / "corpus.jsonl").write_text(
        "\n".join(json.dumps({"id": n, "text": task.query}) for n, task in enumerate(tasks))
    )
    findings = scan([tmp_path / "corpus.jsonl"], index, CANARY).findings
    whole = {f.task: f.line for f in findings if f.query_share == 1}
    assert whole == {
        task.id: n for n, task in enumerate(tasks, 1) if len(words_of(task.query)) > 12
    }
    (tmp_path / "other.txt").write_text(" ".join(words_of(__doc__ or "") * 50))
    assert scan([tmp_path / "other.txt"], index, CANARY).findings == ()


def test_words_of_languages_without_spaces_are_characters():
    assert words_of("港の記録 Log 3") == ["港", "の", "記", "録", "log", "3"]


def test_a_canary_in_a_compressed_archive_is_found(tmp_path, index):
    (tmp_path / "dump.tar.gz").write_bytes(gzip.compress(b"name\0\0" + CANARY.encode()))

    report = scan([tmp_path], index, CANARY)

    assert [one.canary for one in report.findings] == [CANARY]
    assert "only canaries" in report.unread[0].reason
