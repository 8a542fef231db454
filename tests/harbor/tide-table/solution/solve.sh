#!/bin/bash
tail -n +2 tides.csv | sort -t, -k3 -n -r | head -n 1 | cut -d, -f1 > /app/highest.txt
