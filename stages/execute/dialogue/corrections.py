"""Replies that are corrected: those that repeat a fault, or that end without promised files."""

from stages.execute.assignment import Assignment

MOST_ALIKE = 3
"""Consecutive replies with the same fault; the last of them ends the trial."""
_LOOK_SECONDS = 20.0
# Run inside the sandbox: the host must not follow paths made by untrusted programs.
_LOOK = """
for name; do
  case $name in
    "*."*) [ -n "$(find output -type f -iname "$name" | head -n 1)" ];;
    *) [ -f "output/$name" ];;
  esac || printf "%s\\n" "$name"
done
"""


class Corrections:
    """Counts consecutive replies with the same fault."""

    def __init__(self) -> None:
        self._fault = ""
        self._count = 0

    def next(self, fault: str, first: str, again: str) -> str | None:
        """Return the correction for a reply with this fault; None: the agent is stuck.

        Args:
            fault: The fault; replies with equal texts have the same fault.
            first: The correction after the first such reply.
            again: The correction after the second such reply, in other words.
        """
        self._count = self._count + 1 if fault == self._fault else 1
        self._fault = fault
        if self._count >= MOST_ALIKE:
            return None
        return first if self._count == 1 else again

    def clear(self) -> None:
        """Reset the count, because a reply was usable."""
        self._count = 0

    @property
    def cause(self) -> str:
        """Why the trial of a stuck agent ends."""
        return (
            f"The agent is stuck: {self._count} replies in a row had the same fault, though it was "
            f"told each time what to write instead. {self._fault}"
        )


async def missing_files(assignment: Assignment) -> tuple[str, ...]:
    """Return the deliverables that are missing in output/, by their names in the task.

    Raises:
        SandboxFailed: the sandbox was lost.
    """
    names = [file.name for file in assignment.brief.deliverables]
    if not names or assignment.sandbox is None:
        return ()
    argv = ("/bin/sh", "-c", _LOOK, "sh", *names)
    done = await assignment.sandbox.run(argv, wall_seconds=_LOOK_SECONDS)
    if done.exit_code != 0:
        return ()
    printed = set(done.stdout.decode(errors="replace").split("\n"))
    return tuple(name for name in names if name in printed)
