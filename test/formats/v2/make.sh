#!/bin/sh
# Made the frozen homes of format 2 once, with the program of that format, by the commands that made those of format 1. They
# are never made again: later versions must read and write these homes. Usage: make.sh <new directory> <substrat's bin/run.js>
set -eu
scripts=$(dirname "$0")/../v1
mkdir -p "$1"
sh "$scripts/make.sh" "$1/home" "$2"
sh "$scripts/make-turns.sh" "$1/home-turns" "$2"
sh "$scripts/make-tree.sh" "$1/home-tree" "$2"
