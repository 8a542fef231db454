"""The Harbor format: a folder per task, with an image, an instruction and a verifier of its own."""
