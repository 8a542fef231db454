"""Write the letters into the inbox of this task: `python make_files.py`."""

from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path

HERE = Path(__file__).parent
ADDRESS = "letters@ostrabars.example"


def main() -> None:
    """Write one `.eml` file for each letter."""
    letters = (HERE / "texts" / "letters.txt").read_text(encoding="utf-8").split("\n====\n")
    for number, letter in enumerate(letters, start=1):
        sender, date, subject, text = letter.split("\n", 3)
        message = EmailMessage(policy=SMTP)
        message["From"], message["To"], message["Subject"] = sender, ADDRESS, subject
        sent = datetime.strptime(date, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
        message["Date"] = format_datetime(sent)
        message["Message-ID"] = f"<{sent:%Y%m%d%H%M}.{number}@ostrabars.example>"
        message.set_content(text.strip() + "\n")
        folder = HERE / "services" / "post" / ADDRESS / "INBOX"
        (folder / f"{number:02d}.eml").write_bytes(message.as_bytes())


if __name__ == "__main__":
    main()
