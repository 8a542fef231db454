import pytest

from taskdata.schema.tool import ToolErrorKind


def put(workspace, data: bytes, name: str = "a.csv") -> str:
    (workspace / "input" / name).write_bytes(data)
    return f"input/{name}"


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (b"a,b\n1,2\n", "1 data row, 2 columns (comma-separated, utf-8)"),
        ("a;b\n1,5;ü\n".encode("cp1252"), "1 data row, 2 columns (semicolon-separated, cp1252)"),
        ("\ufeffa\tb\n1\t2\n".encode(), "1 data row, 2 columns (tab-separated, utf-8-sig)"),
        ("a|b\n1|2\n".encode("utf-16"), "1 data row, 2 columns (bar-separated, utf-16)"),
        (b"a\n1\n2\n", "2 data rows, 1 column (comma-separated, utf-8)"),
        (b'a,b\n"x\ny","1, 2; 3"\n', "1 data row, 2 columns (comma-separated, utf-8)"),
        (b"a,b\n\x81\x8d,1\n", "1 data row, 2 columns (comma-separated, latin-1)"),
    ],
)
def test_dialect_and_size_are_found_out(run, workspace, data, facts):
    text = run("ReadCSV", path=put(workspace, data)).text
    assert text.splitlines()[0] == f"input/a.csv: {facts}"


def test_rows_are_shown_as_they_stand(run, workspace):
    path = put(workspace, b'name,note\n Ann ,"a, b"\n,\xe2\x82\xac 5\n')
    assert run("ReadCSV", path=path).text.splitlines()[1:] == [
        "header: name,note",
        '0:  Ann ,"a, b"',
        "1: ,€ 5",
        "(data rows 0 to 1 of 2; that is the end)",
    ]


def test_a_huge_file_is_read_in_pages(run, workspace):
    path = put(workspace, b"n,square\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(200_000)))
    text = run("ReadCSV", path=path, start_row=150_000, max_rows=2).text
    assert "200000 data rows" in text
    assert "150000: 150000,22500000000" in text
    assert text.endswith("(data rows 150000 to 150001 of 200000; go on with start_row=150002)")
    everything = run("ReadCSV", path=path, max_rows=200_000).text
    assert len(everything) == 100_000
    assert "start_row" in everything[-200:]
    assert "(no data row from 900000 on)" in run("ReadCSV", path=path, start_row=900_000).text


def test_uneven_rows_are_pointed_out(run, workspace):
    text = run("ReadCSV", path=put(workspace, b"a,b\n1,2\n3\n4,5,6\n")).text
    assert "note: 2 rows with another number of fields than the header (data row 1, 2)" in text


def test_one_endless_field_is_cut(run, workspace):
    text = run("ReadCSV", path=put(workspace, b"a,b\n" + b"x" * 1_000_000 + b",1\n")).text
    assert len(text) < 2_000


def test_an_empty_file_is_said_to_be_empty(run, workspace):
    assert run("ReadCSV", path=put(workspace, b"")).text == "input/a.csv is empty."
    assert "(no data rows)" in run("ReadCSV", path=put(workspace, b"a,b\n")).text


def test_other_files_are_refused(refused, run, workspace):
    assert "not a text file" in refused("ReadCSV", path=put(workspace, b"PK\x03\x04rest"))
    assert "There is no file" in refused("ReadCSV", path="input/none.csv")
    wrong = run("ReadCSV", path=put(workspace, b"a"), start_row=-1, max_rows=0)
    assert wrong.error is ToolErrorKind.BAD_ARGUMENTS
    assert "- start_row: should be greater than or equal to 0" in wrong.text
