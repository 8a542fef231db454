"""How a scripted model talks in each of the two protocols."""

import json

from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Transcript


class ReactVoice:
    """Says things in the text protocol."""

    agent = "react:compatible/m"

    @staticmethod
    def call(wire, tool, arguments, **usage):
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return wire.says(f"Thought: on\nAction: {tool}\nAction Input: {raw}", **usage)

    @staticmethod
    def answer(wire, text):
        return wire.says(f"Thought: done\nFinal Answer: {text}")

    @staticmethod
    def observed(seen) -> str:
        """The newest thing the model was given."""
        return seen.body["messages"][-1]["content"]


class FunctionVoice(ReactVoice):
    """Says things as native tool calls."""

    agent = "function_calling:compatible/m"

    @staticmethod
    def call(wire, tool, arguments, **usage):
        return wire.says("", (tool, arguments), **usage)

    @staticmethod
    def answer(wire, text):
        return wire.says(text)


def errors(transcript: Transcript) -> list[ToolErrorKind | None]:
    """Return how each tool call went."""
    return [event.error for event in transcript.tool_events]
