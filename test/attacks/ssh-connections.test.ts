import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { FIRST_JOB_USER } from '../support/job-users.js'
import { startProduct } from '../support/product.js'
import { type Sshd, startSshd, whyNoSshd } from '../support/sshd.js'
import { waitFor } from '../support/wait.js'

/**
 * A playbook that attacks the connection which another job of its runner keeps open to a managed host. The other job
 * logs in with a key that only it has. It says `HIT <what>` for each attack that worked.
 */
const ATTACK = `#!/usr/bin/python3
import ctypes, glob, os, stat, subprocess, sys

def attack(name, action):
    try:
        worked = action()
    except (OSError, subprocess.SubprocessError):
        worked = False
    print(("HIT " if worked is not False else "MISS ") + name)

def masters():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = int(path.split("/")[2])
        try:
            if "[mux]" in open(path).read() and os.stat("/proc/%d" % pid).st_uid != os.getuid():
                yield pid
        except OSError:
            pass

found = list(masters())
print("MASTERS %d" % len(found))
victim, homes, port = sys.argv[1], sys.argv[2], sys.argv[3]

def use(socket_path):
    done = subprocess.run(["ssh", "-F", "none", "-S", socket_path, "-o", "BatchMode=yes", "-p", port, "root@127.0.0.1", "id"],
        capture_output=True, timeout=10)
    return done.returncode == 0

def sockets(*patterns):
    return [path for pattern in patterns for path in glob.glob(pattern) if stat.S_ISSOCK(os.stat(path).st_mode)]

def use_any(paths):
    if not paths: return False
    return any(use(path) for path in paths)

def read_memory(pid):
    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
    start = int(open("/proc/%d/maps" % pid).readline().split("-")[0], 16)
    buffer = ctypes.create_string_buffer(16)
    here, there = Part(ctypes.cast(buffer, ctypes.c_void_p), 16), Part(start, 16)
    return ctypes.CDLL(None).process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0 or False

for pid in found:
    attack("signal the connection", lambda: os.kill(pid, 0))
    attack("look at the folder of the connection", lambda: os.listdir("/proc/%d/root/tmp/ansible" % pid))
    attack("list its open files", lambda: os.listdir("/proc/%d/fd" % pid))
    attack("read its environment", lambda: open("/proc/%d/environ" % pid).read(1))
    attack("read its memory", lambda: read_memory(pid))
    attack("trace it", lambda: ctypes.CDLL(None).ptrace(16, pid, 0, 0) == 0 or False)
    attack("take its sockets", lambda: ctypes.CDLL(None).syscall(438, ctypes.CDLL(None).syscall(434, pid, 0), 3, 0) >= 0 or False)
attack("use its socket by any path", lambda: use_any(sockets("/tmp/ansible/*", homes + "/*/home/.ansible/cp/*",
    "/proc/[0-9]*/root/tmp/ansible/*")))
attack("look into the home of the other job", lambda: os.listdir(homes + "/" + victim + "/home") and False)
attack("log in without a key", lambda: use("none"))
attack("use a key of any process", lambda: any(open(path, "rb").read(1) for path in glob.glob("/proc/[0-9]*/fd/*")
    if os.stat(path.rsplit("/", 2)[0]).st_uid != os.getuid()))
`

const PLAYBOOKS = {
  'attack.py': ATTACK,
  'attack.yml': `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.command: /usr/bin/python3 attack.py {{ victim }} {{ homes }} {{ ssh_port }}
      register: said
    - ansible.builtin.debug: {var: said.stdout_lines}
`,
  'victim.yml': `- hosts: all
  gather_facts: false
  vars:
    ansible_host: 127.0.0.1
    ansible_port: "{{ ssh_port }}"
    ansible_ssh_common_args: "-F none -o UserKnownHostsFile={{ known }} -o StrictHostKeyChecking=yes"
    ansible_ssh_args: "-C -o ControlMaster=auto -o ControlPersist=60s"
  tasks:
    - ansible.builtin.raw: echo connected
    - ansible.builtin.wait_for: {path: "{{ gate }}", timeout: 120, sleep: 1}
      delegate_to: localhost
      vars: {ansible_connection: local}
    - ansible.builtin.raw: echo still connected
`,
}
const field = (name: string) => ({ name })
const FORMS = {
  'forms.yml': JSON.stringify([
    {
      name: 'victim',
      playbook: 'victim.yml',
      inventory: 'managed,',
      roles: ['default'],
      ansibleCredentials: 'key',
      fields: ['ssh_port', 'known', 'gate'].map(field),
    },
    { name: 'attack', playbook: 'attack.yml', roles: ['default'], fields: ['victim', 'homes', 'ssh_port'].map(field) },
  ]),
}
const FIRST = FIRST_JOB_USER + 20
/** ssh wants to know the account that it runs as. */
const ACCOUNTS = [FIRST, FIRST + 1].map((uid) => ({ uid, name: `hft-${uid}` }))

describe.skipIf(whyNoSshd() !== null)('a playbook against the ssh connection of another job', () => {
  let sshd: Sshd

  beforeAll(async () => {
    sshd = await startSshd()
  })
  afterAll(async () => {
    await sshd.close()
    for (const { name } of ACCOUNTS) execFileSync('userdel', [name])
  })

  test('with users of their own for jobs it can neither use, see nor disturb it', async () => {
    const product = await startProduct({
      forms: FORMS,
      playbooks: PLAYBOOKS,
      prepare: (folder) => {
        chmodSync(folder, 0o711)
        for (const { uid, name } of ACCOUNTS) {
          const home = join(folder, 'rte-state/users', name, 'home')
          execFileSync('useradd', [
            '--uid',
            String(uid),
            '-K',
            'UID_MAX=4000000000',
            '--no-create-home',
            '--shell',
            '/usr/sbin/nologin',
            '--home-dir',
            home,
            '--user-group',
            name,
          ])
        }
        mkdirSync(join(folder, 'home'))
        const isolation = { RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: ACCOUNTS.map(({ name }) => name).join(',') }
        return Promise.resolve({ controlPlane: {}, agent: { HOME: join(folder, 'home'), ...isolation } })
      },
    })
    onTestFinished(() => product.close())
    const known = join(product.folder, 'known')
    execFileSync('install', ['-m', '644', sshd.knownHosts, known])
    await product.admin.post('/credential', {
      name: 'key',
      type: 'ssh',
      user: 'root',
      password: readFileSync(sshd.key, 'utf8'),
    })
    const gate = join(product.folder, 'gate')
    const port = String(sshd.port)
    const victim = await product.launch('victim', { ssh_port: port, known, gate })
    const connected = await waitFor('the victim to be connected', async () => {
      const { output, status } = await product.admin.get<{ output: string; status: string }>(`/job/${victim}?text=true`)
      return output.includes('wait_for') || ['failed', 'success'].includes(status) ? { output, status } : null
    })
    expect(connected.output).toContain('TASK [ansible.builtin.wait_for]')
    const given = { victim: ACCOUNTS[0]?.name ?? '', homes: join(product.folder, 'rte-state/users'), ssh_port: port }
    const attack = await product.waitForEnd(await product.launch('attack', given))
    const output = String(attack.output)
    expect(output).toContain('MASTERS 1')
    expect([...output.matchAll(/"HIT ([^"]+)"/g)].map(([, what]) => what)).toEqual([])
    expect([...output.matchAll(/"MISS /g)].length).toBeGreaterThan(9)
    execFileSync('touch', [gate])
    const ended = await product.waitForEnd(victim)
    expect(ended.status, String(ended.output)).toBe('success')
    // Its second task went through the same connection.
    expect(sshd.said().match(/Accepted publickey/g)).toHaveLength(1)
  })
})
