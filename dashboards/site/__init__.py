"""The pages over all nights: this morning, trends, leaderboard, failures, tasks."""
