"""What is said in recordings and videos, written down by a speech recogniser."""
