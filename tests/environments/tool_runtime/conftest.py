"""The fixtures of the tools' tests serve those of what runs tools as well."""

from tests.environments.tools.conftest import in_sandbox, made, refused, run, workspace, written

__all__ = ["in_sandbox", "made", "refused", "run", "workspace", "written"]
