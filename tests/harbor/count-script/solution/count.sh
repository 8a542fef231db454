#!/bin/bash
cd "$(dirname "$0")/logs"
cat * | wc -l
cat * | grep -c late
