#!/usr/bin/env bash
# Boots systemd as the first process of namespaces, over a layer above this machine's own root folder. The machine below
# is not changed: what is written goes into memory, and is gone with the namespaces.
# Called by machine.ts inside of `unshare`: boot.sh FOLDER PROJECT, an empty folder and the clone, which becomes /opt/holdfast.
set -euo pipefail
folder=$1 project=$2

mount --make-rprivate /
mount -t tmpfs -o mode=755 layer "$folder"
mkdir "$folder"/{changes,work,root}
mount -t overlay -o "lowerdir=/,upperdir=$folder/changes,workdir=$folder/work" overlay "$folder/root"
root=$folder/root

mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 dev "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root"/dev/{pts,shm}
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
for name in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do ln -s "/proc/self/${name#*:}" "$root/dev/${name%%:*}"; done
touch "$root/dev/console"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"

# Of the machine's own services none is started: only what holds a system together.
: >"$root/etc/fstab"
rm -rf "$root"/etc/systemd/system/*.wants "$root"/etc/rc?.d "$root"/var/log/journal "$root"/var/lib/holdfast*
# These would change the kernel's settings, which belong to the machine below, or wait for what is not here.
for unit in systemd-{sysctl,modules-load,remount-fs,update-utmp,udevd,timesyncd,resolved,networkd,logind} console-getty; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit.service"
done
mkdir -p "$root/opt/holdfast"
mount --bind "$project" "$root/opt/holdfast"

# Its first process takes the folder as its root for good, so that it finds no way to the machine below.
cd "$root"
mkdir -p "$root/mnt"
pivot_root . mnt
umount -l /mnt
exec env -i container=holdfast PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --show-status=0 --log-target=journal
