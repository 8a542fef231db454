"""How far the reviewers of candidates agree, of one refresh or of all."""

from quality.agreement.reviews import ReviewPair, review_agreement
from stages.release.reviewing.votes import blind_pairs
from taskdata.schema.review import ReviewAgreement
from taskdata.store import Store


def agreement_of(store: Store, refresh_id: str | None = None) -> ReviewAgreement | None:
    """Return the agreement of reviewers; None where no two people have reviewed one draft.

    Candidates that were rejected or sent back count, too: what people agree to refuse is agreement.

    Raises:
        Misuse: if the refresh is not in the store.
    """
    refreshes = store.refreshes() if refresh_id is None else [store.refresh(refresh_id)]
    return review_agreement(
        [
            ReviewPair(candidate.task_id, first, second)
            for refresh in refreshes
            for candidate in store.candidates(refresh.id)
            for first, second in blind_pairs(store.reviews(candidate.id), refresh.config.reviewers)
        ]
    )
