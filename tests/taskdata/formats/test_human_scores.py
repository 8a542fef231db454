"""Scores as CSV come from anybody: what is wrong with a row is said by its line."""

import pytest

from taskdata.errors import BadTaskData
from taskdata.formats.human_scores import read_ratings, write_ratings
from taskdata.schema.agreement import PathNode, Rating

HEADER = "task,leaf,annotator,score"


@pytest.fixture
def read(tmp_path):
    def from_text(text, encoding="utf-8"):
        path = tmp_path / "scores.csv"
        path.write_bytes(text.encode(encoding))
        return read_ratings(path)

    return from_text


def test_people_and_judges_are_read(read):
    found = read(
        f"{HEADER},agent,judge:openai/gpt-5.2@1\n"
        "t,a,ada,7,x,8.5\n"
        "t,a,bob,6,x,8.5\n"
        "t,a,judge:other/j@1,3,x,\n"
    )
    assert [(r.rater, r.is_judge, r.score) for r in found] == [
        ("ada", False, 7),
        ("openai/gpt-5.2@1", True, 8.5),
        ("bob", False, 6),
        ("other/j@1", True, 3),
    ]
    assert {r.agent for r in found} == {"x"}


def test_bad_rows_are_named_with_their_lines(read):
    with pytest.raises(BadTaskData) as caught:
        read(
            f"{HEADER}\nt,a,ada,11\n\nt,b,ada,good\nt,,ada,3\nt,a,ada\nt,c,ada,nan\n"
            't,"two\nlines",ada,1\nt,d,ada,2\nt,d,ada,3\n'
        )
    told = str(caught.value)
    for part in (
        "line 2: field score",
        "line 4: field score",
        "line 5: leaf: is empty",
        "line 6: 3 cells, and the header has 4",
        "line 7: field score",
        "line 11: ada scored this leaf in line 10, too",
    ):
        assert part in told


def test_a_judges_column_must_agree_with_itself(read):
    with pytest.raises(BadTaskData, match="line 3: x/y scored this leaf in line 2, too"):
        read(f"{HEADER},judge:x/y\nt,a,ada,1,2\nt,a,bob,1,3\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: the header lacks 'task'"),
        ("task,leaf,annotator\n", "the header lacks 'score'"),
        (f"{HEADER},mood\n", "does not know 'mood'"),
        (f"{HEADER},score\n", "twice has 'score'"),
        (f"{HEADER}\n", "holds no scores"),
        (f'{HEADER}\nt,"a,ada,1\n', "line 2: "),
    ],
)
def test_what_is_no_such_file_is_said(read, text, says):
    with pytest.raises(BadTaskData, match=says):
        read(text)


def test_other_encodings_are_said(read):
    with pytest.raises(BadTaskData, match="not UTF-8"):
        read(f"{HEADER}\nt,a,J\u00f6rg,1\n", "latin-1")


def test_only_the_first_faults_are_told(read):
    with pytest.raises(BadTaskData, match="and 80 more") as caught:
        read(HEADER + "\n" + "t,a,ada,12\n" * 100)
    assert len(str(caught.value)) < 4000


def test_formulas_are_neutralised_and_read_back(tmp_path):
    hostile = ["=HYPERLINK(1)", "+1", "-1+2", "@SUM(A1)", "'=twice"]
    given = [
        Rating(task="t", leaf=f"{text}", rater=text, score=5, agent=text, words=3)
        for text in hostile
    ]
    path = tmp_path / "out.csv"
    write_ratings(given, path)
    written = path.read_text()
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in written.split(","))
    assert read_ratings(path) == given


def test_the_path_to_a_leaf_is_written_and_read(tmp_path):
    path = (PathNode("root", 1.0, "all_required", 7.0), PathNode("a", 0.5))
    rating = Rating(task="t", leaf="a", rater="ada", score=3, path=path)
    write_ratings([rating], tmp_path / "scores.csv")
    assert read_ratings(tmp_path / "scores.csv") == [rating]


@pytest.mark.parametrize("path", ["root/a", "[" * 4000, '"[[""root"", 1, ""any""]]"', "[[]]"])
def test_a_path_that_is_none_is_named_with_its_line(read, path):
    with pytest.raises(BadTaskData, match="line 2: field path"):
        read(f"{HEADER},path\nt,a,ada,1,{path}\n")
