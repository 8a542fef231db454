"""Cleans the survey by the standard and the mail, then draws the signs and the profile."""

import csv
import math
import re
from itertools import pairwise
from pathlib import Path

import matplotlib
from openpyxl import load_workbook
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.colors import HexColor
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas

CHALK, INK, MOOR = "#F4F1E8", "#1F2A30", "#4F7A3A"
SURFACES = {"path": "#8A6B47", "track": "#9AA3A8", "boardwalk": "#D9A441"}
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"

best = {}
with open("input/survey_log.csv", encoding="utf-8") as log:
    for row in csv.DictReader(log, delimiter=";"):
        if row["fix"].strip().lower() != "ok":
            continue
        day, hour, minute = map(int, re.match(r"day (\d) (\d+):(\d+)", row["when"]).groups())
        height = float(re.match(r"[\d.]+", row["height"])[0])
        height = round(height * 0.3048 if "ft" in row["height"] else height) - 64 * (day == 1)
        km = float(row["km"].replace(",", "."))
        best[km] = max(best.get(km, ((0, 0, 0), 0)), ((day, hour, minute), height))
line = sorted((km, height) for km, (_, height) in best.items())
height_at = dict(line)

book = load_workbook("input/posts.xlsx")
places = {km: name for name, km in book["Places"].iter_rows(min_row=2, values_only=True)}
del places[6]
places[14.5] = "Brackenrigg Halt"
posts = {post: km for post, km, *_ in book["Posts"].iter_rows(min_row=2, values_only=True)}
del posts["P2"]
posts["P4"] = next(km for km, name in places.items() if name == "High Tarn")
surface = [list(row) for row in book["Surface"].iter_rows(min_row=2, values_only=True)]
for row in surface:
    if row[0] == 7:
        row[2] = "boardwalk"


def climb(start, end):
    part = [h for km, h in line if min(start, end) <= km <= max(start, end)]
    part = part if start < end else part[::-1]
    steps = [b - a for a, b in pairwise(part)]
    return sum(s for s in steps if s > 0), -sum(s for s in steps if s < 0)


def time(start, end):
    up, down = climb(start, end)
    both = abs(end - start) / 3.6, up / 300 + down / 500
    full = 5 * math.ceil(60 * (max(both) + min(both) / 2) / 5)
    return f"{full} min" if full < 60 else f"{full // 60} h {full % 60:02d}"


def draw_signs():
    wide, high = 500 * mm, 200 * mm
    pdf = Canvas("output/signs.pdf", pagesize=(wide, high))
    for post, km in posts.items():
        pdf.setFillColor(HexColor(CHALK))
        pdf.rect(0, 0, wide, high, stroke=0, fill=1)
        pdf.setFillColor(HexColor(INK))
        pdf.setFont("Helvetica-Bold", 72)
        pdf.drawCentredString(wide / 2, 155 * mm, f"{post} {places[km]} {height_at[km]} m")
        before, after = sorted(k for k in places if k < km), sorted(k for k in places if k > km)
        for arm, both in ((-1, [*before[-1:], *before[:1]]), (1, [*after[:1], *after[-1:]])):
            ends = list(dict.fromkeys(both))
            if not ends:
                continue
            tip, base, edge = (wide / 2 + arm * out * mm for out in (240, 215, 6))
            shape = pdf.beginPath()
            shape.moveTo(edge, 30 * mm)
            for x, y in ((base, 30), (tip, 75), (base, 120), (edge, 120)):
                shape.lineTo(x, y * mm)
            shape.close()
            pdf.setStrokeColor(HexColor(INK))
            pdf.setLineWidth(6)
            pdf.drawPath(shape, stroke=1, fill=0)
            left = min(edge, base) + 8 * mm
            for number, end in enumerate(ends):
                y = (92 - 36 * number) * mm
                pdf.setFont("Helvetica", 46)
                pdf.drawString(left, y, places[end])
                pdf.setFont("Helvetica-Bold", 46)
                pdf.drawRightString(max(edge, base) - 6 * mm, y, time(km, end))
                print(post, arm, places[end], time(km, end))
        pdf.showPage()
    pdf.save()


def font(size):
    return ImageFont.truetype(FONTS / "DejaVuSans.ttf", size)


def draw_profile():
    wide, high, last = 1600, 640, line[-1][0]
    picture = Image.new("RGB", (wide, high), CHALK)
    pen = ImageDraw.Draw(picture)

    def x(km):
        return wide * (0.05 + 0.9 * km / last)

    def y(height):
        return high * (0.8 - 0.65 * (height - 150) / 550)

    pen.polygon([(x(0), y(150)), *((x(km), y(h)) for km, h in line), (x(last), y(150))], fill=MOOR)
    for start, end, kind in surface:
        pen.rectangle((x(start), 0.85 * high, x(end) - 1, 0.95 * high), fill=SURFACES[kind])
    for km, name in places.items():
        anchor = "ls" if km == 0 else "rs" if km == last else "ms"
        pen.text((x(km), 0.955 * high + 20), f"{name} {height_at[km]}", INK, font(15), anchor)
    pen.text((x(0), 22), "Three Tarns Path", INK, font(34))
    for number, (kind, colour) in enumerate(SURFACES.items()):
        left = 1100 + 150 * number
        pen.rectangle((left, 30, left + 22, 52), fill=colour)
        pen.text((left + 30, 41), kind, INK, font(20), "lm")
    picture.save("output/profile.png")


draw_signs()
draw_profile()
print("ascent", climb(0, 14.5)[0], "whole path", time(0, 14.5))
