"""What prompts show in addition to the candidate: checks, exemplars, attachments."""
