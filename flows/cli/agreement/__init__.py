"""Commands about the agreement of judges with people."""
