#!/usr/bin/env bash
# Names every place where a word stands that this project does not use, with what to write instead.
#
#   deploy/words.sh             everything that git tracks
#   deploy/words.sh master/     some of it
#
# The words are in deploy/words.txt. Exit code 0: none was found; 1: at least one was.
set -euo pipefail
cd "$(dirname "$0")/.."

# The list itself, data that goldens and prompts of other projects are, and texts of others' authorship.
not=(':!deploy/words.txt' ':!*/goldens/*.json' ':!*/goldens/corpus.py' ':!common/config/presets' ':!CONTRIBUTING.md' ':!LICENSE'
  ':!common/metrics/src/instruction/punkt_facts.rs')
found=0
while IFS=$'\t' read -r expression instead; do
  case $expression in '' | '#'*) continue ;; esac
  hits=$(git grep --line-number --ignore-case --perl-regexp -e "$expression" -- "$@" "${not[@]}" || true)
  [ -n "$hits" ] || continue
  found=$((found + $(wc -l <<< "$hits")))
  printf 'write "%s":\n%s\n' "$instead" "$(cut -c1-180 <<< "$hits" | sed 's/^/  /')"
done < deploy/words.txt
[ "$found" -eq 0 ] || { printf '%d lines have words that this project does not use\n' "$found"; exit 1; }
