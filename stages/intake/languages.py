"""Languages of seeds that were stored before Nightshift recorded languages."""

from quality.language import language_of
from taskdata.store import Store


def fill_in(store: Store) -> None:
    """Determine and store the language of every seed that has none."""
    unknown = [(seed.id, seed.query.text) for seed in store.seeds() if seed.language is None]
    if unknown:
        store.set_languages({seed_id: language_of(text) for seed_id, text in unknown})
