"""Errors of predicted arguments on atomic tasks (GTA, table 6)."""

from tests.stages.diagnose.scripted.agents import STEPS, Script, call, final, finish, raw, say, step

_TOYS, _HALL, _MAIL = (
    "starter/toy-library-week",
    "starter/village-hall-choice",
    "starter/subject-line-winner",
)
_READ_TOYS = '{"path": "input/loans_week_19.csv"}'
_QUERY_OF_HALL = (
    "Our choir thinks of the Church Room for its anniversary party. How many "
    "people does it seat, and\n"
    "what does it cost? It is on the list halls.csv.\n\nFiles:\ninput/halls.csv"
)
_QUERY_OF_MAIL = (
    "We tried two subject lines for our bakery's newsletter on a part of our "
    "readers; the result is in\n"
    'test_4_may.csv. How many readers opened the one with the line "Three new breads this Friday"?'
)

SCRIPTS = [
    Script(
        name="only-thinks",
        half="written",
        agent=STEPS,
        task=_HALL,
        replies=[
            say("Thought: The list of halls will say how many people the Church Room seats."),
            say("Thought: I should open the list and look for the Church Room there."),
            say("Thought: Then I compare seats and price, and tell the choir both."),
        ],
        about="The agent thinks three times and never writes an action.",
        stage="not_attempted",
        type="not_attempted",
        levels="AC",
        labels={"no_action": ["Thought: The list", "Thought: I should", "Thought: Then"]},
    ),
    Script(
        name="tells-what-it-is-going-to-do",
        half="held_out",
        agent=STEPS,
        task="starter/ferry-day-trip",
        replies=[
            step("read_file", '{"path": "input/legend.txt"}'),
            say("The next step is to find all sailings of a Saturday in the timetable."),
            say("Now it is time to compare the ships in the morning with the bus at 10:40."),
            say("Last, the return has to reach the train, so I would take the ship before it."),
        ],
        about="After one look the agent describes its next steps in prose and takes none of them.",
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={"no_action": ["The next step is", "Now it is time", "Last, the return"]},
    ),
    Script(
        name="begs-for-the-list",
        half="written",
        agent=STEPS,
        task=_HALL,
        replies=[
            say("Could you please share the list of the halls with me?"),
            say("Please upload halls.csv so that I can look at it."),
            say("I need more information about the Church Room. Can you send me the list?"),
        ],
        about="The agent asks the user for the file that is in its folder, three times.",
        stage="not_attempted",
        type="not_attempted",
        levels="AC",
        labels={"asks_user": ["Could you please share", "Please upload", "I need more"]},
    ),
    Script(
        name="answers-with-a-question",
        half="held_out",
        agent=STEPS,
        task="starter/hose-trade-price",
        replies=[
            step("list_files", '{"path": "input"}'),
            final("Which hose do you want, and could you tell me the discount that you get?"),
        ],
        about=(
            "The agent looks at the list of files and then asks the user for what is in the file."
        ),
        stage="reason",
        levels="A",
        labels={
            "asks_user": ["Which hose do you want"],
            "missing_essential_tool": ["leaf:terms_read"],
        },
        debatable=["type", "stage"],
    ),
    Script(
        name="forgets-the-braces",
        half="written",
        agent=STEPS,
        task=_TOYS,
        replies=[
            step("ReadCSV", "path: input/loans_week_19.csv"),
            step("ReadCSV", "{'path': input/loans_week_19.csv}"),
            step("ReadCSV", '{"path": "input/loans_week_19.csv"'),
            final("I could not open the table."),
        ],
        about="The agent's arguments are no JSON three times, each in another way.",
        stage="plan",
        type="data_extraction",
        levels="A",
        labels={"malformed_json": ["ReadCSV"], "parameter_type_error": ["ReadCSV"]},
        debatable=["parameter_type_error"],
    ),
    Script(
        name="sends-half-of-an-object",
        half="held_out",
        task=_MAIL,
        replies=[
            raw("ReadCSV", '{"path": "input/test_4_may.csv", "max_rows": }'),
            raw("ReadCSV", 'path="input/test_4_may.csv"'),
            finish("The result could not be opened."),
        ],
        about="The agent's native calls carry arguments that are no JSON, and it gives up.",
        stage="plan",
        type="data_extraction",
        levels="A",
        labels={"malformed_json": ["test_4_may.csv"], "parameter_type_error": ["test_4_may.csv"]},
        debatable=["parameter_type_error"],
    ),
    Script(
        name="calls-two-tools-in-one-reply",
        half="written",
        agent=STEPS,
        task=_TOYS,
        replies=[
            say(
                '{"name": "ReadCSV", "arguments": {"path": "input/loans_week_19.csv"}}\n'
                '{"name": "Calculator", "arguments": {"expression": "18 + 31"}}'
            ),
            say(
                '<tool_call>{"name": "ReadCSV", "arguments": {"path": "input/loans_week_19.csv"}}'
                '</tool_call>\n<tool_call>{"name": "list_files", "arguments": {}}</tool_call>'
            ),
            say(
                '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>\n'
                '<tool_call>{"name": "Calculator", "arguments": {"expression": "24 + '
                '42"}}</tool_call>'
            ),
            final("I do not know."),
        ],
        about="The agent writes two calls into one reply, three times, and then gives up.",
        stage="plan",
        type="data_extraction",
        levels="A",
        labels={
            "several_tools": ["18 + 31", "24 + 42"],
            "missing_essential_tool": ["leaf:table_read"],
        },
        debatable=["no_action"],
    ),
    Script(
        name="plans-all-its-calls-at-once",
        half="held_out",
        agent=STEPS,
        task="starter/fog-signal-station",
        replies=[
            say(
                '<tool_call>{"name": "ReadCSV", "arguments": {"path": "input/fog_signals.csv"}}'
                '</tool_call><tool_call>{"name": "Calculator", "arguments": {"expression": "24.7"}}'
                '</tool_call><tool_call>{"name": "list_files", "arguments": {"path": "input"}}'
                "</tool_call>"
            ),
            say(
                '<tool_call>{"name": "list_files", "arguments": {"path": "input"}}</tool_call>'
                '<tool_call>{"name": "ReadCSV", "arguments": {"path": "input/fog_signals.csv"}}'
                "</tool_call>"
            ),
            final("It is the station of Skarv."),
        ],
        about="The agent writes three calls at once, then two, and then guesses a station.",
        stage="plan",
        type="data_extraction",
        levels="A",
        labels={"several_tools": ["24.7", "fog_signals.csv"]},
        debatable=["missing_essential_tool", "type"],
    ),
    Script(
        name="explains-its-arguments-behind-them",
        half="written",
        task=_TOYS,
        replies=[
            raw("ReadCSV", _READ_TOYS + " I read the table to find the loans of Friday."),
            raw("ReadCSV", _READ_TOYS + "\n\nThis will show every day of the week."),
            finish("The table could not be read."),
        ],
        about="The agent writes a sentence behind valid arguments, twice, and gives up.",
        stage="plan",
        type="data_extraction",
        levels="A",
        labels={
            "redundant_text": ["I read the table", "This will show"],
            "parameter_type_error": ["I read the table"],
        },
        debatable=["parameter_type_error"],
    ),
    Script(
        name="appends-a-second-object",
        half="held_out",
        task=_MAIL,
        replies=[
            raw("ReadCSV", '{"path": "input/test_4_may.csv"}{"max_rows": 10}'),
            raw("read_file", '{"path": "input/test_4_may.csv"}</tool_call>'),
            finish("I have no result."),
        ],
        about=(
            "Behind valid arguments stands a second object, then a closing tag; the agent gives up."
        ),
        stage="plan",
        type="data_extraction",
        levels="A",
        labels={
            "redundant_text": ["max_rows", "</tool_call>"],
            "parameter_type_error": ["max_rows"],
        },
        debatable=["parameter_type_error"],
    ),
    Script(
        name="repeats-the-question",
        half="written",
        agent=STEPS,
        task=_HALL,
        replies=[
            say(_QUERY_OF_HALL),
            say("Task:\n" + _QUERY_OF_HALL),
            say(_QUERY_OF_HALL + "\n\nThe halls."),
        ],
        about="The agent writes the question back three times.",
        stage="not_attempted",
        type="not_attempted",
        levels="AC",
        labels={"repeated_prompt": ["Our choir thinks"]},
    ),
    Script(
        name="echoes-its-instructions",
        half="held_out",
        agent=STEPS,
        task=_MAIL,
        replies=[
            say("You asked:\n" + _QUERY_OF_MAIL),
            say(_QUERY_OF_MAIL + "\nFiles:\ninput/test_4_may.csv"),
            say("> " + _QUERY_OF_MAIL.replace("\n", "\n> ") + "\n" + _QUERY_OF_MAIL),
        ],
        about="The agent quotes the question instead of a step, in three forms.",
        stage="not_attempted",
        type="not_attempted",
        levels="AC",
        labels={"repeated_prompt": ["We tried two subject lines"]},
    ),
    Script(
        name="gives-the-answer-without-its-label",
        half="written",
        agent=STEPS,
        task=_TOYS,
        replies=[
            step("ReadCSV", _READ_TOYS),
            say("So the final answer is 42 toys."),
            say("The answer: 42"),
            say("My final answer: 42 toys were lent on Friday."),
        ],
        about="The agent knows the answer and never gives it in the form that it was told.",
        stage="handoff",
        type="formatting",
        levels="AC",
        labels={"wrong_final_format": ["So the final answer", "The answer: 42", "My final answer"]},
        debatable=["stage", "type"],
    ),
    Script(
        name="answers-with-another-step",
        half="held_out",
        task=_HALL,
        replies=[
            call("list_files", path="input"),
            say(
                "Thought: I open the list.\nAction: ReadCSV\n"
                'Action Input: {"path": "input/halls.csv"}'
            ),
        ],
        about="The agent's last reply is a step in another protocol, which counts as its answer.",
        stage="reason",
        levels="A",
        labels={
            "wrong_final_format": ["Action Input"],
            "missing_essential_tool": ["leaf:list_read"],
        },
        debatable=["stage", "type"],
    ),
]
