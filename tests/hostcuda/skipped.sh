#!/bin/sh
# skipped.sh - counts as one skipped test what this machine cannot run; SKIPPED says why.
echo "skip - hostcuda: $SKIPPED"
