#!/bin/bash
depot | awk '{sum += $2} END {print sum}' > total.txt
