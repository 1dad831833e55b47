import { execFile } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { wordsOfSecret } from '@holdfast/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createFaults } from '../chaos/kit/preload/faults.js'
import { waitFor } from '../support/wait.js'
import { JobFolder } from './job-folder.js'

/** The pipes, files in memory and hidden values that the agent tells the supervisor over its standard input. */
function told(pipes: Record<string, string>, hidden: string[] = [], files: Record<string, string> = {}): string {
  return `${JSON.stringify({ pipes, files, hidden })}\n`
}

/** What the agent tells the callback. */
const valuesOf = (words: string[]) => JSON.stringify({ words, origins: words.map(() => 'the test') })

const sh = (script: string) => JobFolder.create({ argv: ['/bin/sh', '-c', script, 'sh', '@FOLDER@'] })

async function jobOf(script: string): Promise<JobFolder> {
  const job = await sh(script)
  await job.replaceInOrders('@FOLDER@', job.path)
  return job
}

const SECRET = 'a-canary-of-the-supervisor'

describe('a supervisor with secrets', () => {
  test('gives the content of each pipe once, whole, and leaves no pipe', async () => {
    const job = await jobOf(
      'cat "$1/a"; echo; head -c 3 "$1/b"; cat "$1/c" | wc -c; until [ ! -e "$1/a" ] && [ ! -e "$1/b" ] && [ ! -e "$1/c" ]; do sleep 0.02; done; cat "$1/a" "$1/b"; ls "$1"',
    )
    const large = 'x'.repeat(300_000)
    job.startWithSecrets(told({ a: 'the first', b: 'abcdef', c: large }))
    await job.end()
    const lines = (await job.output()).split('\n').map((line) => line.trim())
    expect(lines.slice(0, 2)).toEqual(['the first', 'abc300000'])
    expect(lines.slice(2, 4).every((line) => line.endsWith('No such file or directory'))).toBe(true)
    expect(lines.filter((line) => /^[abc](\.new)?$/.test(line))).toEqual([])
  })

  test('gives the playbook no input but /dev/null, as one without secrets has', async () => {
    const job = await jobOf('readlink /proc/self/fd/0')
    job.startWithSecrets(told({ a: SECRET }))
    await job.end()
    expect(await job.output()).toBe('/dev/null\n')
  })

  test('gives nothing to a process of another session, and the content to the job all the same', async () => {
    const job = await jobOf('until [ -e "$1/go" ]; do sleep 0.02; done; cat "$1/a"')
    job.startWithSecrets(told({ a: SECRET }))
    await waitFor('the pipe', () => existsSync(job.file('a')))
    // This process is not of the job: it has the same user, as the playbooks of other jobs have.
    for (let round = 0; round < 3; round += 1) {
      expect(await promisify(execFile)('cat', [job.file('a')])).toMatchObject({ stdout: '', stderr: '' })
    }
    writeFileSync(job.file('go'), '')
    await job.end()
    expect(await job.output()).toBe(SECRET)
  })

  test('takes nobody for a stranger because /proc could not be read: it looks again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-faults-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const faults = await createFaults(folder)
    const job = await jobOf('touch "$1/ready"; until [ -e "$1/go" ]; do sleep 0.02; done; cat "$1/a"')
    job.startWithSecrets(told({ a: SECRET }), { ...faults.environments.agent })
    await waitFor('the job to run', () => existsSync(job.file('ready')))
    const fault = faults.arm({
      operation: 'open',
      path: '/proc/[0-9]*/stat',
      action: 'EMFILE',
      calls: { first: 1, count: 5 },
    })
    writeFileSync(job.file('go'), '')
    await job.end()
    expect([fault.tally().met, await job.output()]).toEqual([5, SECRET])
  })

  test('puts files into memory, for their owner only, and their paths in place of their marks', async () => {
    const job = await jobOf(
      'f=$(cat "$1/vars"); echo "$f"; cat "$f" | tr a-z A-Z; echo; cat "$f" | wc -c; stat -Lc %a "$f"',
    )
    job.startWithSecrets(told({ vars: 'the-mark' }, [SECRET], { 'the-mark': SECRET }))
    await job.end()
    const [path, content, length, mode] = (await job.output()).split('\n')
    expect(path).toMatch(/^\/proc\/\d+\/fd\/\d+$/)
    expect(content).toBe(SECRET.toUpperCase())
    expect(Number(length)).toBe(SECRET.length)
    expect(mode).toBe('600')
    expect(existsSync(path ?? '')).toBe(false)
  })

  test('hides values in output, also when one is printed in two halves', async () => {
    const half = SECRET.length / 2
    const job = await jobOf(
      `s=$(cat "$1/a"); printf 'x %.${half}s' "$s"; touch "$1/half"; until [ -e "$1/go" ]; do sleep 0.02; done; printf '%s y\\n' "\${s#${SECRET.slice(0, half)}}"`,
    )
    job.startWithSecrets(told({ a: SECRET }, [SECRET]))
    await waitFor('the first half to be printed', () => existsSync(job.file('half')))
    await waitFor('what is no secret to be written', () => readFileSync(job.file('output.log'), 'utf8') === 'x ')
    writeFileSync(job.file('go'), '')
    await job.end()
    expect(await job.output()).toBe('x ******** y\n')
  })

  test('shows a line that is no secret at once, and a beginning that stays one at the end', async () => {
    const job = await jobOf(`echo first; until [ -e "$1/go" ]; do sleep 0.02; done; printf '%s' ${SECRET.slice(0, 9)}`)
    job.startWithSecrets(told({}, [SECRET]))
    await waitFor(
      'the first line',
      () => existsSync(job.file('output.log')) && readFileSync(job.file('output.log'), 'utf8') === 'first\n',
    )
    writeFileSync(job.file('go'), '')
    await job.end()
    expect(await job.output()).toBe(`first\n${SECRET.slice(0, 9)}`)
  })

  test('leaves no secret in its command line, its environment, its folder or the playbook’s environment', async () => {
    const job = await jobOf('cat "$1/a" > /dev/null; env; touch "$1/ready"; until [ -e "$1/go" ]; do sleep 0.02; done')
    job.startWithSecrets(told({ a: SECRET }, [SECRET]))
    await waitFor('the job to run', () => existsSync(job.file('ready')))
    for (const what of ['cmdline', 'environ']) {
      expect(readFileSync(join('/proc', String(job.supervisorPid), what), 'utf8')).not.toContain(SECRET)
    }
    const files = readdirSync(job.path).filter((name) => statSync(job.file(name)).isFile())
    for (const name of files) expect(readFileSync(job.file(name), 'utf8'), name).not.toContain(SECRET)
    writeFileSync(job.file('go'), '')
    await job.end()
    expect(await job.output()).not.toContain('****')
  })

  test.each([
    ['nothing', ''],
    ['a part', told({ a: SECRET }, [SECRET]).slice(0, -20)],
    ['all but the last byte', told({ a: SECRET }, [SECRET]).slice(0, -1)],
    ['something else', '[]\n'],
  ])('that is told %s starts nothing and leaves no mark, so that the job can be started again', async (_, input) => {
    const job = await jobOf('echo started')
    job.startWithSecrets(input)
    expect(await job.exitOfSupervisor()).toBe(18)
    expect(readdirSync(job.path)).toEqual(['supervisor.json'])
    job.startWithSecrets(told({}, []))
    expect((await job.end()).exit_code).toBe(0)
    expect(await job.output()).toBe('started\n')
  })

  test('ends as ever when nobody reads a pipe, and leaves none', async () => {
    const job = await jobOf('echo done')
    job.startWithSecrets(told({ a: SECRET, b: SECRET }, [SECRET]))
    expect((await job.end()).cause).toBe('exited')
    expect(readdirSync(job.path).filter((name) => /^[ab]/.test(name))).toEqual([])
  })

  test('hides values in what the end says', async () => {
    const job = await JobFolder.create({ argv: [`/no/${SECRET}/program`] })
    job.startWithSecrets(told({}, [SECRET]))
    const { cause, message } = await job.end()
    expect([cause, message]).toEqual(['spawn_failed', expect.stringContaining('/no/********/program')])
  })

  test('hides values in events of every kind, in names and keys, also in what is cut', async () => {
    const folder = (await JobFolder.create({ argv: [] })).path
    const lines = `${SECRET}\nline two of it`
    writeFileSync(
      join(folder, 'site.yml'),
      `- name: "play {{ s }}"
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: "${'n'.repeat(990)} {{ s }}"
      debug: {msg: "{{ s }}"}
    - name: nested
      debug: {msg: {a: [{b: "x{{ s }}y"}], c: "{{ {s: s | to_json | to_json} }}"}}
    - name: long
      debug: {msg: "{{ 'x' * 130000 }}{{ (s ~ ' ') * 6000 }}{{ 'y' * 130000 }}"}
    - name: number
      debug: {msg: {n: "{{ number | int }}"}}
    - name: lines
      debug: {var: many.splitlines()}
    - name: loop
      debug: {msg: "{{ item }}"}
      loop: ["{{ 'i' * 990 }}{{ s }}", "{{ many }}"]
`,
    )
    const job = await JobFolder.ofPlaybook(folder, ['-i', 'localhost,', '-e', '@@FOLDER@/secret-vars', 'site.yml'], {
      env: { HOLDFAST_SECRETS_FILE: '@FOLDER@/secret-values', ANSIBLE_JINJA2_NATIVE: 'true' },
    })
    const orders = JSON.parse(readFileSync(job.file('supervisor.json'), 'utf8')) as { env: Record<string, string> }
    orders.env.HOLDFAST_SECRETS_FILE = '@FOLDER@/secret-values'
    orders.env.ANSIBLE_JINJA2_NATIVE = 'true'
    writeFileSync(job.file('supervisor.json'), JSON.stringify(orders))
    await job.replaceInOrders('@FOLDER@', job.path)
    const hidden = [SECRET, '4711471147', lines].flatMap((secret) => wordsOfSecret(secret))
    const vars = JSON.stringify({ s: SECRET, number: '4711471147', many: lines })
    job.startWithSecrets(told({ 'secret-vars': vars, 'secret-values': valuesOf(hidden) }, hidden))
    expect((await job.end()).exit_code, await job.output()).toBe(0)
    const text = readFileSync(job.file('events.jsonl'), 'utf8')
    const events = await job.events()
    for (const shown of [text, await job.output()]) {
      expect(shown).not.toContain(SECRET)
      // What is cut is not cut in the middle of a secret either.
      expect(shown).not.toContain(SECRET.slice(0, 12))
      expect(shown).not.toContain(SECRET.slice(-12))
      expect(shown).not.toContain('4711471147')
      expect(shown).not.toContain('line two of it')
    }
    expect(events.find(({ type }) => type === 'playbook_on_play_start')?.play).toBe('play ********')
    expect(text).toContain('"x********y"')
    expect(text).toContain('"********":')
    expect((await job.report()).errors).toBe(0)
  })
})
