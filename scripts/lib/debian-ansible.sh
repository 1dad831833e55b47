#!/usr/bin/env bash
# Puts the ansible-core of one of Debian's suites, with the Python of that suite, into a folder of its own, for tests:
#   debian-ansible.sh <suite, such as trixie> [more packages of that suite]
# Prints the folder; the programs of ansible are in programs/ there, and its Python is usr/bin/python3. Everything comes from Debian's archive by way of apt, which checks the
# signatures. Nothing of the system is changed: each program runs with the C library of its own suite, by the loader of
# that suite, so that a newer Debian runs on an older one.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

suite=${1:?which suite, such as trixie}
shift
[[ $suite =~ ^[a-z]+$ ]] || fail "a suite is a word such as trixie, and not '$suite'"
if [ $# = 0 ]; then set -- ansible-core; fi
name=$suite
[ "$*" = ansible-core ] || name=$suite-$(tr ' ' '-' <<<"$*")
cache=$ROOT/node_modules/.cache/holdfast-ansible
target=$cache/$name
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=${HOLDFAST_DEBIAN_MIRROR:-http://deb.debian.org/debian}

mkdir -p "$cache"
exec 9>"$cache/.lock-$name"
if has flock; then
  flock 9
fi
if [ -e "$target/.complete" ]; then
  echo "$target"
  exit 0
fi

has apt-get && has dpkg-deb || fail "packages of $suite come from Debian's archive: apt-get and dpkg-deb are needed"
if ! [ -e "$keyring" ]; then
  is_root && install_packages debian-archive-keyring || fail "install debian-archive-keyring and run this again"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
touch "$work/state/status"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$work/sources.list"
cat >"$work/apt.conf" <<TEXT
Dir::State "$work/state";
Dir::State::status "$work/state/status";
Dir::Cache "$work/cache";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
Acquire::Languages "none";
Debug::NoLocking "true";
APT::Install-Recommends "false";
$(is_root && echo 'APT::Sandbox::User "root";')
TEXT
export APT_CONFIG=$work/apt.conf

tell() {
  tail -n 5 "$work/log" >&2
  fail "$*"
}
apt-get update >"$work/log" 2>&1 || tell "Debian's archive cannot be read: $mirror $suite"
# Nothing counts as installed, so the packages come with all that they need, down to the C library.
apt-get install --yes --download-only "$@" >"$work/log" 2>&1 || tell "$* of $suite cannot be fetched"

rm -rf "$target"
# The suites have these four as links.
for folder in bin sbin lib lib64; do
  mkdir -p "$target/usr/$folder"
  ln -s "usr/$folder" "$target/$folder"
done
for package in "$work"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" |
    tar -C "$target" -x --keep-directory-symlink --exclude='./usr/share/doc' --exclude='./usr/share/man' --exclude='./usr/share/locale'
done

# The Python of the suite, started by the loader of the suite. It finds its own modules by the name that it is called with.
python=$(find "$target/usr/bin" -name 'python3.*' -type f | grep -E '/python3\.[0-9]+$' | sort -V | tail -n 1)
[ -n "$python" ] || fail "there is no Python among the packages of $suite"
loader=$(find "$target/usr/lib64" "$target/usr/lib" -name 'ld-linux*.so.*' 2>/dev/null | sort | head -n 1)
[ -n "$loader" ] || fail "there is no loader among the packages of $suite"
mkdir -p "$target/real" "$target/programs"
mv "$python" "$target/real/"
rm -f "$target/usr/bin/python3"
# Read whole: a reader that leaves at the first match would end the writer, and with it this script, by chance.
options=$("$loader" --help 2>/dev/null || true)
[[ $options == *--argv0* ]] || fail "the C library of $suite is too old to be started beside another one"
libraries=$(dirname -- "$(find "$target/usr/lib" -name 'libc.so.6' | head -n 1)")
cat >"$target/usr/bin/python3" <<TEXT
#!/bin/sh
exec '$loader' --library-path '$libraries' --argv0 '$target/usr/bin/python3' '$target/real/$(basename -- "$python")' "\$@"
TEXT
chmod 755 "$target/usr/bin/python3"
# Ansible looks for the newest name of a Python in PATH to run its modules with: it shall find this one.
ln -s "$target/usr/bin/python3" "$target/programs/$(basename -- "$python")"
for program in "$target"/usr/bin/ansible*; do
  [ -f "$program" ] && ! [ -L "$program" ] || continue
  sed -i "1s|^#!.*python3.*|#!$target/usr/bin/python3|" "$program"
  # Apart from the other programs of the suite, which need its C library and must not come into any PATH.
  ln -s "$program" "$target/programs/"
done
"$target/usr/bin/python3" -c 'import json, ssl' >"$work/log" 2>&1 || tell "the Python of $suite does not run here"
if [ -e "$target/usr/bin/ansible-playbook" ]; then
  "$target/usr/bin/ansible-playbook" --version >"$work/log" 2>&1 || tell "the ansible of $suite does not run here"
fi
touch "$target/.complete"
give_back "$cache"
echo "$target"
