"""A scripted stand-in for the model that builds tasks: it plays its part for our own seeds only.

It speaks OpenAI's chat completions, so the pipeline calls it like any provider and nothing of the
pipeline is bypassed. What it says was written by hand in `answers/`, one file per seed; some of it
is deliberately wrong, to show what the pipeline makes of it. With the seeds of `taskdata/seeds`:

    python -m examples.scripted_model --port 8765
    nightshift refresh --model compatible/scripted --base-url http://127.0.0.1:8765/v1
"""
