"""The end of an agent's turn in a talk: the user's answer, or why the talk is over."""

from environments.models.money.trial_budget import TrialBudget
from stages.execute.dialogue.journal import Journal
from stages.execute.dialogue.simulated_user import TalkingUser
from taskdata.schema.transcript import Ending

_NO_MORE_ANSWERS = (
    "The talk is over: the simulated user has answered {count} times, which is the most that its "
    "task allows, and has not ended it."
)


async def answered(
    user: TalkingUser, said: str, journal: Journal, budget: TrialBudget
) -> str | Ending:
    """Return the user's answer to the end of the agent's turn, or the ending of the talk.

    The answer is recorded; the time that it takes does not count for the agent.

    Raises:
        SimulatedUserFailed: the model that plays the user gives no answer.
        BudgetExhausted: the run's money is used up.
    """
    if user.has_answered_all:
        journal.message("system", _NO_MORE_ANSWERS.format(count=user.most_exchanges))
        return Ending.OUT_OF_EXCHANGES
    with budget.in_line():
        answer = await user.answer(said)
    journal.user_turn(answer.text, answer.made)
    return Ending.FINISHED if answer.made.ends else answer.text
