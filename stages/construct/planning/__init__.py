"""Planning cases made from finished trials and reference solutions (APB, section 3 and app. B)."""
