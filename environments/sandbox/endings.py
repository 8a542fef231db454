"""Which limit or signal ended a program in a sandbox."""

import signal

from environments.ports import Completed

_LIMITS = {
    "wall": "it took longer than the sandbox allows",
    "cpu": "it used more CPU time than the sandbox allows",
    "output": "it wrote more output than the sandbox allows",
    "memory": "it used more memory than the sandbox allows",
    "processes": "it started more processes than the sandbox allows",
    "disk": "it wrote more to disk than the sandbox allows",
}
_SIGNAL_LIMITS = {
    signal.SIGKILL: "it was killed, most likely for using too much memory",
    signal.SIGXCPU: _LIMITS["cpu"],
    signal.SIGXFSZ: _LIMITS["disk"],
}


def why_stopped(completed: Completed) -> str | None:
    """Return which limit or signal ended the program; None if it ended by itself."""
    if completed.limit:
        return _LIMITS[completed.limit]
    code = completed.exit_code
    # A signal shows as a negative code, or as 128 + number if a shell or init ran the program.
    number = -code if code < 0 else code - 128
    if number <= 0:
        return None
    reason = _SIGNAL_LIMITS.get(number)  # type: ignore[call-overload]
    return reason or f"it crashed (signal {number})"
