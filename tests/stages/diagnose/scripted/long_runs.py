"""Faults of long runs: loops, too long results, a lost context, wasted effort."""

import json
from dataclasses import replace

from tests.stages.diagnose.scripted.agents import (
    STEPS,
    Script,
    call,
    final,
    finish,
    python,
    raw,
    say,
    step,
)
from tests.wire_server import WireServer

_TOUR, _RACE, _CLAIMS = (
    "starter/mobile-library-tour",
    "starter/hill-race-results",
    "starter/travel-claim-rulings",
)
_FERRY, _MENU = "starter/ferry-day-trip", "starter/wedding-menu-allergens"
_MUCH = "for n in range(30_000):\n    print('reading', n, 'of the survey')\n"
_WORSE = "print(open('input/skerry_line_summer_2026.csv').read() * 90)"
_FAILING = [
    "import pandas as pd\nprint(pd.read_csv('input/mat_readings.csv')['bib'].unique())",
    "import pandas as pd\nprint(pd.read_csv('input/mat_readings.csv')['Number'].unique())",
    "import csv\nprint(next(csv.DictReader(open('input/mat_readings.csv')))['runner'])",
    "rows = open('input/mat_readings.csv').read().split()\nprint(rows[99999])",
    "print(int('x'))",
    "raise SystemExit('no idea what the columns are')",
]

SCRIPTS = [
    Script(
        name="reads-the-timetable-again-and-again",
        half="written",
        task=_FERRY,
        replies=[call("ReadCSV", path="input/skerry_line_summer_2026.csv")] * 6,
        budget={"max_turns": 6},
        about="The agent reads the same timetable six times, until its turns are used up.",
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={"loop": ["skerry_line_summer_2026.csv"]},
    ),
    Script(
        name="goes-round-in-circles-of-three",
        half="held_out",
        task=_CLAIMS,
        agent=STEPS,
        replies=[
            step("list_files", '{"path": "."}'),
            step("read_file", '{"path": "input/note_treasurer.txt"}'),
            step("ReadCSV", '{"path": "input/exchange_rates.csv"}'),
        ]
        * 4,
        budget={"max_turns": 12},
        about=(
            "The agent goes through the same three looks four times, until its turns are used up."
        ),
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={"loop": ["note_treasurer.txt", "exchange_rates.csv"]},
    ),
    Script(
        name="announces-the-same-plan-three-times",
        half="written",
        task=_TOUR,
        agent=STEPS,
        replies=[
            step("list_files", '{"path": "input"}'),
            *[say("I will first study the notes and then plan the tour for Margit.")] * 3,
        ],
        about=("The agent looks at the list of files and then says the same sentence three times."),
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={"loop": ["I will first study"]},
    ),
    Script(
        name="prints-the-same-line-30000-times",
        half="written",
        task="starter/meal-kit-survey-landing",
        replies=[
            call("ReadCSV", path="input/survey_export.csv", max_rows=20),
            python(_MUCH),
            finish("There is too much to read."),
        ],
        about="The agent prints a line for each of 30,000 numbers and gives up.",
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={
            "overlong_output": ["characters left out"],
            "premature_stop": ["deliverable:landing.html", "deliverable:segments.json"],
        },
        debatable=["stage"],
    ),
    Script(
        name="prints-a-timetable-90-times",
        half="held_out",
        task=_FERRY,
        agent=STEPS,
        replies=[
            step("python_execute", json.dumps({"code": _WORSE})),
            final("She takes the ship at 9:15 and returns at 17:00, 255 minutes."),
        ],
        about="The agent prints the timetable ninety times over and then guesses the ships.",
        stage="reason",
        levels="A",
        labels={"overlong_output": ["characters left out"]},
        debatable=["type"],
    ),
    Script(
        name="writes-a-page-that-is-cut-off",
        half="written",
        task="starter/handball-sponsor-renewal",
        replies=[
            raw(
                "write_file",
                '{"path": "output/season_report.html", "content": "<h1>Season report '
                "2025/26</h1><p>We",
                stop="length",
            ),
            raw(
                "write_file",
                '{"path": "output/season_report.html", "content": "<h1>Season report</h1><p>All',
                stop="length",
            ),
            finish("The report is too long for me to write."),
        ],
        about=(
            "Two replies are cut at their length limit in the middle of a page; the agent gives up."
        ),
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={
            "cut_off_reply": ["write_file"],
            "premature_stop": ["deliverable:season_report.html", "deliverable:renewal_offer.docx"],
        },
        debatable=["stage"],
    ),
    Script(
        name="thinks-until-the-reply-is-cut",
        half="held_out",
        task="starter/lab-move-schedule",
        agent=STEPS,
        replies=[
            step("list_files", '{"path": "input"}'),
            say("Thought: The steering group wants the move planned, so let me go", stop="length"),
            say("Thought: Let me think about the conventions once more, first", stop="length"),
            say("Thought: On the one hand the movers come on Monday, on the other", stop="length"),
        ],
        about="The agent's thoughts are cut at the length limit three times before it acts.",
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={"cut_off_reply": ["on the other", "once more", "let me go"]},
        debatable=["stage"],
    ),
    Script(
        name="reads-again-what-it-had-read",
        half="written",
        task=_RACE,
        settings={"window_tokens": 8_000},
        budget={"max_reply_tokens": 500},
        replies=[
            call("read_file", path="input/race_rules.md", limit=8000),
            call("read_file", path="input/crew_log.txt"),
            replace(call("ReadCSV", path="input/chips.csv"), tokens=7_900),
            call("read_file", path="input/race_rules.md", limit=8000),
            call("read_file", path="input/crew_log.txt"),
            finish("I do not know yet who won."),
        ],
        about=(
            "When its context is cut the agent has read rules and log; it reads both once more as "
            "if it never had, and ends without a result."
        ),
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={
            "lost_context": ["race_rules.md", "crew_log.txt"],
            "premature_stop": [
                "deliverable:corrie_results.csv",
                "deliverable:corrie_results.html",
            ],
        },
    ),
    Script(
        name="writes-the-same-rulings-again",
        half="written",
        task=_CLAIMS,
        settings={"window_tokens": 8_000},
        budget={"max_reply_tokens": 500},
        replies=[
            call("read_file", path="input/note_treasurer.txt"),
            call("write_file", path="output/rulings.json", content='{"claims": [], "lines": []}'),
            replace(call("ReadXLSX", path="input/claims.xlsx", sheet="Lines"), tokens=7_900),
            call("read_file", path="input/note_treasurer.txt"),
            call("write_file", path="output/rulings.json", content='{"claims": [], "lines": []}'),
            finish("The rulings are in the file."),
        ],
        about=(
            "After its context was cut the agent reads the note once more and writes the "
            "same empty "
            "file once more; the letter is never written."
        ),
        stage="handoff",
        labels={
            "lost_context": ["note_treasurer.txt", "rulings.json"],
            "premature_stop": ["deliverable:letter_okafor.docx"],
        },
        debatable=["type", "stage", "dropped_items"],
    ),
    Script(
        name="asks-for-the-task-after-a-cut",
        half="held_out",
        task=_MENU,
        agent=STEPS,
        settings={"window_tokens": 9_000},
        budget={"max_reply_tokens": 500},
        replies=[
            step("ReadDOCX", '{"path": "input/kitchen_rules.docx"}'),
            step("ReadDOCX", '{"path": "input/recipes.docx"}'),
            replace(step("ReadCSV", '{"path": "input/guests.csv"}'), tokens=8_900),
            final("Could you please send me the kitchen rules and the recipes?"),
            final(
                "Could you please send me the kitchen rules and the recipes? I do not have them."
            ),
        ],
        about="After its context was cut the agent asks the user for the files that it had read.",
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={
            "lost_context": ["Could you please send me"],
            "premature_stop": ["deliverable:allergens.json", "deliverable:kitchen_sheet.docx"],
        },
    ),
    Script(
        name="begins-again-after-a-cut",
        half="held_out",
        task="starter/vaccine-fridge-week",
        settings={"window_tokens": 7_000},
        budget={"max_turns": 8, "max_reply_tokens": 400},
        replies=[
            call("list_files", path="input"),
            call("ReadCSV", path="input/stock.csv"),
            call("read_file", path="input/handover_note.txt"),
            replace(call("ReadCSV", path="input/fridge1.csv", max_rows=5), tokens=6_900),
            call("ReadCSV", path="input/stock.csv"),
            call("ReadCSV", path="input/fridge1.csv", max_rows=5),
            call("read_file", path="input/handover_note.txt"),
            call("ReadCSV", path="input/fridge3.csv", max_rows=5),
        ],
        about="After its context was cut the agent starts over with the same three files.",
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={"lost_context": ["stock.csv", "handover_note.txt"]},
    ),
    Script(
        name="spends-its-turns-on-failing-programs",
        half="written",
        task=_RACE,
        replies=[call("list_files", path="input"), *map(python, _FAILING)],
        budget={"max_turns": 7},
        about="Six programs in a row fail, each in another way, until the turns are used up.",
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={"budget_spent_on_retries": ["no idea what the columns are", "int('x')"]},
    ),
    Script(
        name="spends-its-turns-on-wrong-arguments",
        half="held_out",
        task=_TOUR,
        agent=STEPS,
        replies=[
            step("ReadXLSX", '{"path": "input/driving_times.xlsx", "sheet": "Minutes"}'),
            step("Solver", '{"expression": "x + 1"}'),
            step("Solver", '{"equations": "x = 1", "unknowns": 3}'),
            step("Solver", "{}"),
            step("PdfFileGenerator", '{"path": "output/driver_sheet.pdf", "blocks": "tour"}'),
            step("PdfFileGenerator", '{"path": "output/driver_sheet.pdf"}'),
        ],
        budget={"max_turns": 6},
        about="Five calls in a row have wrong arguments, until the turns are used up.",
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "budget_spent_on_retries": ["Solver", "PdfFileGenerator"],
            "missing_parameter": ["Solver", "PdfFileGenerator"],
            "hallucinated_parameter": ["expression"],
            "parameter_type_error": ["unknowns"],
        },
        debatable=["hallucinated_parameter", "missing_parameter", "parameter_type_error"],
    ),
    Script(
        name="is-refused-by-its-provider",
        half="written",
        task=_TOUR,
        replies=[
            call("list_files", path="input"),
            WireServer.fails(400, "This content is not allowed", code="content_policy_violation"),
        ],
        about="After the first look the provider refuses to go on with the conversation.",
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={"agent_base_model_issue": ["The provider refused"]},
        debatable=["stage"],
    ),
    Script(
        name="is-told-that-its-conversation-is-too-long",
        half="held_out",
        task="starter/hose-trade-price",
        replies=[
            WireServer.fails(400, "too long", code="context_length_exceeded"),
        ]
        * 4,
        about="The provider says at once that the conversation does not fit the model.",
        stage="not_attempted",
        type="not_attempted",
        levels="AC",
        labels={"agent_base_model_issue": ["The conversation cannot go on"]},
        debatable=["stage"],
    ),
]
