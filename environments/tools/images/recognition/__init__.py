"""Recognition of printed text in pictures."""
