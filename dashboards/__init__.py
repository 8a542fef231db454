"""Plotly figures and pages over a run; reads taskdata only."""
