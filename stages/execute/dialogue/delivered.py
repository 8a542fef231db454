"""Which of the files that a task asks for are not there yet."""

from stages.execute.assignment import Assignment

_LOOK_SECONDS = 20.0
# Looked at inside: what a sandbox has written is no path for the host to follow.
_LOOK = 'for name; do [ -f "output/$name" ] || printf "%s\\n" "$name"; done'


async def missing_files(assignment: Assignment) -> tuple[str, ...]:
    """Return the deliverables that output/ does not hold, as they are named in the task.

    Raises:
        SandboxFailed: The sandbox was lost.
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
