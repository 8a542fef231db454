"""An agent's figures by groups of tasks, of trials and of tool calls, each with its interval."""
