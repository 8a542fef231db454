"""Agents that succeed, some of them after a fault that they mend: no label fits any of them."""

from tests.stages.diagnose.scripted.agents import (
    SEEING_CALLS,
    STEPS,
    Script,
    answer_of,
    call,
    final,
    finish,
    python,
    raw,
    reference,
    say,
    step,
)

_BENCH = "starter-closed-loop/harbour-bench-plaque"
_NOTICE = "starter-closed-loop/plot-water-notice"
_TOUR, _CLAIMS = "starter/mobile-library-tour", "starter/travel-claim-rulings"
_TIDY = """
import csv
head, *guests = csv.reader(open("output/guests.csv"))
csv.writer(open("output/clean.csv", "w", newline="")).writerows(
    [head, *sorted({tuple(guest) for guest in guests})]
)
import os; os.remove("output/guests.csv")
"""

SCRIPTS = [
    Script(
        name="reads-and-answers",
        half="written",
        task="starter/toy-library-week",
        replies=[call("ReadCSV", path="input/loans_week_19.csv"), finish("You lent 42 toys.")],
        about="The agent reads the table and answers.",
        levels="",
    ),
    Script(
        name="looks-mends-and-looks-again",
        half="written",
        task=_BENCH,
        agent=SEEING_CALLS,
        replies=[*reference(_BENCH), finish(answer_of(_BENCH))],
        about="The agent sees that its caption is cut off, mends it and looks again.",
        levels="",
    ),
    Script(
        name="mends-the-second-page",
        half="held_out",
        task=_NOTICE,
        agent=SEEING_CALLS,
        replies=[*reference(_NOTICE), finish(answer_of(_NOTICE))],
        about="The agent sees a second page, takes the page break out and looks again.",
        levels="",
    ),
    Script(
        name="tries-another-sheet-and-succeeds",
        half="written",
        task=_TOUR,
        replies=[
            call("ReadXLSX", path="input/driving_times.xlsx", sheet="Hours"),
            call("read_file", path="input/planning_notes.txt"),
            call("RoutePlanner", stops=["LUN"]),
            *reference(_TOUR),
            finish(answer_of(_TOUR)),
        ],
        about=(
            "The agent opens a sheet and a file that are not there and calls a tool that does not "
            "exist; then it does everything right."
        ),
        levels="",
    ),
    Script(
        name="mends-its-json-and-succeeds",
        half="written",
        agent=STEPS,
        task="starter/village-hall-choice",
        replies=[
            step("ReadCSV", "{path: input/halls.csv}"),
            say("Thought: That was no JSON."),
            step("ReadCSV", '{"path": "input/halls.csv"}'),
            final("The Church Room seats 60 people and costs 110 EUR."),
        ],
        about="The agent's first arguments are no JSON, then it only thinks, then it succeeds.",
        levels="",
    ),
    Script(
        name="retries-a-program-and-succeeds",
        half="written",
        task="pool/guest-list",
        replies=[
            python("print(open('guests.csv').read())"),
            python("print(open('guests.csv').read())"),
            python("print(open('guests.csv').read())"),
            python(_TIDY),
            call("claim_done", answer="clean.csv is written."),
        ],
        about="The same program fails three times; another one writes the right file.",
        levels="",
    ),
    Script(
        name="succeeds-without-a-look",
        half="held_out",
        task=_CLAIMS,
        replies=[*reference(_CLAIMS)[:10], finish(answer_of(_CLAIMS))],
        about="The agent writes both files right and does not look at either.",
        levels="",
    ),
    Script(
        name="reads-twice-and-succeeds",
        half="written",
        agent=STEPS,
        task="starter/subject-line-winner",
        replies=[
            *[step("ReadCSV", '{"path": "input/test_4_may.csv"}')] * 3,
            final("187 readers opened the newsletter with that line."),
        ],
        about="The agent reads the same table three times and answers right.",
        levels="",
    ),
    Script(
        name="asks-for-no-more-and-succeeds",
        half="written",
        task="starter/reading-room-sign",
        replies=[
            raw("read_file", "{}"),
            call("read_file", path="input/note_from_marta.txt"),
            call(
                "write_file",
                path="output/sign.txt",
                content="Reading Room\nOpen 9:00 to 17:30\nPlease keep your phone silent\n",
            ),
            finish("The room is open from 9:00 to 17:30. Would you like me to print it, too?"),
        ],
        about="The agent forgets an argument once, writes the sign and offers to do more.",
        levels="",
    ),
    Script(
        name="draws-a-pie-at-the-second-try",
        half="held_out",
        task="starter/harvest-pie",
        replies=[
            call("Plot", path="output/harvest_2025.png", kind="pie", labels=["potatoes"]),
            call("ReadCSV", path="input/harvest.csv"),
            *reference("starter/harvest-pie"),
            finish(answer_of("starter/harvest-pie")),
        ],
        about=(
            "The agent's first plot has an argument that there is not, its first file is "
            "not there; "
            "then it draws the pie."
        ),
        levels="",
    ),
    Script(
        name="reads-the-prices-twice",
        half="held_out",
        agent=STEPS,
        task="starter/hose-trade-price",
        replies=[
            step("ReadPDF", '{"path": "input/nordhag_trade_prices_2026.pdf", "first_page": 9}'),
            *[step("ReadPDF", '{"path": "input/nordhag_trade_prices_2026.pdf"}')] * 2,
            say("Let me think: 5 rolls, 4 packs, and the terms on the last page."),
            final("The invoice will come to 998.86 EUR."),
        ],
        about=(
            "The agent asks for a page that there is not, reads the list twice, thinks "
            "once without "
            "an action, and answers right."
        ),
        levels="",
    ),
    Script(
        name="logs-the-word-error-and-succeeds",
        half="written",
        task="pool/guest-list",
        replies=[
            python(_TIDY + "print('errors: none; last error: -; error rate 0.0 %')\n"),
            call("claim_done", answer="clean.csv is written, without an error."),
        ],
        about="The agent's program logs the word error three times, and nothing failed.",
        levels="",
    ),
    Script(
        name="succeeds-but-for-a-detail",
        half="written",
        task=_TOUR,
        replies=[*reference(_TOUR)[:7], finish("The tour is in tour.json.")],
        about="Everything is right but the answer, which names neither village nor minutes.",
    ),
]
