import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FIRST_JOB_USER } from '../support/job-users.js'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'

/**
 * A playbook that attacks the agent and another job on its host. It says `HIT <what>` for each attack that worked. Run without
 * isolation all of them work, which shows that they are attacks; with it none does.
 */
const ATTACK = `#!/usr/bin/python3
import glob, os, signal, subprocess, sys

def attack(name, action):
    try:
        worked = action()
    except OSError:
        worked = False
    print(("HIT " if worked is not False else "MISS ") + name)

def pids_with(word, kind):
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = int(path.split("/")[2])
        try:
            if word in open(path).read().replace("\\0", " ") and pid not in (os.getpid(), os.getppid()):
                found.append(pid)
        except OSError:
            pass
    if not found:
        print("NOBODY " + kind)
    return found

job = os.getcwd()[: -len("/work")]
state = job.split("/spool/")[0]
victim = sys.argv[1]
victim_pids = pids_with("ansible-playbook -e @" + victim, "victim")
agent_pid = int(sys.argv[2])
supervisors = pids_with("supervisor.py", "supervisor")

def read(path):
    with open(path, "rb") as file:
        file.read(1)

def look_into(path):
    os.close(os.open(path, os.O_RDONLY))

def append(path):
    with open(path, "ab") as file:
        file.write(b"forged by the playbook\\n")

attack("list the jobs", lambda: os.listdir(state + "/spool/jobs"))
attack("read the identity of the agent", lambda: read(state + "/identity"))
attack("list the cache", lambda: os.listdir(state + "/cache"))
for name in ("claim.json", "extravars.yml", "output.log", "supervisor.json", "work/victim.yml"):
    attack("read " + name + " of the other job", lambda: read(victim + "/" + name))
attack("write into the folder of the other job", lambda: append(victim + "/forged"))
attack("write the output of the other job", lambda: append(victim + "/output.log"))
for name in ("environ", "mem", "maps"):
    attack("read " + name + " of the other playbook", lambda: look_into("/proc/%d/%s" % (victim_pids[0], name)))
    attack("read " + name + " of the supervisors", lambda: [look_into("/proc/%d/%s" % (pid, name)) for pid in supervisors])
attack("list the open files of the other playbook", lambda: os.listdir("/proc/%d/fd" % victim_pids[0]))
attack("list the open files of the supervisors", lambda: os.listdir("/proc/%d/fd" % supervisors[0]))
attack("list the open files of the agent", lambda: os.listdir("/proc/%d/fd" % agent_pid))
attack("signal the other playbook", lambda: os.kill(victim_pids[0], 0))
attack("signal the supervisors", lambda: [os.kill(pid, 0) for pid in supervisors])
attack("signal the agent", lambda: os.kill(agent_pid, 0))
attack("write the own output past the supervisor", lambda: append(job + "/output.log"))
attack("write the own events past the supervisor", lambda: append(job + "/events.jsonl"))
attack("write files such as end.json into the own job folder", lambda: append(job + "/forged"))
attack("read the order of the own job", lambda: read(job + "/claim.json"))

home = os.path.expanduser("~/.ansible")
attack("find what an earlier job has left at home", lambda: read(home + "/poison"))
attack("find what an earlier job has left in /tmp", lambda: read(sys.argv[3]))
os.makedirs(home, exist_ok=True)
append(home + "/poison")
append(sys.argv[3])
# Out of sight: another session, no parent, no environment.
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 100)
        os.execve("/bin/sleep", ["sleep", sys.argv[4]], {})
    os._exit(0)
`

const play = (tasks: string): string =>
  `- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n${tasks}`

const PLAYBOOKS = {
  'attack.py': ATTACK,
  'attack.yml': play(
    `    - ansible.builtin.command: /usr/bin/python3 attack.py {{ victim }} {{ agent }} {{ poison }} {{ nap }}\n      register: said\n    - ansible.builtin.debug: { var: said.stdout_lines }\n`,
  ),
  'victim.yml': play(
    `    - ansible.builtin.command: pwd\n      register: where\n    - ansible.builtin.debug: { msg: "at <{{ where.stdout }}>" }\n    - ansible.builtin.wait_for: { path: "{{ gate }}", timeout: 120, sleep: 1 }\n`,
  ),
}
const FORMS = {
  'attack.yaml':
    'name: attack\ntype: ansible\nplaybook: attack.yml\ndescription: a\nroles: [admin]\ncategories: []\nfields: [{name: victim, type: text}, {name: agent, type: number}, {name: poison, type: text}, {name: nap, type: text}]\n',
  'victim.yaml':
    'name: victim\ntype: ansible\nplaybook: victim.yml\ndescription: v\nroles: [admin]\ncategories: []\nfields: [{name: gate, type: text}, {name: password, type: text}]\n',
}

interface Attacks {
  readonly hits: readonly string[]
  readonly misses: readonly string[]
  readonly status: unknown
}

const USERS = `${FIRST_JOB_USER}..${FIRST_JOB_USER + 3}`

async function start(isolation: Record<string, string>): Promise<Product> {
  const product = await startProduct({
    forms: FORMS,
    playbooks: PLAYBOOKS,
    prepare: (folder) => {
      // As the folders above a real state folder are: others may pass.
      chmodSync(folder, 0o711)
      mkdirSync(join(folder, 'home'))
      return Promise.resolve({ controlPlane: {}, agent: { HOME: join(folder, 'home'), ...isolation } })
    },
  })
  onTestFinished(() => product.close())
  return product
}

/** Runs the attack twice beside a job that waits, and tells what the second one could do. */
async function attackTwice(product: Product): Promise<Attacks & { first: Attacks }> {
  const gate = join(product.folder, 'gate')
  const victim = await product.launch('victim', { gate, password: 'of the victim' })
  const folder = await waitFor('the victim to say where it is', async () => {
    const { output } = await product.admin.get<{ output: string }>(`/job/${victim}?text=true`)
    return /at <([^>]+)\/work>/.exec(output)?.[1]
  })
  const poison = join('/tmp', `holdfast-poison-${product.folder.split('-').at(-1) ?? ''}`)
  onTestFinished(() => rmSync(poison, { force: true }))
  const attack = async (): Promise<Attacks> => {
    const given = { victim: folder, agent: product.agent.pid, poison, nap: '631' }
    const ended = await product.waitForEnd(await product.launch('attack', given))
    const output = String(ended.output)
    const said = (word: string): string[] =>
      [...output.matchAll(new RegExp(`"${word} ([^"]+)"`, 'g'))].map(([, what]) => what ?? '')
    expect(said('NOBODY'), output).toEqual([])
    return { hits: said('HIT'), misses: said('MISS'), status: ended.status }
  }
  const first = await attack()
  const second = await attack()
  return { ...second, first }
}

describe('a playbook against its runner and the other jobs there', () => {
  test('without isolation it can do all of it: the attacks are real', async () => {
    const { hits, misses, first } = await attackTwice(await start({}))
    expect(misses).toEqual([])
    expect(hits.length).toBeGreaterThan(25)
    expect(first.misses).toHaveLength(2)
  })

  test('with users of their own for jobs it can do none of it', async () => {
    const product = await start({ RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: USERS })
    const { hits, misses, status, first } = await attackTwice(product)
    expect(first).toMatchObject({ hits: [], status: 'success' })
    expect(hits).toEqual([])
    expect(misses.length).toBeGreaterThan(25)
    expect(status).toBe('success')
  })
})
