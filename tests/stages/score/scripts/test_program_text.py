"""What a program needs and leaves out shows in its text."""

from stages.score.scripts.program_text import imported_packages, unused_checks, uses_database

CHECKS = b"""
def check_a(): ...
def check_b(): ...
def verify_c(): ...
def _check_d(): ...
def total(): ...
CHECKS = ["check_b"]
check_a()
"""


def test_checks_that_are_called_or_looked_up_by_name_are_used():
    assert unused_checks({"main.py": CHECKS}) == ("_check_d", "verify_c")
    others = {"other.py": b"import x; x.verify_c()", "broken.py": b"no python ("}
    assert unused_checks({"main.py": CHECKS, **others}) == ("_check_d",)


def test_a_database_is_used_where_a_library_for_it_is_imported_anywhere():
    assert uses_database({"a.py": b"import os", "b.py": b"def f():\n    import psycopg2.extras"})
    assert uses_database({"a.py": b"from sqlalchemy import text"})
    assert not uses_database({"a.py": b"import os  # psycopg2", "b.py": b"from . import psycopg2"})


def test_pythons_own_modules_and_neighbours_are_no_packages():
    programs = {
        "evaluation/main.py": b"import os, hours\nfrom utils.reading import rows\nimport docx.text",
        "evaluation/hours.py": b"from json import loads\nimport openpyxl as o",
        "utils/reading.py": b"import csv",
    }
    assert imported_packages(programs) == {"docx", "openpyxl"}
