"""What each failure label means, in the words of docs/failures.md: help for who gives labels."""

from collections.abc import Mapping

DEFINITIONS: Mapping[str, Mapping[str, str]] = {
    "stage": {
        "not_attempted": "the agent called no tool, left no file and gave no answer",
        "plan": (
            "the agent did not begin the work: it made no call, no valid call, or no step "
            "toward any file that was asked for"
        ),
        "execute": (
            "most calls failed, or the trial ended with failing calls or at a limit while a"
            " deliverable was missing"
        ),
        "reason": (
            "most deliverables arrived, and wrong content in them cost at least half of the points"
        ),
        "refine": "more than half of the requirements hold, but finer ones do not",
        "handoff": (
            "deliverables that are missing, misnamed or unreadable cost at least half of the points"
        ),
        "undetermined": "the record does not decide for any of these",
    },
    "type": {
        "not_attempted": "deliverables that are missing under any name",
        "data_extraction": "facts from sources",
        "reasoning": "recommendations and their justification",
        "content_synthesis": "analysis, computation, narrative",
        "formatting": "files, names, layout",
    },
    "level": {
        "leaf": "a requirement does not hold",
        "composition": "an inner node does not hold though most of its leaves do",
        "deliverable": (
            "a deliverable is missing, misnamed or unreadable, or a requirement of form "
            "does not hold"
        ),
    },
    "tool_use": {
        "wrong_tool_selection": "a tool that does not do what is needed",
        "missing_essential_tool": "a necessary call was never made",
        "tool_planning_error": "the agent kept to a plan that had failed",
        "hallucinated_tool": "a tool that does not exist",
        "parameter_type_error": "a wrong type, or a number that can never be right",
        "parameter_range_error": "a value beyond the bounds of the file",
        "parameter_object_selection_error": "the wrong file, sheet or URL",
        "missing_parameter": "a required argument is absent",
        "hallucinated_parameter": "an invented argument or value",
        "fine_grained_perception": "details that were seen and misread",
        "visual_spatial_understanding": "wrong places, sizes or overlaps",
        "video_temporal_understanding": "wrong moments of a video",
        "cross_modal_fusion": "sources that were not brought together",
        "multimodal_hallucination": "content that the agent never saw",
        "no_verification": "the agent did nothing with the file after the file's last change",
        "pseudo_verification": (
            "after its last change, the file was listed or read, but never looked at"
        ),
        "incomplete_verification": (
            "the agent looked at an earlier state of the file, but not at the last one"
        ),
        "false_positive": 'the word "error" in a log where nothing failed',
        "mcp_issue": "an MCP server failed",
        "agent_base_model_issue": "the model's own limits",
    },
    "long_run": {
        "loop": (
            "the same call with the same arguments and result three times, while no other "
            "call changed a file; or the same reply three times; or a limit reached on a "
            "repeated call"
        ),
        "premature_stop": "the agent ended its work itself with a deliverable missing",
        "handed_back": (
            "the agent's final answer leaves the rest of the work to the user, or asks "
            "whether to do it"
        ),
        "dropped_items": (
            "a failed check counted fewer rows, slides or the like than the task asks for"
        ),
        "overlong_output": "a tool's result had more than 100,000 characters",
        "cut_off_reply": "a reply was cut at its length limit",
        "lost_context": (
            "after the harness had left out earlier turns, the agent repeated two or more of their "
            "calls, or asked for what it had been given"
        ),
        "budget_spent_on_retries": (
            "a limit was reached, and at least half of the turns (and at least three) had "
            "no successful call"
        ),
    },
    "arguments": {
        "asks_user": "the reply has no action, and it or the final answer asks the user for more",
        "no_action": "the reply has no action, only thought",
        "malformed_json": "the arguments are no JSON object",
        "several_tools": "the reply has several calls where one was asked for",
        "redundant_text": "text after valid arguments made them unreadable",
        "repeated_prompt": "the reply repeats lines of its instructions",
        "wrong_final_format": "the final answer is not in the required form, or holds a step",
    },
    "infrastructure": {
        "provider": "the endpoint of a model: of the agent, a judge, a critic or a simulated user",
        "sandbox": "the sandbox, or the process that runs checks",
        "tool_backend": "the backend of a tool, an MCP server, a service of the task",
        "broken_task": "the task's own data or programs",
        "our_bug": "Nightshift itself: it raised an error that is none of its own error types",
        "run_limit": "a limit of the run: its money, its deadlines",
        "undetermined": "the recorded error does not say",
    },
}
"""By kind and name; of a type, what it stands for is what cost the most points."""
