"""Faults in the choice of tools: a tool that does not exist, the wrong one, none at all."""

from tests.stages.diagnose.scripted.agents import Script, call, finish

SCRIPTS = [
    Script(
        name="calls-a-tool-of-another-product",
        half="written",
        task="starter/toy-library-week",
        replies=[
            call("query_database", sql="SELECT lent FROM loans WHERE day = 'Friday'"),
            call("query_database", sql="SELECT * FROM loans"),
            finish("I could not query the loans, so I do not know how many toys were lent."),
        ],
        about="The agent calls a database tool that was never offered, twice, and gives up.",
        stage="plan",
        type="data_extraction",
        levels="A",
        labels={"hallucinated_tool": ["query_database"]},
    ),
]
