"""Suites of expectations, one file per hand-over: rows derived from our types, rules over them."""
