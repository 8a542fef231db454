#!/bin/bash
right=0
mapfile -t said < <(./count.sh)
[ "${said[0]}" = 5 ] && right=$((right + 1))
[ "${said[1]}" = 3 ] && right=$((right + 1))
echo "right: $right of 2"
echo "{\"reward\": $(echo "$right" | awk '{print $1 / 2}'), \"lines\": 2}" > /logs/verifier/reward.json
exit 3
