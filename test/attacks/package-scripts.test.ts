import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../support/product.js'

/**
 * The scripts of the packages run as root, in folders in which an account of the service may write. They run here in
 * folders of their own: /etc, /var/lib, /run and /proc are others than those of this machine.
 */
const isRoot = process.getuid?.() === 0
const script = (path: string) => join(ROOT, 'scripts/lib/package', path)
const ACCOUNT = 64_001

/** Runs commands of a shell with such folders, and returns what they print. @param programs replacements of programs */
function play(commands: string, programs: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  for (const [name, text] of Object.entries({ deluser: 'exit 0', systemctl: 'exit 0', sleep: 'exit 0', ...programs })) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  const setup = `set -eu
    mount -t tmpfs tmpfs /var/lib
    mkdir /var/lib/etc
    cp -a /etc/nsswitch.conf /etc/ld.so.cache /var/lib/etc/
    mount --move /var/lib /mnt
    mount --bind /mnt/etc /etc
    mount -t tmpfs -o mode=755 tmpfs /var/lib
    mount -t tmpfs tmpfs /run
    printf 'root:x:0:0::/root:/bin/sh\\nholdfast:x:${ACCOUNT}:${ACCOUNT}::/var/lib/holdfast:/bin/false\\n' >/etc/passwd
    printf 'root:x:0:\\nholdfast:x:${ACCOUNT}:\\n' >/etc/group
    sed s/holdfast/holdfast-runner/ /etc/passwd >>/etc/passwd.new && mv /etc/passwd.new /etc/passwd.runner
    mkdir -p /etc/holdfast /etc/folder
    echo untouched >/etc/victim
    export PATH="${folder}:$PATH"
  `
  return execFileSync('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', setup + commands], {
    encoding: 'utf8',
  })
}

describe.skipIf(!isRoot)('a script of the packages', () => {
  test('fills the folder of the control plane where its account cannot put links before', () => {
    // Whenever a program runs, a process of the account has put links wherever it can.
    const attack = `for folder in /var/lib/holdfast /var/lib/.holdfast-*/folder; do
        setpriv --reuid ${ACCOUNT} --regid ${ACCOUNT} --clear-groups ln -s /etc/victim "$folder/config.yaml"
        setpriv --reuid ${ACCOUNT} --regid ${ACCOUNT} --clear-groups ln -s /etc/folder "$folder/forms"
      done >/dev/null 2>&1`
    const shown = play(
      `mount -t tmpfs tmpfs /usr/share
      mkdir -p /usr/share/holdfast/examples/forms
      echo example >/usr/share/holdfast/examples/config.yaml
      echo example >/usr/share/holdfast/examples/forms/first.yml
      : >/etc/holdfast/control-plane.env
      sh ${script('control-plane/postinst')} configure || echo failed
      cat /etc/victim
      ls /etc/folder
      cat /var/lib/holdfast/config.yaml /var/lib/holdfast/forms/first.yml
      stat -c '%u %a' /etc/victim /var/lib/holdfast /var/lib/holdfast/config.yaml
      ls -A /var/lib`,
      { cp: `${attack}\nexec /bin/cp "$@"`, chown: `${attack}\nexec /bin/chown "$@"` },
    )
    expect(shown.split('\n')).toEqual([
      'untouched',
      'example',
      'example',
      '0 644',
      `${ACCOUNT} 700`,
      `${ACCOUNT} 644`,
      'holdfast',
      '',
    ])
  })

  test.each(['runner', 'control-plane'])('purges the %s without what is linked or mounted there', (name) => {
    const folder = name === 'runner' ? '/var/lib/holdfast-runner' : '/var/lib/holdfast'
    const shown = play(
      `mkdir -p ${folder}/home/share ${folder}/spool/jobs /var/lib/other
      ln -s /etc/folder ${folder}/spool/jobs/1
      ln -s / ${folder}/home/root
      ln -s ../other ${folder}/up
      echo untouched >/var/lib/other/file
      echo untouched >/etc/folder/file
      mount -t tmpfs tmpfs ${folder}/home/share
      echo 'on a file server' >${folder}/home/share/file
      sh ${script(`${name}/postrm`)} purge 2>/dev/null && echo purged
      cat /etc/victim /etc/folder/file /var/lib/other/file ${folder}/home/share/file
      find ${folder} | sort`,
    )
    expect(shown.split('\n')).toEqual([
      'purged',
      'untouched',
      'untouched',
      'untouched',
      'on a file server',
      folder,
      `${folder}/home`,
      `${folder}/home/share`,
      `${folder}/home/share/file`,
      '',
    ])
  })

  test('purges a folder whose name became a link, and not what it leads to', () => {
    const shown = play(`ln -s /etc/folder /var/lib/holdfast-runner
      echo untouched >/etc/folder/file
      sh ${script('runner/postrm')} purge
      cat /etc/folder/file`)
    expect(shown).toBe('untouched\n')
  })

  test('ends only what the service of this host has started, and counts only that', async () => {
    const groups = {
      own: '0::/system.slice/holdfast-runner.service',
      other: '0::/user.slice/user-1000.slice/user@1000.service/app.slice/holdfast-runner.service',
      container: '0::/machine.slice/machine-x.scope/system.slice/holdfast-runner.service',
      like: '0::/system.slice/holdfast-runner.service-of-another',
    }
    const children = Object.values(groups).map((group) => {
      const child = spawn('sleep', ['600'])
      onTestFinished(() => {
        child.kill('SIGKILL')
      })
      return { group, pid: child.pid ?? 0, ended: once(child, 'exit') }
    })
    const removed = (among: typeof children, force: string) =>
      play(`mount -t tmpfs tmpfs /proc
      mkdir -p /run/systemd/system /proc/1
      echo '0::/init.scope' >/proc/1/cgroup
      ${among
        .map(
          ({ pid, group }) =>
            `mkdir /proc/${pid}; echo '${group}' >/proc/${pid}/cgroup; printf 'python3\\0/runtime/supervisor.py\\0/jobs/${pid}\\0' >/proc/${pid}/cmdline`,
        )
        .join('\n')}
      HOLDFAST_REMOVE=${force} sh ${script('runner/prerm')} remove 2>&1 || true
      for pid in ${among.map(({ pid }) => pid).join(' ')}; do kill -0 $pid 2>/dev/null && echo $pid; done; true`)
    const others = children.slice(1)
    expect(removed(others, 'no')).toBe(others.map(({ pid }) => `${pid}\n`).join(''))
    expect(removed(children, 'no')).toContain('1 playbook(s) run on this host')
    const left = removed(children, 'force').trim().split('\n').map(Number)
    expect(left).toEqual(expect.arrayContaining(others.map(({ pid }) => pid)))
    expect(await children[0]?.ended).toEqual([null, 'SIGTERM'])
  })
})
