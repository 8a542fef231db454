"""The command about one trial: its scores, its transcript, its files."""
