"""The LLM judge: what it is shown, how it is asked, and how its verdict is parsed."""
