"""Work that is handed over without a look at it (TOBench, table 4, Self-Verification Error)."""

from tests.stages.diagnose.scripted.agents import (
    SEEING_CALLS,
    Script,
    answer_of,
    call,
    finish,
    python,
    reference,
)

_BENCH = "starter-closed-loop/harbour-bench-plaque"
_SLIDES = "starter-closed-loop/bike-care-slides"
_NOTICE = "starter-closed-loop/plot-water-notice"
_TILL = "starter-closed-loop/bakery-week-takings"
_CROOKED = """
from PIL import Image, ImageDraw
picture = Image.new("RGB", (1200, 600), "white")
ImageDraw.Draw(picture).line([(0, 500), (600, 100), (1200, 450)], fill="black", width=4)
picture.save("output/profile.png")
"""
_SAVE = {"presentation_id": "presentation_1", "file_path": "output/bike_care.pptx"}

SCRIPTS = [
    Script(
        name="hands-over-slides-unseen",
        half="written",
        task=_SLIDES,
        agent=SEEING_CALLS,
        replies=[*reference(_SLIDES)[:11], finish(answer_of(_SLIDES))],
        about=(
            "The agent builds the four slides, saves them and ends; the text of the "
            "second one runs "
            "off the slide, and nobody has looked."
        ),
        stage="refine",
        type="formatting",
        levels="ABC",
        labels={
            "no_verification": ["save_presentation"],
            "missing_essential_tool": ["leaf:looked"],
        },
    ),
    Script(
        name="draws-the-caption-and-ends",
        half="held_out",
        task=_BENCH,
        agent=SEEING_CALLS,
        replies=[*reference(_BENCH)[:3], finish(answer_of(_BENCH))],
        about=(
            "The agent looks at the input, draws a caption that is cut at the right edge, forgets "
            "the mark, and ends without a look at the result."
        ),
        stage="refine",
        type="formatting",
        levels="ABC",
        labels={"no_verification": ["draw_text"]},
    ),
    Script(
        name="only-lists-the-finished-notice",
        half="written",
        task=_NOTICE,
        agent=SEEING_CALLS,
        replies=[
            *reference(_NOTICE)[:13],
            call("list_files", path="output"),
            finish("Both files are there, on one page. Plot 17: Tuesday and Friday, 6:00 to 8:00."),
        ],
        about=(
            "The agent writes the notice on two pages, checks that both files exist, and calls "
            "that one page."
        ),
        stage="refine",
        type="formatting",
        levels="ABC",
        labels={
            "pseudo_verification": ["list_files"],
            "missing_essential_tool": ["leaf:looked"],
        },
    ),
    Script(
        name="reads-the-sheet-but-never-looks",
        half="held_out",
        task=_TILL,
        agent=SEEING_CALLS,
        replies=[
            *reference(_TILL)[:5],
            call("read_range", path="output/week6.xlsx", sheet="Takings", range="A1:E8"),
            call("list_files", path="."),
            finish("week6.xlsx is done: 1,946.95 euros, and Saturday was the best day."),
        ],
        about=(
            "The agent fills the sheet with a receipt counted twice and without its chart, reads "
            "the cells back and lists the file, and never looks at it."
        ),
        stage="refine",
        levels="ABC",
        labels={
            "pseudo_verification": ["list_files"],
            "missing_essential_tool": ["leaf:looked"],
        },
        debatable=["type", "stage"],
    ),
    Script(
        name="draws-a-bar-over-the-bench-after-the-look",
        half="written",
        task=_BENCH,
        agent=SEEING_CALLS,
        replies=[
            *reference(_BENCH)[:2],
            reference(_BENCH)[4],
            reference(_BENCH)[3],
            call(
                "draw_text",
                input_path="output/bench_page.png",
                output_path="output/bench_page.png",
                text="SOLHEIM BENCH",
                x=20,
                y=60,
                scale=2.0,
                color="255,255,255",
                thickness=8,
            ),
            finish(answer_of(_BENCH)),
        ],
        about=(
            "The agent looks at the picture with its caption, then writes more into the sky and "
            "does not look again. The bench is not marked."
        ),
        stage="refine",
        type="formatting",
        levels="ABC",
        labels={"incomplete_verification": ["SOLHEIM BENCH"]},
    ),
    Script(
        name="adds-to-the-slides-after-the-look",
        half="held_out",
        task=_SLIDES,
        agent=SEEING_CALLS,
        replies=[
            *reference(_SLIDES)[:5],
            reference(_SLIDES)[12],
            *reference(_SLIDES)[6:10],
            call("save_presentation", **_SAVE),
            call("view_file", path="output/bike_care.pptx", page=1, count=4),
            reference(_SLIDES)[5],
            call("save_presentation", **_SAVE),
            finish("The deck is ready."),
        ],
        about=(
            "The agent looks at four sound slides, then puts long text onto the second one, which "
            "runs off the slide, and saves without another look."
        ),
        stage="refine",
        levels="ABC",
        labels={"incomplete_verification": ["save_presentation"]},
        debatable=["type", "stage"],
    ),
    Script(
        name="hands-over-signs-and-profile-unseen",
        half="written",
        task="starter/three-tarns-signposts",
        replies=[
            call("ReadPDF", path="input/signing_standard.pdf"),
            call("ReadXLSX", path="input/posts.xlsx", sheet="Posts"),
            call(
                "PdfFileGenerator",
                path="output/signs.pdf",
                title="Three Tarns Path",
                blocks=[{"type": "paragraph", "text": "Hawsby 180 m, Low Tarn 1 h, High Tarn 2 h"}],
            ),
            python(_CROOKED),
            finish("Signs and profile are done. The ascent is 400 m and takes 4 h."),
        ],
        about=(
            "The agent skips log and mail, guesses the times, draws a line for the profile and "
            "hands both over without a look."
        ),
        stage="reason",
        levels="AC",
        labels={
            "no_verification": ["signs.pdf", "profile.png"],
            "dropped_items": ["leaf:sign-halt"],
        },
        debatable=["type"],
    ),
]
