"""Adversarial proof: worthless work must earn little, and a fault in the reference be noticed."""
