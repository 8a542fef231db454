#!/bin/bash
expected=$(depot | awk '{sum += $2} END {print sum}')
if [ "$(cat total.txt)" = "$expected" ]; then echo 1.0; else echo 0.0; fi > /logs/verifier/reward.txt
