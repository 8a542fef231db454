"""Tools that read what stands in pictures: lines of text, and formulas."""
