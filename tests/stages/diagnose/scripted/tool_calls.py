"""Faults in the choice of tools: one that does not exist, the wrong one, none, a failed one again.

Their labels follow TOBench, table 4, Tool Call Error.
"""

from tests.stages.diagnose.scripted.agents import (
    STEPS,
    Script,
    call,
    final,
    finish,
    python,
    say,
    step,
)

_ROUTE = "import ortools\nprint(ortools.__version__)\n"

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
        labels={
            "hallucinated_tool": ["query_database"],
            "missing_essential_tool": ["leaf:table_read"],
        },
    ),
    Script(
        name="mails-and-asks-a-route-planner",
        half="held_out",
        task="starter/mobile-library-tour",
        agent=STEPS,
        replies=[
            step("list_files", '{"path": "input"}'),
            step("RoutePlanner", '{"stops": ["LUN", "ULV", "BRE"]}'),
            step("route_planner.optimise", '{"stops": ["LUN", "ULV", "BRE"], "start": "08:30"}'),
            step("SendEmail", '{"to": "Margit", "text": "Which stops are to be driven?"}'),
            final("The route planner did not work."),
            final("The route planner did not work, so there is no tour."),
        ],
        about=(
            "The agent looks at the list of files, calls three tools that do not exist, and ends "
            "without either file."
        ),
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "hallucinated_tool": ["RoutePlanner", "route_planner.optimise", "SendEmail"],
            "premature_stop": ["deliverable:tour.json", "deliverable:driver_sheet.pdf"],
        },
    ),
    Script(
        name="writes-office-files-as-text",
        half="written",
        task="starter/kinopass-page-test",
        replies=[
            call("read_file", path="input/mail_leyla.txt"),
            call(
                "write_file", path="output/test_results.xlsx", content="Page,Orders\nA,310\nB,325\n"
            ),
            call("write_file", path="output/readout.pptx", content="Page B has won."),
            finish("Page B has won. The files could not be written."),
        ],
        about=(
            "The agent tries to write a workbook and slides with the tool for text, and gives up."
        ),
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "wrong_tool_selection": ["write_file writes text; for"],
            "premature_stop": ["deliverable:test_results.xlsx", "deliverable:readout.pptx"],
        },
    ),
    Script(
        name="reads-a-workbook-as-text",
        half="held_out",
        task="starter/tea-front-place",
        replies=[
            call("read_file", path="input/teas.xlsx"),
            call("read_file", path="input/teas.xlsx", offset=0, limit=20000),
            finish("Petra, let us put the Honey Orchid Oolong in front: it earns the most."),
        ],
        about=(
            "The agent reads the workbook with the tool for text, twice, and then guesses the tea."
        ),
        stage="execute",
        levels="A",
        labels={
            "wrong_tool_selection": ["is not a text file"],
            "missing_essential_tool": ["leaf:workbook_read"],
        },
        debatable=["type"],
    ),
    Script(
        name="answers-from-memory",
        half="written",
        task="starter/village-hall-choice",
        replies=[finish("The Church Room seats about 80 people and costs 150 EUR.")],
        about="The agent invents seats and price without a look at the list.",
        stage="plan",
        type="content_synthesis",
        levels="A",
        labels={"missing_essential_tool": ["leaf:list_read"]},
        debatable=["type"],
    ),
    Script(
        name="lists-and-guesses",
        half="written",
        task="starter/subject-line-winner",
        agent=STEPS,
        replies=[
            step("list_files", '{"path": "input"}'),
            step("Calculator", '{"expression": "500 * 0.284"}'),
            final("142 readers opened the newsletter with that subject line."),
        ],
        about="The agent never opens the result of the test and calculates with a guessed rate.",
        stage="reason",
        type="data_extraction",
        levels="A",
        labels={"missing_essential_tool": ["leaf:result_read"]},
        debatable=["stage"],
    ),
    Script(
        name="runs-a-failing-program-three-times",
        half="written",
        task="starter/mobile-library-tour",
        replies=[
            python(_ROUTE),
            python(_ROUTE),
            python(_ROUTE),
            finish("The solver is not installed."),
        ],
        about="The agent runs the same program three times though its package is not there.",
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "tool_planning_error": ["ModuleNotFoundError"],
            "loop": ["ModuleNotFoundError"],
            "premature_stop": ["deliverable:tour.json", "deliverable:driver_sheet.pdf"],
        },
    ),
    Script(
        name="insists-on-a-file-that-is-not-there",
        half="held_out",
        task="starter/hill-race-results",
        replies=[
            call("ReadCSV", path="input/finish_times_2024.csv"),
            call("list_files", path="input"),
            call("ReadCSV", path="input/finish_times_2024.csv"),
            call("Calculator", expression="65 + 6"),
            call("ReadCSV", path="input/finish_times_2024.csv"),
            call("ReadCSV", path="input/finish_times_2024.csv"),
            say("There are no finish times, so I cannot make the list."),
            say("There are no finish times, so there is no list."),
        ],
        about=(
            "The agent asks four times for a file that it made up, with other calls in between, "
            "and ends without either file."
        ),
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "tool_planning_error": ["finish_times_2024.csv"],
            "loop": ["finish_times_2024.csv"],
            "parameter_object_selection_error": ["finish_times_2024.csv"],
            "hallucinated_parameter": ["finish_times_2024.csv"],
            "premature_stop": [
                "deliverable:corrie_results.csv",
                "deliverable:corrie_results.html",
            ],
        },
    ),
]
