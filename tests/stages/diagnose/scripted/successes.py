"""Agents that succeed, some of them after a fault that they mend."""

from tests.stages.diagnose.scripted.agents import Script, call, finish

SCRIPTS = [
    Script(
        name="reads-and-answers",
        half="written",
        task="starter/toy-library-week",
        replies=[call("ReadCSV", path="input/loans_week_19.csv"), finish("You lent 42 toys.")],
        about="The agent reads the table and answers.",
        levels="",
    ),
]
