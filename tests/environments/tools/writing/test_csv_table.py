import pandas as pd


def test_pandas_reads_what_was_written(written, workspace):
    rows = [["Süd, West", 1.5, None], ['says "hi"\nbye', 2, True]]
    result = written("CsvFileGenerator", path="output/a.csv", columns=["k", "n", "x"], rows=rows)
    assert result.text == "Wrote output/a.csv: 2 rows and a header of 3 columns."
    frame = pd.read_csv(workspace / "output/a.csv")
    assert list(frame.columns) == ["k", "n", "x"]
    assert frame.k.tolist() == ["Süd, West", 'says "hi"\nbye']
    assert frame.n.tolist() == [1.5, 2.0]
    assert pd.isna(frame.x[0])


def test_uneven_rows_are_refused_by_number(refused):
    text = refused("CsvFileGenerator", path="output/a.csv", columns=["a", "b"], rows=[[1, 2], [1]])
    assert text == "rows[1] has 1 cell for 2 columns; use null for empty cells."
