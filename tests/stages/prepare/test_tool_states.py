"""Tools that are not ready are named when the run is planned."""

from stages.prepare import work


def test_the_plan_says_which_tool_is_not_ready(store, new_run, new_task):
    run = new_run(new_task("seen", tools=("TextToImage", "Plot")), new_task("plain"))

    report = work.do(store, run.id)

    assert (report.due, report.done) == (2, 2)
    assert report.note.startswith(
        "2 trials planned over 2 tasks; 1 of them need a tool that is not ready, and cannot run: "
        "tool TextToImage: needs a model that draws"
    )


def test_a_plan_without_such_tools_says_nothing_of_them(store, new_run, new_task):
    report = work.do(store, new_run(new_task("plain")).id)
    assert report.note == "1 trials planned over 1 tasks"
