"""Tables, as the programs of the pool read them."""

import csv


def rows(path):
    """Return the rows of a CSV file without its head."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]
