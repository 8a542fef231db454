"""What model calls cost: prices, and a cap on what is spent."""
