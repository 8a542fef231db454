"""Work that breaks down at a stage: not attempted, plan, execute, reason, refine, handoff."""

from tests.stages.diagnose.scripted.agents import (
    STEPS,
    Script,
    answer_of,
    call,
    final,
    finish,
    python,
    reference,
    say,
    step,
    varied,
)

_TOUR, _CLAIMS, _MENU, _RACE = (
    "starter/mobile-library-tour",
    "starter/travel-claim-rulings",
    "starter/wedding-menu-allergens",
    "starter/hill-race-results",
)
_RENAME = """
import os
os.rename("output/rulings.json", "output/Rulings final.json")
os.rename("output/letter_okafor.docx", "output/letter to Dr Okafor.docx")
"""
_BROKEN = """
open("output/test_results.xlsx", "w").write("Page;Orders\\nA;310\\nB;325\\n")
open("output/readout.pptx", "w").write("Slide 1: page B has won")
"""
_LATE = """
import json
tour = json.load(open("output/tour.json", encoding="utf-8"))
for stop in tour["tour"]:
    stop["arrive"] = "19" + stop["arrive"][2:]
    stop["drive_minutes"] = 99
tour["driving_minutes"], tour["back"], tour["waiting_minutes"] = 990, "23:00", 0
tour["base_driving_minutes"] = 900
json.dump(tour, open("output/tour.json", "w", encoding="utf-8"))
"""
_GUESSED_RACE = """
import csv
with open("output/corrie_results.csv", "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["Pos", "Bib", "Name", "Club", "Category", "Time", "Climb", "Descent", "Status"])
    for n in range(1, 72):
        times = ["1:30:00", "1:00:00", "0:30:00"]
        out.writerow([n, 100 + n, f"Runner {n}", "none", "M", *times, "OK"])
"""
_PAGE = "<h1>Corrie Round</h1><table id='podium'><tr><td>1</td><td>Runner 1</td></tr></table>"
_FORM_ALONE = {
    "id": "root",
    "requirement": "List and page have the form that the site needs.",
    "children": [
        {
            "id": "columns",
            "requirement": "The list has the columns of the site.",
            "verifier": {
                "kind": "check",
                "name": "csv_columns",
                "deliverable": "corrie_results.csv",
                "args": {"columns": ["Pos", "Bib", "Name", "Time"]},
            },
        },
        {
            "id": "once",
            "requirement": "No runner stands in the list twice.",
            "verifier": {
                "kind": "check",
                "name": "csv_unique",
                "deliverable": "corrie_results.csv",
                "args": {"columns": ["Bib"]},
            },
        },
        {
            "id": "ids",
            "requirement": "The podium has the id that the site links to.",
            "verifier": {
                "kind": "check",
                "name": "html_ids",
                "deliverable": "corrie_results.html",
                "args": {"ids": ["podium"]},
            },
        },
    ],
}
_AS_ORDERED = """
import csv, json
guests = list(csv.reader(open("input/guests.csv", encoding="utf-8-sig")))[1:]
made = {
    "dishes": [{"dish": d, "contains": [], "traces": []} for d in ("S1", "S2", "S3", "M1", "M2")],
    "guests": [{"guest": g[0], "starter": "S1", "main": "M1", "dessert": "D1"} for g in guests],
}
json.dump(made, open("output/allergens.json", "w"))
"""
_SORTED_BY_TABLE = """
import csv
head, *guests = csv.reader(open("output/guests.csv"))
guests = sorted({tuple(guest) for guest in guests}, key=lambda guest: (guest[1], guest[0]))
guests = guests + guests[:1]
csv.writer(open("output/clean.csv", "w", newline="")).writerows([head, *guests])
"""

SCRIPTS = [
    Script(
        name="does-nothing",
        half="written",
        agent="nop",
        task=_TOUR,
        replies=[],
        about="The agent ends at once.",
        stage="not_attempted",
        type="not_attempted",
        levels="AC",
    ),
    Script(
        name="replies-with-nothing",
        half="held_out",
        task="starter/fair-prices-worksheet",
        replies=[say(""), say(" "), say("\n")],
        about="Three replies of the agent are empty.",
        stage="not_attempted",
        type="not_attempted",
        levels="AC",
    ),
    Script(
        name="claims-to-be-done-at-once",
        half="written",
        task="pool/guest-list",
        replies=[call("claim_done")],
        about="The agent says that it is done before it has done anything.",
        stage="not_attempted",
        type="not_attempted",
        levels="AC",
    ),
    Script(
        name="finishes-with-a-blank",
        half="written",
        task="starter/offsite-plan",
        replies=[finish(" ")],
        about="The agent ends at once with a blank for an answer.",
        stage="not_attempted",
        type="not_attempted",
        levels="AC",
    ),
    Script(
        name="writes-a-plan-and-nothing-else",
        half="written",
        task="starter/spring-media-plan",
        replies=[
            say("My plan: 1. clean the export. 2. convert currencies. 3. build workbook and deck."),
            say(
                "My plan: 1. clean the export. 2. convert currencies. 3. build workbook and "
                "deck. Done."
            ),
        ],
        about="The agent writes down three steps of a plan and ends.",
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={"premature_stop": ["deliverable:media_plan.xlsx", "deliverable:media_plan.pptx"]},
    ),
    Script(
        name="runs-out-of-turns-before-the-sheet",
        half="written",
        task=_TOUR,
        replies=[
            call("read_file", path="input/planning_notes.md", limit=8000),
            call("write_file", path="output/tour.json", content='{"tour": []}'),
            call("read_file", path="input/mails.txt"),
            call("ReadCSV", path="input/stops.csv"),
            call("ReadXLSX", path="input/driving_times.xlsx", sheet="Minutes"),
        ],
        budget={"max_turns": 5},
        about="The agent writes an empty tour first and runs out of turns while it still reads.",
        stage="execute",
        type="not_attempted",
        levels="AC",
        debatable=["type"],
    ),
    Script(
        name="breaks-off-after-errors",
        half="written",
        task=_CLAIMS,
        agent=STEPS,
        replies=[
            step("read_file", '{"path": "input/okafor_mail.txt"}'),
            step("write_file", '{"path": "output/rulings.json", "content": "{}"}'),
            step("python_execute", '{"code": "import docx2pdf"}'),
            step("python_execute", '{"code": "print(1 / 0)"}'),
            step("python_execute", '{"code": "open(\\"input/letter.txt\\")"}'),
            final("The letter could not be made because the tools failed."),
            final("The letter could not be made because the tools failed, sorry."),
        ],
        about="The last three programs fail; the agent gives up with an empty file and no letter.",
        stage="execute",
        type="not_attempted",
        levels="AC",
        labels={
            "premature_stop": ["deliverable:letter_okafor.docx"],
            "parameter_object_selection_error": ["letter.txt"],
        },
        debatable=["type", "parameter_object_selection_error", "hallucinated_parameter"],
    ),
    Script(
        name="invents-the-results-of-a-race",
        half="written",
        task=_RACE,
        replies=[
            call("ReadCSV", path="input/mat_readings.csv", max_rows=20),
            python(_GUESSED_RACE),
            call("write_file", path="output/corrie_results.html", content=_PAGE),
            call("read_file", path="output/corrie_results.html"),
            finish("Runner 1 has won among women and men, in 1:30:00; 71 are in the ranking."),
        ],
        about="The agent delivers 71 made-up rows and a page with them, and reads the page's text.",
        stage="reason",
        type="content_synthesis",
        levels="AC",
        labels={"pseudo_verification": ["corrie_results.html"]},
    ),
    Script(
        name="serves-everybody-the-same",
        half="held_out",
        task=_MENU,
        replies=[
            call("ReadCSV", path="input/guests.csv"),
            python(_AS_ORDERED),
            call(
                "DocxFileGenerator",
                path="output/kitchen_sheet.docx",
                title="Kitchen",
                blocks=[{"type": "paragraph", "text": "S1, M1 and D1 for everybody."}],
            ),
            finish("No plate differs, and no guest needs a plate cooked apart."),
        ],
        about="The agent ignores recipes and allergies and gives every guest the same plates.",
        stage="reason",
        levels="AC",
        labels={"no_verification": ["kitchen_sheet.docx"]},
        debatable=["type", "dropped_items"],
    ),
    Script(
        name="gets-the-times-wrong",
        half="written",
        task=_TOUR,
        replies=[*reference(_TOUR), python(_LATE), finish("Please see the files.")],
        about="The agent's tour is right but for its times, and the answer says nothing.",
        stage="refine",
        levels="A",
        debatable=["type", "levels", "pseudo_verification"],
    ),
    Script(
        name="puts-one-line-too-many-on-a-sign",
        half="held_out",
        task="starter/reading-room-sign",
        replies=[
            call("read_file", path="input/note_from_marta.txt"),
            call(
                "write_file",
                path="output/sign.txt",
                content=(
                    "Reading Room\nOpen 9:00 to 17:30\nPlease keep your phone silent\n\n"
                    "Thank you! Marta\n"
                ),
            ),
            finish("The sign is written. The room is open from 9:00 to 17:30."),
        ],
        about="The agent copies the thanks of the note onto the sign; half of its leaves hold.",
        stage="refine",
        levels="A",
        debatable=["type", "stage"],
    ),
    Script(
        name="names-the-files-its-own-way",
        half="written",
        task=_CLAIMS,
        replies=[*reference(_CLAIMS), python(_RENAME), finish(answer_of(_CLAIMS))],
        about="The agent does everything right and gives both files names of its own.",
        stage="handoff",
        type="formatting",
        levels="AC",
    ),
    Script(
        name="saves-text-under-office-names",
        half="held_out",
        task="starter/kinopass-page-test",
        replies=[
            call("ReadCSV", path="input/orders.csv", max_rows=40),
            python(_BROKEN),
            call("list_files", path="output"),
            finish("Workbook and deck are ready: page B has won."),
        ],
        about=(
            "A program saves plain text under the names of workbook and deck; nothing opens them."
        ),
        stage="handoff",
        type="formatting",
        levels="AC",
        labels={"pseudo_verification": ["list_files"]},
        debatable=["wrong_tool_selection"],
    ),
    Script(
        name="leaves-the-guests-as-they-were",
        half="written",
        task="pool/guest-list",
        replies=[python(_SORTED_BY_TABLE), call("claim_done", answer="clean.csv is written.")],
        about="The agent sorts by table instead of by name and keeps a person twice.",
        stage="reason",
        type="content_synthesis",
        levels="A",
    ),
    Script(
        name="fails-on-a-foreign-task",
        half="written",
        task="pool/guest-list",
        replies=[
            python("import pandas as pd\nprint(pd.read_csv('guests.csv'))"),
            python("print(open('/workspace/guests.csv').read())"),
            call("filesystem_read", path="guests.csv"),
            call("claim_done", answer="The list could not be read."),
        ],
        about="The agent looks for the list in the wrong folder and calls a tool it does not have.",
        stage="execute",
        levels="A",
        labels={
            "hallucinated_tool": ["filesystem_read"],
            "parameter_object_selection_error": ["guests.csv"],
        },
        debatable=["type", "parameter_object_selection_error"],
    ),
    Script(
        name="bought-half-of-a-tour",
        half="written",
        agent="import",
        task=_TOUR,
        replies=[],
        results={
            "final.txt": "Granvik gets the stop.",
            "files/tour.json": '{"tour": [{"stop": "LUN"}, {"stop": "GRA"}]}',
        },
        about="An agent whose work nobody saw left two stops of ten and no sheet.",
        stage="handoff",
        levels="AC",
        labels={
            "dropped_items": ["leaf:length"],
            "premature_stop": ["deliverable:driver_sheet.pdf"],
        },
        debatable=["type", "stage"],
    ),
    Script(
        name="bought-files-of-another-form",
        half="written",
        agent="import",
        task=varied(_RACE, checkpoints=_FORM_ALONE, reference=None),
        replies=[],
        results={
            "final.txt": "List and page are ready.",
            "files/corrie_results.csv": "Runner,Result\nUna Laing,1:05:28\nUna Laing,1:05:28\n",
            "files/corrie_results.html": _PAGE,
        },
        about=(
            "An agent whose work nobody saw left both files; of three requirements of form one "
            "holds, and nothing shows where the work broke down."
        ),
        stage="undetermined",
        type="formatting",
        levels="AC",
    ),
    Script(
        name="bought-a-wrong-number",
        half="held_out",
        agent="import",
        task="starter/subject-line-winner",
        replies=[],
        results={"final.txt": "142 readers opened it."},
        about="An agent whose work nobody saw gives the number of the other subject line.",
        stage="reason",
        type="data_extraction",
        levels="A",
    ),
    Script(
        name="bought-a-page-and-an-excuse",
        half="written",
        agent="import",
        task=_RACE,
        replies=[],
        results={
            "final.txt": "Here is the page. You should now create the list from the readings.",
            "files/corrie_results.html": _PAGE,
        },
        about=(
            "An agent whose work nobody saw left a page with one runner and handed the list back."
        ),
        stage="handoff",
        levels="AC",
        labels={"handed_back": ["deliverable:corrie_results.csv"]},
        debatable=["type", "premature_stop"],
    ),
]
