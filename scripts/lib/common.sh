# shellcheck shell=bash
# What every script here begins with: the root of the clone, and a PATH that finds what ./scripts/setup put into it.
ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
cd -- "$ROOT"

# The machine's own ansible-playbook comes first; the private virtualenv is for machines without one.
export PATH="$PATH:$ROOT/.venv/bin"

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  BOLD=$'\e[1m' RED=$'\e[31m' GREEN=$'\e[32m' PLAIN=$'\e[0m'
else
  BOLD='' RED='' GREEN='' PLAIN=''
fi

# One clear sentence, and the end.
fail() {
  printf '%s%s: %s%s\n' "$RED" "$(basename -- "$0")" "$*" "$PLAIN" >&2
  exit 1
}
