"""The labels of a failed trial in all taxonomies except GTA-2's."""

from stages.diagnose.arguments import argument_labels
from stages.diagnose.long_runs import long_run_labels
from stages.diagnose.record import Record
from stages.diagnose.tool_use import tool_use_labels
from taskdata.schema.diagnosis import Label


def labels_of(record: Record) -> tuple[Label, ...]:
    """Return every label that a rule finds for a failed trial; none where no rule fits."""
    return (*tool_use_labels(record), *long_run_labels(record), *argument_labels(record))
