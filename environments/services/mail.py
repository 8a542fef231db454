"""Mail: aiosmtpd to send, pymap to read, in one small process that any user may run.

Debian's dovecot would be the usual choice, but installing it starts a public server on the host,
and its configuration differs between the versions that distributions ship. pymap speaks all of IMAP
that agents use (UIDPLUS, MOVE, IDLE) and is installed like any library.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from environments.ports import Mount, Sandbox, Workspace
from environments.services.inside.template import KEPT_MOUNT
from environments.services.server import ScriptSettings, Variables
from taskdata.installing import extra_command
from taskdata.schema.service import HOST, MailService


class Mail:
    """Runs mail servers; implements the `Server` protocol."""

    program = "environments.services.inside.mail"
    sockets = ("smtp/socket", "imap/socket")

    def missing(self) -> str | None:
        """Return which library is missing, None if none is missing."""
        missing = [name for name in ("aiosmtpd", "pymap") if find_spec(name) is None]
        if not missing:
            return None
        return f"needs {', '.join(missing)}: run {extra_command('services')}"

    def settings(self, service: MailService) -> dict[str, Any]:
        """Return the accounts."""
        return {"accounts": {a.address: a.password for a in service.accounts}}

    def variables(self, service: MailService, ports: Sequence[int]) -> tuple[Variables, ...]:
        """Return the ports of both servers and the first account, which no client can guess."""
        smtp, imap = (str(port) for port in ports)
        first = service.accounts[0]
        return (
            (("SMTP_HOST", HOST), ("SMTP_PORT", smtp)),
            (
                *(("IMAP_HOST", HOST), ("IMAP_PORT", imap)),
                *(("MAIL_ADDRESS", first.address), ("MAIL_PASSWORD", first.password)),
            ),
        )

    async def mounts(
        self, service: MailService, sandbox: Sandbox, workspace: Workspace, home: Path
    ) -> Sequence[Mount]:
        """Return nothing."""
        return ()

    def for_scripts(
        self, service: MailService, ports: Sequence[int], seconds: int, *, is_kept: bool
    ) -> ScriptSettings:
        """Return the accounts, which programs use like the agent."""
        settings = self.settings(service) | {"is_kept": is_kept}
        return ScriptSettings(settings, self.variables(service, ports))

    def base(self, mounts: Sequence[Mount]) -> Path | None:
        """Return nothing: all mailboxes are kept."""
        return None

    def kept_mounts(self, kept: Path, base: Path | None) -> Sequence[Mount]:
        """Return the kept mailboxes."""
        return (Mount(kept, KEPT_MOUNT),)
