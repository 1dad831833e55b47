import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keepWritten, keptOf } from '../support/exactness.js'
import { countLines } from '../support/gated-playbook.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { killPlaybook, leftOf } from './kit/leftovers.js'
import { compareStored } from './kit/stored.js'

/** Point 12: what a playbook starts and does not end ends with the job, wherever it has hidden, and the job says the truth. */
const FORM = `name: tree
type: ansible
roles: [default]
playbook: tree.yml
inventory: localhost,
fields:
  - {name: token, type: text}
  - {name: script, type: text}
  - {name: count, type: number}
  - {name: waits, type: checkbox}
  - {name: background, type: checkbox}
`

const PLAYBOOK = `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: note the start
      ansible.builtin.raw: echo started >> {{ token }}.starts
    - name: the script
      ansible.builtin.shell: "{{ script }}"
      async: "{{ 600 if background | default(false) else 0 }}"
      poll: 0
    - name: all of them are there
      ansible.builtin.raw: until [ $(ls {{ token }}.pid-* | wc -l) -ge {{ count }} ]; do sleep 0.05; done
    - name: the rest of it
      ansible.builtin.debug:
        msg: "the playbook went on"
    - name: wait for an abort
      ansible.builtin.raw: touch {{ token }}.waits; while :; do sleep 0.05; done
      when: waits | default(false)
`

/** Stays until it is ended. The token is the first argument, so that it is found without its environment. */
const STAY = `import os, signal, sys, time

token, *ways = sys.argv[1:]
if "bare" in ways:
    ways.remove("bare")
    os.execve(sys.executable, [sys.executable, os.path.abspath(__file__), token, *ways], {})
if "holding" in ways:
    # The very pipe that the supervisor reads, as a daemon holds it that was started by ansible itself.
    pid, parent = 0, os.getpid()
    while b"supervisor.py" not in open("/proc/%d/cmdline" % parent, "rb").read():
        pid, parent = parent, int(open("/proc/%d/stat" % parent).read().rpartition(")")[2].split()[1])
    output = os.open("/proc/%d/fd/1" % pid, os.O_WRONLY)
    os.dup2(output, 1)
if "deaf" in ways:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
if "daemon" in ways:
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
if "bomb" in ways:
    for _ in range(6):
        os.fork()
    os.setpgid(0, 0)
open(token + ".pid-%d" % os.getpid(), "w").close()
while "holding" in ways:
    os.write(1, b"still here\\n")
    time.sleep(0.1)
time.sleep(3600)
`

interface Case {
  readonly script: (token: string) => string
  /** Processes that it starts. */
  readonly count: number
  readonly background?: boolean
}

const QUIET = '> /dev/null 2>&1 < /dev/null'

const CASES: Readonly<Record<string, Case>> = {
  'a daemon that holds the output and goes on printing': {
    script: (token) => `python3 stay.py ${token} holding daemon ${QUIET}`,
    count: 1,
  },
  'a daemon in a session of its own, deaf and without its environment': {
    script: (token) => `python3 stay.py ${token} bare daemon deaf ${QUIET}`,
    count: 1,
  },
  'a fork bomb, each of it in a group of its own': {
    script: (token) => `python3 stay.py ${token} daemon bomb ${QUIET}`,
    count: 64,
  },
  'nohup in the background': { script: (token) => `nohup python3 stay.py ${token} ${QUIET} &`, count: 1 },
  'a background task that nobody polls': {
    script: (token) => `python3 stay.py ${token}`,
    count: 1,
    background: true,
  },
}

/** What an abort meets: nobody here goes at the first word. */
const STUBBORN: Readonly<Record<string, Case>> = {
  'a child that ignores SIGINT and SIGTERM': {
    script: (token) => `python3 stay.py ${token} deaf ${QUIET} &`,
    count: 1,
  },
  'deaf daemons without their environment, many at once': {
    script: (token) => `python3 stay.py ${token} bare daemon deaf bomb ${QUIET}`,
    count: 64,
  },
}

let chaos: ChaosProduct
let launched = 0

interface Launched {
  readonly jobId: number
  readonly token: string
  /** The job's end, after which it is exact, was started once, and has left nothing. */
  end(): Promise<Record<string, unknown>>
  isThere(count: number): Promise<unknown>
}

async function launch(script: (token: string) => string, extravars: Record<string, unknown>): Promise<Launched> {
  const { product } = chaos
  launched += 1
  const token = join(product.folder, 'truth', `tree-${launched}-`)
  const jobId = await product.launch('tree', { ...extravars, token, script: script(token) })
  await keepWritten(product, jobId)
  const named = (suffix: string) =>
    readdirSync(dirname(token)).filter((name) => name.startsWith(basename(token) + suffix))
  const starts = () => countLines(`${token}.starts`)
  return {
    jobId,
    token,
    isThere: (count) => waitFor(`${count} processes of job ${jobId}`, () => named('.pid-').length >= count),
    async end() {
      const job = await product.waitForEnd(jobId)
      expect(await leftOf(product, jobId, token)).toEqual([])
      const truth = { ...keptOf(product, jobId), starts }
      const { problems } = await compareStored(product, jobId, truth)
      expect(problems).toEqual([])
      expect(starts()).toBe(1)
      return job
    },
  }
}

/** The test's own look finds the process of a job that cleaned its environment, or it would prove nothing. */
async function expectFound({ jobId, token }: Launched, count: number): Promise<void> {
  expect((await leftOf(chaos.product, jobId, token)).length).toBeGreaterThanOrEqual(count)
}

beforeAll(async () => {
  chaos = await startChaos({
    forms: { 'tree.yml': FORM },
    playbooks: { 'tree.yml': PLAYBOOK, 'stay.py': STAY },
  })
})
afterAll(() => chaos.close())

describe.concurrent('a process that a playbook leaves', () => {
  test.each(Object.entries(STUBBORN))('%s is ended by an abort', async (_name, { script, count }) => {
    const job = await launch(script, { count, waits: true })
    await job.isThere(count)
    await expectFound(job, count)
    await chaos.product.admin.post(`/job/${job.jobId}/abort`)
    expect(await job.end()).toMatchObject({
      status: 'aborted',
      status_reason: 'aborted by admin',
      abort_requested: true,
    })
  })

  test('nothing is left either when supervisor and playbook are killed', async () => {
    const job = await launch((token) => `python3 stay.py ${token} bare daemon deaf bomb ${QUIET}`, {
      count: 64,
      waits: true,
    })
    await job.isThere(64)
    await expectFound(job, 64)
    killPlaybook(chaos.product, job.jobId)
    expect(await job.end()).toMatchObject({
      status: 'failed',
      status_reason: 'the supervisor of the playbook was ended',
    })
  })
  test.each(Object.entries(CASES))('%s is ended with it', async (_name, { script, count, background }) => {
    const job = await launch(script, { count, background: background === true })
    await job.isThere(count)
    expect(await job.end()).toMatchObject({ status: 'success', status_reason: null, detail: null })
  })
})

describe('an agent that was away', () => {
  test('ends what is left of a job whose supervisor and playbook died meanwhile', async () => {
    const { product } = chaos
    const job = await launch((token) => `python3 stay.py ${token} bare daemon deaf ${QUIET}`, { count: 1, waits: true })
    await job.isThere(1)
    await product.agent.stop('SIGKILL')
    killPlaybook(product, job.jobId)
    await expectFound(job, 1)
    product.startAgent()
    expect(await job.end()).toMatchObject({
      status: 'failed',
      status_reason: 'the supervisor of the playbook was ended',
    })
  })
})
