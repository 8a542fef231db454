"""Errors of predicted arguments on atomic tasks (GTA, table 6), in the text protocol."""

from tests.stages.diagnose.scripted.agents import STEPS, Script, say

SCRIPTS = [
    Script(
        name="only-thinks",
        half="written",
        agent=STEPS,
        task="starter/village-hall-choice",
        replies=[
            say("Thought: The list of halls will say how many people the Church Room seats."),
            say("Thought: I should open the list and look for the Church Room there."),
            say("Thought: Then I compare seats and price, and tell the choir both."),
        ],
        about="The agent thinks three times and never writes an action.",
        stage="plan",
        type="not_attempted",
        levels="A",
        labels={"no_action": ["Thought: The list", "Thought: I should", "Thought: Then"]},
    ),
]
