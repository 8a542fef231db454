"""Faults of perception and of judgement, which no rule decides (TOBench, table 4)."""

import hashlib
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.task import Capability, Category, InputFile, Task, Tier
from tests.stages.diagnose.scripted.agents import (
    SEEING_CALLS,
    Given,
    Script,
    call,
    finish,
    reference,
)


def _lamp(folder: Path) -> Given:
    """Return a task about a video of five seconds, in which a lamp turns from green to red."""
    path = folder / "lamp.mp4"
    video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), 10, (160, 120))
    for frame in range(50):
        picture = np.full((120, 160, 3), 255, np.uint8)
        cv2.circle(picture, (80, 60), 40, (0, 160, 0) if frame < 35 else (0, 0, 220), -1)
        video.write(picture)
    video.release()
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    check = Check(name="answer_number", args={"expected": 3.5, "tolerance": 0.3})
    task = Task(
        id="lamp-turns-red",
        tier=Tier.ATOMIC,
        category=Category.DATA_ANALYSIS,
        capabilities=(Capability.PERCEPTION,),
        title="When a lamp turns red",
        query="At which second does the lamp in lamp.mp4 turn red?",
        files=(InputFile(path="lamp.mp4", sha256=sha256, size_bytes=path.stat().st_size),),
        tools=("view_file", "list_files", "finish"),
        checkpoints=Checkpoint(id="root", requirement="The second is right.", verifier=check),
    )
    return Given(task, {sha256: path})


_BENCH = "starter-closed-loop/harbour-bench-plaque"


SCRIPTS = [
    Script(
        name="misreads-the-name-on-the-picture",
        half="written",
        task=_BENCH,
        agent=SEEING_CALLS,
        replies=[
            *reference(_BENCH)[:2],
            *reference(_BENCH)[4:7],
            finish(
                "bench_page.png is done. I read in the picture: In memory of Ingrid Solhelm, who "
                "swam here every morning."
            ),
        ],
        about="The agent looks at the finished picture and misreads a letter of the name on it.",
        stage="refine",
        levels="AB",
        labels={"fine_grained_perception": ["Ingrid Solhelm"]},
        debatable=["type", "levels"],
    ),
    Script(
        name="marks-the-sea-instead-of-the-bench",
        half="written",
        task=_BENCH,
        agent=SEEING_CALLS,
        replies=[
            *reference(_BENCH)[:2],
            reference(_BENCH)[4],
            call(
                "DrawBox",
                image="output/bench_page.png",
                bbox="(300, 220, 390, 270)",
                path="output/bench_page.png",
            ),
            reference(_BENCH)[6],
            finish(
                "The bench is marked. Its caption reads: In memory of Ingrid Solheim, who swam "
                "here every morning."
            ),
        ],
        about="The agent looks at the picture and puts the mark onto the sea beside the boat.",
        stage="refine",
        levels="ABC",
        labels={"visual_spatial_understanding": ["(300, 220, 390, 270)"]},
        debatable=["type"],
    ),
    Script(
        name="takes-the-caption-from-the-picture-alone",
        half="written",
        task=_BENCH,
        agent=SEEING_CALLS,
        replies=[
            reference(_BENCH)[1],
            replace(
                reference(_BENCH)[4],
                calls=(
                    (
                        "draw_text",
                        {
                            "input_path": "input/bench.png",
                            "output_path": "output/bench_page.png",
                            "text": "A bench by the sea",
                            "x": 60,
                            "y": 467,
                            "scale": 0.7,
                            "color": "255,255,255",
                            "thickness": 2,
                        },
                    ),
                ),
            ),
            *reference(_BENCH)[5:7],
            finish("bench_page.png is done. Its caption reads: A bench by the sea."),
        ],
        about=(
            "The agent looks at the picture, but not at Liv's request, which has the words that "
            "belong on it."
        ),
        stage="refine",
        levels="ABC",
        labels={"cross_modal_fusion": ["A bench by the sea"]},
        debatable=["type", "stage"],
    ),
    Script(
        name="describes-a-picture-it-was-not-shown",
        half="written",
        task=_BENCH,
        replies=[
            *reference(_BENCH)[:3],
            call("view_file", path="output/bench_page.png"),
            finish(
                "I can see in the picture that the caption is whole and the bench is marked: In "
                "memory of Ingrid Solheim, who swam here every morning."
            ),
        ],
        about=(
            "The model is shown no pictures and is told so; it says what it sees in one. The "
            "caption is cut off, and there is no mark."
        ),
        stage="refine",
        type="formatting",
        levels="ABC",
        labels={
            "multimodal_hallucination": ["I can see in the picture"],
            "pseudo_verification": ["view_file"],
        },
    ),
    Script(
        name="names-the-wrong-second-of-a-video",
        half="written",
        task=_lamp,
        agent=SEEING_CALLS,
        replies=[
            call("view_file", path="input/lamp.mp4", count=4),
            finish("The lamp turns red at second 1."),
        ],
        about="The agent looks at frames of the video and names a second when the lamp is green.",
        stage="reason",
        levels="A",
        labels={"video_temporal_understanding": ["The lamp turns red at second 1"]},
        debatable=["type", "stage"],
    ),
    Script(
        name="recommends-the-tea-that-runs-out",
        half="written",
        task="starter/tea-front-place",
        replies=[
            call("ReadXLSX", path="input/teas.xlsx"),
            finish(
                "Petra, let us put the Honey Orchid Oolong in front: it leaves the most per tin. "
                "The next best tea leaves only 9.29 EUR, though 587 tins of it will be there."
            ),
        ],
        about="The agent has the numbers and recommends the tea that breaks the rule of 500 tins.",
        stage="reason",
        type="reasoning",
        levels="A",
        debatable=["stage"],
    ),
]
