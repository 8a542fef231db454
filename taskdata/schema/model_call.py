"""The record of one model call that was paid for, stored as soon as its reply has arrived."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field

from taskdata.schema.base import Sha256, Value
from taskdata.schema.usage import Usage

NO_REPLY = ""
"""The `model` of a record of failed attempts: none brought a reply, and they may be charged."""


class CallPurpose(StrEnum):
    """What a model was called for."""

    AGENT = "agent"
    TOOL = "tool"
    JUDGE = "judge"
    SIMULATED_USER = "simulated_user"
    LABELLER = "labeller"
    CRITIC = "critic"
    CONSTRUCTION = "construction"


class ModelCall(Value):
    """A model call and its reply, so that what was paid for survives the death of its process.

    What failed attempts at a call may be charged is a record of its own, beside the record of the
    attempt that brought the reply, if one did.
    """

    purpose: CallPurpose
    trial_id: str | None = None
    """The trial that paid; None: a refresh paid, or nobody did, as for a model on this machine."""
    attempt: int = Field(default=0, ge=0)
    """The attempt at the trial that paid, from 1; 0 for calls that no attempt made."""
    refresh_id: str | None = None
    """The refresh of a bank that paid."""
    key: Sha256
    """Hash of the request."""
    shared_key: Sha256 | None = None
    """Hash of the request and its sample number; any work that asks the same gets this reply.
    None: the reply is only for the trial that paid."""
    model: str
    """Model id as reported by the provider, else as it was asked for; or `NO_REPLY`."""
    usage: Usage
    tokens_at_most: int | None = Field(default=None, ge=0)
    """Where the usage is unknown, the most tokens that it can be; None: the usage is known, or
    nobody noted its bound."""
    cost_usd: float | None = None
    """None: unknown, as the price or the usage may be. Of failed attempts it is the most that may
    be charged."""
    cost_at_most_usd: float | None = None
    """Where the cost is unknown, the most that it can be, in USD; None: that is unknown, too."""
    at: datetime
    reply: dict[str, Any] | None = None
    """The reply as JSON. It is dropped once its trial has finished, for the transcript holds it;
    replies of judges and labellers stay, because scores and labels hold only a part of them, and so
    do shared ones."""
