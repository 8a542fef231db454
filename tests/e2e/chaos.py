"""The execute stage of a run on Dask workers, as a program of its own that can be killed.

`python -m tests.e2e.chaos HOME RUN` works until nothing is due, writes the workers' process ids to
HOME/workers.json, and ends.
"""

import json
import os
import sys
from pathlib import Path

from flows.config import Settings
from flows.limits import coordinated
from flows.runners import batches, client, execute_batch, run_batches
from stages.execute import work
from taskdata.store import Store

WORKERS = 2


def execute(home: Path, run_id: str) -> None:
    """Run what is due of the run, over and over until nothing is."""
    settings = Settings(home=home)
    store = Store.open(settings.address)
    config = store.run(run_id).config
    with (
        client(settings, WORKERS) as connected,
        coordinated(connected, run_id, config, 0.0) as limits,
    ):
        extra = {"endpoints": {}, "home": str(home), "limits": limits}
        while due := work.due(store, run_id, 0):
            pids = connected.run(os.getpid)
            (home / "workers.json").write_text(json.dumps(list(pids.values())))
            dealt = batches(due, WORKERS, config.trials_per_worker)
            run_batches(
                connected, execute_batch, store.address, run_id, dealt, extra, lambda done: None
            )
    store.forget_replies(run_id)
    store.close()


if __name__ == "__main__":
    execute(Path(sys.argv[1]), sys.argv[2])
