"""The store of everything that is recorded: `Store.open(address)`, then its methods."""

from typing import Self

from taskdata.store.agreement import AgreementStore
from taskdata.store.bank import BankStore
from taskdata.store.connection import StoreAddress
from taskdata.store.construction import ConstructionStore
from taskdata.store.copying import CopyingStore
from taskdata.store.gates import GateHistoryStore
from taskdata.store.holds import HoldStore
from taskdata.store.nights import NightStore
from taskdata.store.plan_marks import PlanMarksStore
from taskdata.store.pruning import PruningStore
from taskdata.store.quarantine import QuarantineStore
from taskdata.store.releases import ReleaseStore
from taskdata.store.rescoring import RescoringStore
from taskdata.store.results import ResultStore
from taskdata.store.runs import RunStore
from taskdata.store.seeds import SeedStore
from taskdata.store.withdrawals import WithdrawalStore

__all__ = ["Store", "StoreAddress"]


class Store(
    AgreementStore,
    BankStore,
    ReleaseStore,
    SeedStore,
    QuarantineStore,
    ConstructionStore,
    GateHistoryStore,
    HoldStore,
    CopyingStore,
    NightStore,
    PlanMarksStore,
    PruningStore,
    RescoringStore,
    RunStore,
    ResultStore,
    WithdrawalStore,
):
    """Everything that is recorded: seeds, tasks, runs, trials, calls, and the artifacts."""

    @classmethod
    def open(cls, address: StoreAddress) -> Self:
        """Return the store at `address`, its tables brought up to date."""
        store = cls(address)
        store.migrate()
        return store
