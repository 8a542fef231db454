"""Figures: rows in, a Plotly figure out. One figure per file; each aggregates before it draws."""
