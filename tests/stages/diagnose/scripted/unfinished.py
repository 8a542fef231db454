"""Work that ends early: a premature stop, the rest handed back, items dropped."""

from tests.stages.diagnose.scripted.agents import (
    STEPS,
    Script,
    call,
    final,
    finish,
    python,
    reference,
    say,
    step,
)

_TOUR, _RACE, _CLAIMS = (
    "starter/mobile-library-tour",
    "starter/hill-race-results",
    "starter/travel-claim-rulings",
)
_MENU = "starter/wedding-menu-allergens"
_FIRST_25 = """
lines = open("output/corrie_results.csv", encoding="utf-8").read().splitlines()
open("output/corrie_results.csv", "w", encoding="utf-8").write("\\n".join(lines[:26]) + "\\n")
page = open("output/corrie_results.html", encoding="utf-8").read()
open("output/corrie_results.html", "w", encoding="utf-8").write(page.split("<table")[0])
"""
_FIRST_9_GUESTS = """
import json
found = json.load(open("output/allergens.json", encoding="utf-8"))
found["guests"] = found["guests"][:9]
found["dishes"] = found["dishes"][:2]
json.dump(found, open("output/allergens.json", "w", encoding="utf-8"))
"""
_BARE_SHEET = {
    "path": "output/kitchen_sheet.docx",
    "title": "Kitchen",
    "blocks": [{"type": "paragraph", "text": "S1, S2 and the first nine guests."}],
}

SCRIPTS = [
    Script(
        name="reads-everything-and-stops",
        half="written",
        task=_CLAIMS,
        replies=[
            *reference(_CLAIMS)[:5],
            finish("I have read the rules and the claims and understand them now."),
        ],
        about="The agent reads both sets of rules and the claims, and ends there.",
        stage="plan",
        type="not_attempted",
        levels="AC",
        labels={
            "premature_stop": ["deliverable:rulings.json", "deliverable:letter_okafor.docx"],
        },
    ),
    Script(
        name="rules-on-the-claims-but-writes-no-letter",
        half="held_out",
        task=_CLAIMS,
        replies=[
            *reference(_CLAIMS)[:8],
            say("The rulings are ready for payroll."),
            say("The rulings are ready for payroll, in rulings.json."),
        ],
        about="The agent makes the file for payroll and ends without the letter.",
        stage="handoff",
        type="not_attempted",
        levels="AC",
        labels={"premature_stop": ["deliverable:letter_okafor.docx"]},
    ),
    Script(
        name="leaves-the-sheet-to-the-user",
        half="written",
        task=_TOUR,
        replies=[
            *reference(_TOUR)[:4],
            call("write_file", path="output/tour.json", content='{"tour": [{"stop": "LUN"}]}'),
            finish(
                "I made a beginning in tour.json. You can now add the other nine stops and then "
                "create the driver sheet from them."
            ),
        ],
        about="The agent writes one stop and tells the user to add the rest and make the sheet.",
        stage="handoff",
        levels="AC",
        labels={"handed_back": ["You can now add"], "dropped_items": ["leaf:length"]},
        debatable=["type", "stage", "premature_stop"],
    ),
    Script(
        name="asks-whether-to-write-the-letter",
        half="held_out",
        task=_CLAIMS,
        agent=STEPS,
        replies=[
            step("read_file", '{"path": "input/note_treasurer.txt"}'),
            step("write_file", '{"path": "output/rulings.json", "content": "{\\"lines\\": []}"}'),
            final("The file is begun. Shall I rule on all lines and write the letter, too?"),
            final("The file is begun. Shall I rule on all lines and write the letter, too?"),
        ],
        about="The agent writes an empty file and asks the user whether it should do the work.",
        stage="handoff",
        levels="AC",
        labels={"handed_back": ["Shall I rule"]},
        debatable=["type", "stage", "premature_stop"],
    ),
    Script(
        name="describes-the-pattern-for-the-rest",
        half="written",
        task=_MENU,
        replies=[
            call("ReadDOCX", path="input/recipes.docx"),
            call(
                "write_file",
                path="output/allergens.json",
                content='{"dishes": [{"dish": "S1", "contains": ["G"], "traces": []}], '
                '"guests": []}',
            ),
            call("DocxFileGenerator", **_BARE_SHEET),
            finish(
                "S1 shows how it is done. Please follow the same steps for the other eight dishes; "
                "the guests are left to you."
            ),
        ],
        about="The agent does one dish of nine and tells the user to do the others like it.",
        stage="reason",
        levels="AC",
        labels={
            "handed_back": ["follow the same steps"],
            "dropped_items": ["leaf:guests-number"],
            "no_verification": ["kitchen_sheet.docx"],
        },
        debatable=["type", "stage", "dropped_items"],
    ),
    Script(
        name="delivers-25-of-71-runners",
        half="written",
        task=_RACE,
        replies=[
            *reference(_RACE)[1:6],
            python(_FIRST_25),
            finish("The list is in corrie_results.csv."),
        ],
        about="The agent works out all runners and delivers the first 25; the page has no tables.",
        stage="reason",
        levels="AC",
        labels={
            "dropped_items": ["leaf:list-rows"],
            "no_verification": ["corrie_results.html"],
        },
        debatable=["type", "stage"],
    ),
    Script(
        name="delivers-9-of-24-guests",
        half="held_out",
        task=_MENU,
        replies=[
            *reference(_MENU)[:7],
            python(_FIRST_9_GUESTS),
            call("DocxFileGenerator", **_BARE_SHEET),
            finish("Tablets and sheet are ready."),
        ],
        about="The agent keeps nine of 24 guests and two of nine dishes, and a sheet that says so.",
        stage="reason",
        levels="AC",
        labels={
            "dropped_items": ["leaf:guests-number"],
            "no_verification": ["kitchen_sheet.docx"],
        },
        debatable=["type", "stage"],
    ),
]
