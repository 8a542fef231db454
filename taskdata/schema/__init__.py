"""Pydantic models of every noun of the design; see one file per noun."""
