"""What a run has paid for, asked of the table of model calls itself."""

import sqlalchemy as sa

from taskdata.store import Store

_OF_RUN = sa.text(
    "SELECT count(*), count(cost_usd), sum(cost_usd) FROM model_call "
    "JOIN trial ON trial.id = model_call.trial_id "
    "WHERE trial.run_id = :run AND model_call.purpose <> 'judge' AND model_call.model <> ''"
)


def paid(store: Store, run_id: str) -> tuple[int, float | None]:
    """How many replies the run's agents and tools paid for, and USD; None: one is unknown."""
    url = store.address.database_url.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        calls, priced, usd = connection.execute(_OF_RUN, {"run": run_id}).one()
    engine.dispose()
    return calls, (usd or 0.0) if calls == priced else None
