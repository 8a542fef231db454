"""Put the devices into the tables of the page: a {{mark}} in each table body takes the rows."""

import html
import json

with open("output/affected.json") as file:
    devices = json.load(file)["devices"]
with open("output/recall_page.html", encoding="utf-8") as file:
    page = file.read()


def rows(lines):
    return "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in line) + "</tr>"
        for line in lines
    )


actions = ["Take out of use", "Replace battery", "Update software", "Check loudspeaker"]
counts = [[action, sum(d["action"] == action for d in devices)] for action in actions]
page = page.replace("{{summary}}", rows([*counts, ["Total", len(devices)]]))
for notice in {d["notice"] for d in devices}:
    keys = ("asset", "serial", "ward", "action", "due")
    mine = [[d[key] for key in keys] for d in devices if d["notice"] == notice]
    assert "{{" + notice + "}}" in page
    page = page.replace("{{" + notice + "}}", rows(mine))
with open("output/recall_page.html", "w", encoding="utf-8") as file:
    file.write(page)
print(counts, len(devices))
