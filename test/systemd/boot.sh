#!/usr/bin/env bash
# Boots systemd as the first process of namespaces, over a layer above a root folder: that of this machine, or of another
# system. That folder is not changed: what is written goes into memory, and is gone with the namespaces. When that systemd
# ends, it is booted again over the same layer, as a machine that restarts.
# Called by machine.ts inside of a mount namespace: boot.sh FOLDER PROJECT LOWER, an empty folder, the clone, which becomes
# /opt/holdfast, and the root folder below. It calls itself with --once for each boot, inside of new namespaces.
set -euo pipefail

if [ "$1" != --once ]; then
  folder=$1 project=$2 lower=$3
  mount --make-rprivate /
  mount -t tmpfs -o mode=755 layer "$folder"
  mkdir "$folder"/{changes,work,root,groups}
  # Machines that run side by side must not have their services in the same control groups.
  mount -t cgroup2 cgroup2 "$folder/groups"
  group=$folder/groups$(sed -n 's/^0:://p' /proc/self/cgroup)/${folder##*/}
  mkdir "$group"
  echo $$ >"$group/cgroup.procs"
  while true; do
    # A file, whose end makes nobody wait: the first process of a machine that restarts is killed.
    setpriv --pdeathsig KILL unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child=SIGKILL \
      "$0" --once "$folder" "$project" "$lower" || true
    [ -e "$folder/booted" ] || exit 1
  done
fi

folder=$2 project=$3 lower=$4
mount -t overlay -o "lowerdir=$lower,upperdir=$folder/changes,workdir=$folder/work" overlay "$folder/root"
root=$folder/root

mount -t proc proc "$root/proc"
# Each boot has an id of its own, as on real machines. The kernel's is that of the machine below.
cp /proc/sys/kernel/random/uuid "$folder/boot-id"
mount --bind "$folder/boot-id" "$root/proc/sys/kernel/random/boot_id"
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

if [ ! -e "$folder/booted" ]; then
  # Of the machine's own services none is started: only what holds a system together.
  : >"$root/etc/fstab"
  rm -rf "$root"/etc/systemd/system/*.wants "$root"/etc/rc?.d "$root"/var/log/journal "$root"/var/lib/holdfast*
  # These would change the kernel's settings, which belong to the machine below, or wait for what is not here.
  for unit in systemd-{sysctl,modules-load,remount-fs,update-utmp,udevd,timesyncd,resolved,networkd,logind} console-getty; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit.service"
  done
  # In a container systemd leaves the network alone.
  cat >"$root/etc/systemd/system/loopback.service" <<'END'
[Unit]
DefaultDependencies=no
Before=sysinit.target
[Service]
Type=oneshot
ExecStart=ip link set lo up
END
  mkdir "$root/etc/systemd/system/sysinit.target.wants"
  ln -s ../loopback.service "$root/etc/systemd/system/sysinit.target.wants/loopback.service"
  mkdir -p "$root/opt/holdfast" "$root/mnt"
  touch "$folder/booted"
fi
mount --bind "$project" "$root/opt/holdfast"

# Its first process takes the folder as its root for good, so that it finds no way to the machine below.
cd "$root"
pivot_root . mnt
umount -l /mnt
exec env -i container=holdfast PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --show-status=0 --log-target=journal
