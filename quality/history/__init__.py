"""What one night means against the nights before it: facts of a night, comparisons, verdicts.

Pure functions over `taskdata.schema.night`: `night_of` turns a run into what is kept of it, and
`morning_of` compares it with comparable nights.
"""

from quality.history.morning import morning_of
from quality.history.night import night_of

__all__ = ["morning_of", "night_of"]
