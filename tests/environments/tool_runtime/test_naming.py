import pytest

from environments.tool_runtime.naming import nearest_name

TOOLS = ("read_file", "write_file", "list_files", "ReadCSV", "ReadXLSX", "OCR", "MathOCR", "finish")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("readCSV", "ReadCSV"),
        ("read_csv", "ReadCSV"),
        ("Read CSV", "ReadCSV"),
        ("ReadFile", "read_file"),
        ("read_files", "read_file"),
        ("list_file", "list_files"),
        ("functions.read_file", "read_file"),
        ("ocr()", "OCR"),
        ("ReadXLS", "ReadXLSX"),
    ],
)
def test_a_misspelt_name_is_known_for_what_it_means(written, meant):
    assert nearest_name(written, TOOLS) == meant


@pytest.mark.parametrize("written", ["", "()", "Teleport", "file", "Anna", "read_file" * 20])
def test_another_name_is_taken_for_nothing(written):
    assert nearest_name(written, TOOLS) is None


def test_between_two_that_are_as_near_nothing_is_chosen():
    assert nearest_name("read_a_file", ("read_b_file", "read_c_file")) is None
    assert nearest_name("readcsv", ("ReadCSV", "read_csv")) is None
