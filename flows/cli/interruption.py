"""Ctrl-C: one line at once, then the end, whatever is being done."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from flows.cli import console

EXIT_CODE = 130
"""Of a command that a person interrupted, as shells have it."""

_SECONDS_TO_END = 10.0
"""How long ending takes at most. Processes that are left end with this one, or are removed by the
next command that starts work.
"""

told = threading.Event()
"""Set once the advice was shown."""


@contextmanager
def interruptible(advice: str) -> Iterator[None]:
    """Let the first Ctrl-C in the block say `advice` and end the work, within seconds.

    A second one leaves at once.

    Raises:
        KeyboardInterrupt: at the first one, when what was begun has been ended.
    """

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, leave)
        _tell(advice)
        _end_workers()
        late = threading.Timer(_SECONDS_TO_END, os._exit, (EXIT_CODE,))
        late.daemon = True
        late.start()
        raise KeyboardInterrupt

    def leave(_number: int, _frame: FrameType | None) -> None:
        os._exit(EXIT_CODE)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    except Exception as exc:
        # What the work ran into when its workers were ended is no error of theirs.
        if told.is_set():
            raise KeyboardInterrupt from exc
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if told.is_set():
        raise KeyboardInterrupt


def _tell(advice: str) -> None:
    told.set()
    console.error(f"interrupted; {advice}")
    if not console.debug:
        # Whatever is torn from its work now complains, and the person knows why.
        logging.disable(logging.CRITICAL)


def _end_workers() -> None:
    # Where it was not imported there are none.
    module = sys.modules.get("flows.workers.interrupting")
    if module is not None:
        end: Callable[[], None] = module.end_workers
        end()
