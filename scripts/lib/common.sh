# shellcheck shell=bash
# What every script here begins with: the root of the clone, and a PATH that finds what ./scripts/setup put into it.
ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
cd -- "$ROOT"

# The machine's own ansible-playbook comes first; the private virtualenv is for machines without one.
export PATH="$PATH:$ROOT/.venv/bin"

# A shim of pyenv computes half a second before it starts Python, and each module of a playbook starts Python.
case $(command -v python3) in
  */shims/python3) PATH="$(python3 -c 'import sys; print(sys.prefix)')/bin:$PATH" ;;
esac

# The compiler would leave its cache in the folder for temporary files.
export NODE_DISABLE_COMPILE_CACHE=1

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

is_root() {
  [ "$(id -u)" = 0 ]
}

# Whether there is a program of that name.
has() {
  command -v "$1" >/dev/null 2>&1
}

# Installs packages of the system, as root; shows what went wrong.
install_packages() {
  local log
  log=$(mktemp)
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# A clone of an ordinary user stays theirs when root runs something in it: what was made goes to the clone's owner.
give_back() {
  local owner path
  owner=$(stat -c %u:%g "$ROOT")
  if is_root && [ "$owner" != 0:0 ]; then
    for path in "$@"; do
      if [ -e "$path" ]; then
        chown -R --no-dereference "$owner" "$path"
      fi
    done
  fi
}
