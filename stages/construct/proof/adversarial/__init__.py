"""Adversarial proof: a tree must give worthless work few points and notice faults in references."""
