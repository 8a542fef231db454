"""Write files/: safety notices, their correction, a flyer, and a hospital's device register.

The texts are in sources/; mail_safety_officer.txt in files/ is written by hand. Devices are drawn
with a fixed seed and then registered the way registers are. The expected values of task.yaml come
from the devices as drawn: `python make_files.py` prints them.
"""

import random
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from openpyxl import Workbook
from reportlab import rl_config
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table, TableStyle

from taskdata.banks.making import blocks_of, cells_of, document_of, save_office

HERE = Path(__file__).parent
FILES = HERE / "files"
WRITTEN = datetime(2025, 11, 11, 8, 0)
RNG = random.Random(1111)

WARDS = {
    "A1": "Cardiology",
    "A2": "Surgery",
    "B1": "Intensive care",
    "B3": "Paediatrics",
    "C2": "Maternity",
    "D1": "Emergency",
    "E4": "Oncology",
    "F1": "Day clinic",
    "G2": "Neurology",
    "H3": "Palliative care",
    "S0": "Equipment store",
}
MODELS = {  # model: how the register calls it
    "Velia P4": ["Velia P4", "VELIA P4", "Infusion pump Velia P4", "Velia P-4"],
    "Velia P3": ["Velia P3", "Infusion pump Velia P3"],
    "Kardis D2": ["Kardis D2", "Kardis D-2", "Defibrillator Kardis D2", "KARDIS D2"],
    "Kardis D1": ["Kardis D1", "Defibrillator Kardis D1"],
    "Monea 12": ["Monea 12", "Monea12", "Patient monitor Monea 12", "MONEA 12"],
    "Monea 10": ["Monea 10", "Patient monitor Monea 10"],
}
VERSIONS = ["2.9.4", "3.0.1", "3.1.7", "3.1.12", "3.2.0", "3.2.1", "3.10.1", "3.4.0", ""]


@dataclass
class Device:
    """A device as it really is."""

    asset: str
    model: str
    serial: str
    software: str
    ward: str
    status: str
    seen: date
    new_battery: bool = False

    @property
    def action(self) -> tuple[str, str, str] | None:
        """Notice, action and due date; None if nothing is to be done."""
        if self.status == "retired":
            return None
        number = int(self.serial.rsplit("-", 1)[1])
        if self.model == "Velia P4":
            if 20100 <= number <= 20480 or 22760 <= number <= 22815:
                return "FSN-2025-031", "Take out of use", "at once"
            if 21900 <= number <= 22410 and not self.new_battery:
                return "FSN-2025-031", "Replace battery", "2025-11-17"
        if self.model == "Kardis D2" and 4000 <= number <= 5999:
            version = tuple(int(part) for part in (self.software or "0").split("."))
            if version < (3, 2, 0):
                return "FSN-2025-044", "Update software", "2025-11-13"
        if self.model == "Monea 12":
            lot = self.serial.split("-")[1]
            if lot == "C" or (lot == "F" and number <= 350) or (lot == "H" and number >= 500):
                return "FSN-2025-052", "Check loudspeaker", "2025-12-01"
        return None


def serials(model: str, count: int) -> list[str]:
    """Distinct serial numbers of a model, the limits of the ranges among them."""
    if model == "Velia P4":
        limits = [20100, 20480, 20481, 21899, 22140, 22141, 22410, 22411, 22760, 22815, 22816]
        numbers = {*limits, *RNG.sample(range(20000, 23000), count)}
        return [f"VP4-{n}" for n in sorted(numbers)[: count + 8]]
    if model == "Kardis D2":
        return [f"KD2-{n}" for n in RNG.sample(range(4000, 6900), count)]
    if model == "Monea 12":
        letters = RNG.choices("ABCDEFGH", [4, 4, 2, 4, 4, 2, 4, 3], k=count)
        numbers = RNG.sample(range(1, 900), count)
        return [f"M12-{lot}-{n:04d}" for lot, n in zip(letters, numbers, strict=True)]
    # Older models, with numbers that would be affected if the model did not matter.
    prefix = {"Velia P3": "VP3-20", "Kardis D1": "KD1-4", "Monea 10": "M10-C-0"}[model]
    return [f"{prefix}{n}" for n in RNG.sample(range(110, 480), count)]


def draw_devices() -> list[Device]:
    counts = {"Velia P4": 130, "Velia P3": 18, "Kardis D2": 42, "Kardis D1": 9}
    counts |= {"Monea 12": 84, "Monea 10": 14}
    drawn = [(model, serial) for model, n in counts.items() for serial in serials(model, n)]
    RNG.shuffle(drawn)
    devices = []
    for place, (model, serial) in enumerate(drawn):
        # Nothing in palliative care is affected: its page must not exist.
        ward = RNG.choice([code for code in WARDS if code != "H3"])
        device = Device(
            asset=f"MD-{3107 + 7 * place:05d}",
            model=model,
            serial=serial,
            software=RNG.choice(VERSIONS) if model.startswith("Kardis") else "",
            ward=ward,
            status=RNG.choices(["in use", "store", "retired"], [84, 7, 9])[0],
            seen=date(2025, 1, 6) + timedelta(RNG.randrange(300)),
            new_battery=model == "Velia P4" and RNG.random() < 0.22,
        )
        if device.status == "store":
            device.ward = "S0"
        if device.action is None and RNG.random() < 0.12:
            device.ward = "H3"
        devices.append(device)
    return devices


def shabby(serial: str) -> str:
    """A serial number as it was typed off the type plate."""
    forms = [serial, serial.lower(), serial.replace("-", " "), f"SN {serial}", f" {serial}"]
    forms.append(serial.replace("-", "", 1))
    return RNG.choices(forms, [70, 8, 7, 6, 5, 4])[0]


def row(device: Device, asset: str, ward: str, seen: date) -> list[object]:
    remark = RNG.choice(["", "", "", "annual check done", "label worn", "trolley missing"])
    if device.new_battery:
        remark = RNG.choice(["battery B2 fitted 09/2025", "B2 battery in", "new batt. B2 (Sept)"])
    status = RNG.choice({"in use": ["in use", "In use", "active"]}.get(device.status, [""]))
    return [
        asset,
        RNG.choice(MODELS[device.model]),
        shabby(device.serial),
        device.software,
        ward,
        status
        or RNG.choice({"store": ["in store"], "retired": ["retired", "Retired"]}[device.status]),
        seen,
        remark,
    ]


def register(devices: list[Device]) -> tuple[list[list[object]], list[list[object]], list[str]]:
    """Rows of the register, rows of the loans, and the asset numbers that are stale."""
    rows, loans, stale = [], [], []
    affected = [d for d in devices if d.action]
    twice = RNG.sample(affected, 6) + RNG.sample([d for d in devices if not d.action], 3)
    away = RNG.sample([d for d in affected if d not in twice and d.status == "in use"], 14)
    for device in devices:
        home = device.ward
        if device in away:
            home = RNG.choice([code for code in WARDS if code not in (device.ward, "S0")])
            since = date(2025, 10, 1) + timedelta(RNG.randrange(35))
            loans.append([device.asset, home, device.ward, since, None])
        rows.append(row(device, device.asset, home, device.seen))
        if device in twice:
            old = f"MD-{RNG.randrange(200, 900):05d}"
            stale.append(old)
            ward = RNG.choice(list(WARDS))
            rows.append(row(device, old, ward, device.seen - timedelta(RNG.randrange(40, 700))))
    for device in RNG.sample([d for d in devices if d not in twice], 22):  # loans that are over
        other = RNG.choice([code for code in WARDS if code != device.ward])
        since = date(2025, 3, 1) + timedelta(RNG.randrange(120))
        loans.append(
            [device.asset, device.ward, other, since, since + timedelta(RNG.randrange(3, 50))]
        )
    RNG.shuffle(rows)
    loans.sort(key=lambda loan: loan[3])
    return rows, loans, stale


def write_register(rows: list[list[object]], loans: list[list[object]]) -> None:
    book = Workbook()
    sheets = {
        "Devices": [
            ["Asset", "Device", "Serial", "Software", "Ward", "Status", "Last seen", "Remarks"],
            *rows,
        ],
        "Loans": [["Asset", "From", "To", "Since", "Returned"], *loans],
        "Wards": [["Code", "Name"], *([code, name] for code, name in WARDS.items())],
    }
    book.remove(book.active)
    for title, lines in sheets.items():
        sheet = book.create_sheet(title)
        for line in lines:
            sheet.append(line)
    save_office(book, FILES / "device_register.xlsx", WRITTEN)


def write_pdf(source: str, target: str, title: str) -> None:
    """Headings, paragraphs, tables and page breaks (---) of a text as PDF."""
    rl_config.invariant = 1
    styles = getSampleStyleSheet()
    lines = TableStyle([("GRID", (0, 0), (-1, -1), 0.4, colors.grey)])
    story: list[object] = []
    for block in blocks_of(HERE / "sources" / source):
        if block == "---":
            story.append(PageBreak())
        elif block.startswith("| "):
            story.append(Table(cells_of(block), style=lines, hAlign="LEFT", spaceAfter=12))
        elif block.startswith("# "):
            story.append(Paragraph(block[2:], styles["Title"]))
        else:
            story.append(Paragraph(block, styles["BodyText"]))
    SimpleDocTemplate(str(FILES / target), pagesize=A4, title=title, author="").build(story)


def write_correction() -> None:
    document = document_of(blocks_of(HERE / "sources" / "correction.md"))
    save_office(document, FILES / "correction_fsn_2025_031.docx", WRITTEN)


def print_expected(devices: list[Device], loans: list[list[object]], stale: list[str]) -> None:
    affected = [d for d in devices if d.action]
    for d in sorted(affected, key=lambda d: (d.action[0], d.asset)):
        print(d.action[0], f"- [{d.asset}, {d.serial}, {d.ward}, {d.action[1]}, {d.action[2]}]")
    print(Counter(d.action[1] for d in affected), len(affected))
    wards = sorted({d.ward for d in affected})
    for page, ward in enumerate(wards, start=1):
        print(page, ward, WARDS[ward], sorted(d.asset for d in affected if d.ward == ward))
    away = {loan[0] for loan in loans if loan[4] is None}
    print("on loan", [[d.asset, d.ward] for d in affected if d.asset in away])
    print("stale", stale)
    traps = {
        "retired": lambda d: d.status == "retired" and d.model in ("Velia P4", "Monea 12"),
        "new battery": lambda d: d.new_battery and "VP4-21900" <= d.serial <= "VP4-22410",
        "beyond a limit": lambda d: (
            d.serial in ("VP4-20481", "VP4-21899", "VP4-22411", "VP4-22816")
        ),
        "3.10 is new": lambda d: d.model == "Kardis D2" and d.software == "3.10.1",
        "old model": lambda d: d.model in ("Velia P3", "Kardis D1", "Monea 10"),
    }
    for name, trap in traps.items():
        print(name, [d.asset for d in devices if trap(d) and not d.action][:8])


def main() -> None:
    FILES.mkdir(exist_ok=True)
    devices = draw_devices()
    rows, loans, stale = register(devices)
    write_register(rows, loans)
    write_pdf("notices.md", "safety_notices.pdf", "Field safety notices")
    write_pdf("flyer.md", "flyer_medtrade.pdf", "Kardis D2")
    write_correction()
    print_expected(devices, loans, stale)


if __name__ == "__main__":
    main()
