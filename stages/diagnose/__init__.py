"""Why a trial failed: labels from deterministic signals, with the evidence behind each."""
