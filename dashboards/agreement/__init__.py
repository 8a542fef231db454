"""Pages on which people score and label, and the cards of judges and labellers."""
