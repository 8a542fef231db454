"""What an answer to a planning case is worth: first by code alone, the rest by a judge (APB)."""
