"""Faults of arguments (TOBench, table 4, Tool Parameter Error)."""

from tests.stages.diagnose.scripted.agents import Script, call, finish, raw

_NOTE = "# Note\n\nThe fridges were checked.\n"

SCRIPTS = [
    Script(
        name="words-where-a-number-belongs",
        half="written",
        task="starter/toy-library-week",
        replies=[
            call("ReadCSV", path="input/loans_week_19.csv", max_rows="all of them"),
            call("ReadCSV", path="input/loans_week_19.csv", start_row="Friday"),
            finish("I was not able to read the table."),
        ],
        about="The agent gives words where the tool wants whole numbers, twice, and gives up.",
        stage="plan",
        type="data_extraction",
        levels="A",
        labels={"parameter_type_error": ["all of them", "start_row"]},
    ),
    Script(
        name="arguments-as-a-list",
        half="held_out",
        task="starter/offsite-plan",
        replies=[
            call("list_files", path="input"),
            raw("ReadCSV", '["input/team_list.csv", 50]'),
            raw("ReadXLSX", '"input/venue_quotes.xlsx"'),
            raw("ReadCSV", '["input/train_fares.csv"]'),
            finish("The files could not be opened, so there is no comparison."),
        ],
        about="The agent sends lists and bare texts instead of named arguments, and gives up.",
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "parameter_type_error": ["input/team_list.csv", "venue_quotes.xlsx", "train_fares"],
            "premature_stop": [
                "deliverable:offsite_options.xlsx",
                "deliverable:offsite_proposal.pdf",
            ],
        },
    ),
    Script(
        name="asks-for-page-40-of-a-short-pdf",
        half="written",
        task="starter/device-recall-brief",
        replies=[
            call("ReadPDF", path="input/safety_notices.pdf", first_page=40, last_page=44),
            call("ReadPDF", path="input/flyer_medtrade.pdf", first_page=12),
            call("write_file", path="output/recall_page.html", content="<h1>Recall</h1>"),
            finish("The recalled devices are on the page."),
        ],
        about=(
            "The agent asks for pages that the notices do not have, and delivers an empty page "
            "without the list."
        ),
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "parameter_range_error": ["first_page"],
            "premature_stop": ["deliverable:ward_list.pdf"],
            "no_verification": ["recall_page.html"],
        },
        debatable=["type"],
    ),
    Script(
        name="skips-past-the-end-of-a-text",
        half="held_out",
        task="starter/pendulum-trace-feedback",
        replies=[
            call("read_file", path="input/matilda.txt", offset=90000),
            call("read_file", path="input/matilda.txt", offset=40000, limit=100),
            finish("Matilda's report looks fine to me."),
        ],
        about="The agent reads behind the end of a short text, twice, and answers without it.",
        stage="execute",
        levels="A",
        labels={"parameter_range_error": ["offset"]},
        debatable=["type", "missing_essential_tool"],
    ),
    Script(
        name="opens-a-sheet-that-is-not-there",
        half="written",
        task="starter/exam-board-marks",
        replies=[
            call("ReadXLSX", path="input/exam_marks.xlsx", sheet="Marker 3"),
            call("ReadXLSX", path="input/exam_marks.xlsx", sheet="Final"),
            call("ReadXLSX", path="input/exam_marks.xlsx", sheet="Results"),
            finish("The workbook has no marks that I could read."),
        ],
        about="The agent guesses names of sheets, none of which exists, and gives up.",
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "parameter_object_selection_error": ["Marker 3", "Final", "Results"],
            "premature_stop": ["deliverable:final_grades.xlsx", "deliverable:board_memo.docx"],
        },
    ),
    Script(
        name="looks-for-an-input-among-the-outputs",
        half="written",
        task="starter/village-hall-choice",
        replies=[
            call("ReadCSV", path="output/halls.csv"),
            call("read_file", path="halls.csv"),
            call("list_files", path="halls"),
            finish("I do not have the list of the halls."),
        ],
        about="The agent looks for the list in folders where it is not, and gives up.",
        stage="execute",
        levels="A",
        labels={"parameter_object_selection_error": ["output/halls.csv"]},
        debatable=["type"],
    ),
    Script(
        name="calculates-without-an-expression",
        half="written",
        task="starter/hose-trade-price",
        replies=[
            call("ReadPDF", path="input/nordhag_trade_prices_2026.pdf"),
            raw("Calculator", "{}"),
            raw("Calculator", "{}"),
            finish("The invoice comes to 1019.69 EUR."),
        ],
        about="The agent calls the calculator without an expression and forgets the discount.",
        stage="execute",
        levels="A",
        labels={"missing_parameter": ["Calculator"]},
        debatable=["type", "loop", "tool_planning_error"],
    ),
    Script(
        name="writes-a-note-without-its-text",
        half="held_out",
        task="starter/vaccine-fridge-week",
        replies=[
            call("read_file", path="input/protocol.md", limit=8000),
            call("write_file", path="output/incident_note.md"),
            call("write_file", content=_NOTE),
            call("write_file", path="output/incident_note.md", text=_NOTE),
            finish("The note did not get written."),
        ],
        about=(
            "The agent leaves out the text, then the path, then names the text wrongly, and ends "
            "without any of the three files."
        ),
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "missing_parameter": ["write_file"],
            "hallucinated_parameter": ["The fridges were checked"],
            "premature_stop": [
                "deliverable:batches.json",
                "deliverable:fridge_map.png",
                "deliverable:incident_note.md",
            ],
        },
    ),
    Script(
        name="invents-arguments-of-a-reader",
        half="written",
        task="starter/subject-line-winner",
        replies=[
            call("ReadCSV", path="input/test_4_may.csv", encoding="utf-8", separator=","),
            call("ReadCSV", path="input/test_4_may.csv", columns=["opened by"]),
            finish("Unfortunately I could not read the result of the test."),
        ],
        about="The agent gives a reader arguments that it does not have, and gives up.",
        stage="plan",
        type="data_extraction",
        levels="A",
        labels={"hallucinated_parameter": ["separator", "columns"]},
    ),
    Script(
        name="asks-for-a-doughnut",
        half="written",
        task="starter/harvest-pie",
        replies=[
            call("ReadCSV", path="input/harvest_2025.csv"),
            call(
                "Plot",
                path="output/harvest_2025.png",
                kind="doughnut",
                x=["potatoes", "tomatoes"],
                series=[{"name": "kg", "values": [412.5, 238]}],
            ),
            call(
                "Plot",
                path="output/harvest_2025.png",
                kind="donut",
                x=["potatoes", "tomatoes"],
                series=[{"name": "kg", "values": [412.5, 238]}],
            ),
            finish("The picture cannot be drawn with this tool."),
        ],
        about="The agent asks for kinds of charts that the tool does not have, and gives up.",
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "hallucinated_parameter": ["doughnut", "donut"],
            "premature_stop": ["deliverable:harvest_2025.png"],
        },
    ),
    Script(
        name="makes-up-the-name-of-a-file",
        half="written",
        task="starter/fair-prices-worksheet",
        replies=[
            call("read_file", path="input/price_survey_2031.txt"),
            call("ReadDOCX", path="input/teacher_solutions.docx"),
            finish("I found no worksheet."),
        ],
        about="The agent asks for two files of which nobody told it, and gives up.",
        stage="execute",
        levels="A",
        labels={
            "parameter_object_selection_error": ["price_survey_2031", "teacher_solutions"],
            "hallucinated_parameter": ["price_survey_2031", "teacher_solutions"],
        },
        debatable=["type"],
    ),
]
