#!/usr/bin/env bash
# Puts another version of ansible-core beside the machine's own, for tests: debian-ansible.sh <version, such as 2.19>
# Prints the folder that it is in; its programs are in bin/ there. It comes from Debian's archive by way of apt, which checks
# the signature, and runs with the Python of the machine's own ansible-playbook. Nothing of the system is changed.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

version=${1:?which version, such as 2.19}
[[ $version =~ ^[0-9]+\.[0-9]+$ ]] || fail "a version is two numbers, such as 2.19, and not '$version'"
cache=$ROOT/node_modules/.cache/holdfast-ansible
target=$cache/$version
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=${HOLDFAST_DEBIAN_MIRROR:-http://deb.debian.org/debian}

mkdir -p "$cache"
exec 9>"$cache/.lock"
if has flock; then
  flock 9
fi
if [ -e "$target/.complete" ]; then
  echo "$target"
  exit 0
fi

has apt-get && has dpkg-deb || fail "ansible-core $version comes from Debian's archive: apt-get and dpkg-deb are needed"
if ! [ -e "$keyring" ]; then
  is_root && install_packages debian-archive-keyring || fail "install debian-archive-keyring and run this again"
fi
own=$(command -v ansible-playbook) || fail 'there is no ansible-playbook yet: run ./scripts/setup'
python=$(sed -n '1s/^#! *//p' "$own")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/download"
touch "$work/state/status"
cat >"$work/apt.conf" <<TEXT
Dir::State "$work/state";
Dir::State::status "$work/state/status";
Dir::Cache "$work/cache";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
Acquire::Languages "none";
$(is_root && echo 'APT::Sandbox::User "root";')
TEXT
export APT_CONFIG=$work/apt.conf

# The first suite that has a package of this version; they are small enough to ask one after the other.
package=''
for suite in trixie bookworm sid; do
  echo "deb [signed-by=$keyring] $mirror $suite main" >"$work/sources.list"
  apt-get update >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; fail "Debian's archive cannot be read: $mirror"; }
  package=$(apt-cache madison ansible-core | awk -v want="$version." 'index($3, want) == 1 { print $3; exit }')
  [ -z "$package" ] || break
done
[ -n "$package" ] || fail "no suite of Debian has ansible-core $version"
(cd "$work/download" && apt-get download "ansible-core=$package" >"$work/log" 2>&1) ||
  { tail -n 5 "$work/log" >&2; fail "ansible-core $package cannot be fetched"; }

rm -rf "$target"
mkdir -p "$target/bin"
dpkg-deb -x "$work"/download/ansible-core_*.deb "$target"
for program in ansible-playbook ansible-vault; do
  cat >"$target/bin/$program" <<TEXT
#!/bin/sh
PYTHONPATH='$target/usr/lib/python3/dist-packages' exec $python '$target/usr/bin/$program' "\$@"
TEXT
  chmod 755 "$target/bin/$program"
done
"$target/bin/ansible-playbook" --version >"$work/log" 2>&1 ||
  { tail -n 5 "$work/log" >&2; fail "ansible-core $package does not run with $python"; }
printf '%s\n' "$package" >"$target/.complete"
give_back "$cache"
echo "$target"
