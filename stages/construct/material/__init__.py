"""What prompts show beside the candidate: the library of checks, exemplars, attachments."""
