import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keepWritten, expectExact, storedEvents, storedOutput } from '../support/exactness.js'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'
import { covers } from '../interface/covers.js'

/** A form launched over REST runs as a real playbook on an approved runner: one product, many jobs. */
let product: Product
let gates: string

/** What authors write into names of files. */
const ODD_NAME = "it's (a) [b] & größe #1; ✔"

const form = (name: string, more = 'fields: []\n') =>
  `name: ${name}\ntype: ansible\nroles: [default]\nplaybook: ${name}.yml\ninventory: localhost,\n${more}`

const play = (tasks: string) => `- name: the play
  hosts: all
  gather_facts: false
  connection: local
  tasks:
${tasks}`

beforeAll(async () => {
  gates = mkdtempSync(join(tmpdir(), 'holdfast-gates-'))
  product = await startProduct({
    forms: {
      'hello.yml': form('hello', 'fields: [{name: greeted, type: text}, {name: token, type: text}]\n'),
      'fails.yml': form('fails'),
      'waits.yml': form('waits'),
      'missing.yml': form('missing'),
      'colours.yml': form('colours', 'fields: [{name: injected, type: text}]\n'),
      'numbers.yml': form('numbers', 'fields: [{name: numbers, type: yaml}]\n'),
      'names.yml': JSON.stringify({
        name: 'names',
        roles: ['default'],
        playbook: `${ODD_NAME}.yml`,
        playbookSubPath: `sub ${ODD_NAME}`,
        inventory: `sub ${ODD_NAME}/${ODD_NAME}.ini`,
        fields: [{ name: '__playbook__', type: 'text' }],
      }),
      'elsewhere.yml': form('elsewhere', 'fields: []\nrunner: nobody\n'),
      'arguments.yml': `name: arguments
type: ansible
roles: [default]
playbook: arguments.yml
playbookSubPath: sub
inventory: ["one,", "two,three,"]
limit: two
tags: wanted
check: true
fields: [{name: __limit__, type: text}]
`,
    },
    playbooks: {
      'hello.yml': play(
        '    - name: say hello\n      ansible.builtin.debug:\n        msg: "hello {{ greeted | default(\'world\') }} from {{ ansibleforms_user.username }} in job {{ __jobid__ }}"\n',
      ),
      'fails.yml': play('    - name: break\n      ansible.builtin.command: /bin/false\n'),
      'waits.yml': play(
        `    - name: wait\n      ansible.builtin.shell: echo waiting; until [ -e ${join(gates, 'open')} ]; do sleep 0.05; done\n`,
      ),
      'colours.yml': play(
        '    - name: markup\n      ansible.builtin.debug:\n        msg: "<b>bold</b> & {{ injected }}"\n',
      ),
      'numbers.yml': play(
        `    - name: given\n      ansible.builtin.debug:\n        var: numbers\n    - name: large\n      ansible.builtin.debug:\n        msg: "{{ '{\\"big\\": [1180591620717411303424, -1152921504606846977, 0.1]}' | from_json }}"\n`,
      ),
      [`sub ${ODD_NAME}/${ODD_NAME}.yml`]: play(
        '    - ansible.builtin.debug: {msg: "{{ inventory_file | basename }}"}\n',
      ),
      [`sub ${ODD_NAME}/${ODD_NAME}.ini`]: 'localhost\n',
      'elsewhere.yml': play('    - ansible.builtin.debug:\n'),
      'sub/arguments.yml': play(
        "    - name: wanted task\n      tags: wanted\n      ansible.builtin.debug:\n        msg: \"check={{ ansible_check_mode }} {{ lookup('file', 'beside.txt') }}\"\n    - name: unwanted task\n      ansible.builtin.debug:\n",
      ),
      'sub/beside.txt': 'a file beside the playbook',
    },
    agent: { RTE_MAX_JOBS: '2' },
  })
})

afterAll(async () => {
  await product.close()
  rmSync(gates, { recursive: true, force: true })
})

describe('a playbook job', () => {
  test('runs, and every way to read it agrees', async () => {
    covers(
      'endpoint.job-detail',
      'endpoint.outline',
      'service.job-is-a-run',
      'service.playbook-job',
      'service.on-a-runner',
      'status.success',
      'job.status',
      'job.subjobs',
      'job.output-html',
      'job.output-text',
      'endpoint.download',
      'rule-8.cover',
      'rule-9.result',
      'detail.fields',
      'property.user',
    )
    const jobId = await product.launch('hello', { greeted: 'reader', token: 'hide me' })
    const written = await keepWritten(product, jobId)
    const job = await product.waitForEnd(jobId)
    expect(job).toMatchObject({
      id: jobId,
      form: 'hello',
      target: 'hello',
      job_type: 'ansible',
      status: 'success',
      status_reason: null,
      detail: null,
      user: 'admin',
      user_type: 'local',
      runner: 'test-runner',
      parent_id: null,
      abort_requested: false,
      abandoned_at: null,
      subjobs: [],
    })
    expect(job.extravars).toEqual(job.payload)
    expect(job.extravars).toMatchObject({ greeted: 'reader', token: '********', __jobid__: jobId })
    expect(String(job.output)).toContain(`hello reader from admin in job ${jobId}`)
    expect(String(job.output)).not.toContain('\u001b')
    expect(String((await product.admin.get(`/job/${jobId}`)).output)).toMatch(/<span style="color/)
    const download = await product.admin.raw(`/job/${jobId}/download`)
    expect(download.headers.get('content-disposition')).toBe(`attachment; filename="holdfast-job-${jobId}.txt"`)
    expect(download.bytes.toString()).toBe(job.output)
    await expectExact(product, jobId, written)

    const events = await storedEvents(product, jobId)
    expect(events.map((event) => event.type)).toEqual([
      'playbook_on_start',
      'playbook_on_play_start',
      'playbook_on_task_start',
      'runner_on_start',
      'runner_on_ok',
      'playbook_on_stats',
    ])
    const ok = await product.admin.get(`/job/${jobId}/events/5`)
    expect(ok).toMatchObject({ order: 5, type: 'runner_on_ok', host: 'localhost', task: 'say hello', play: 'the play' })
    expect(JSON.stringify(ok.result)).toContain('hello reader')
    expect(await product.admin.get(`/job/${jobId}/events?after=4&limit=1`)).toMatchObject({
      count: 1,
      records: [{ order: 5, task_id: 2, play_id: 1, action: 'ansible.builtin.debug' }],
    })

    const detail = await product.admin.get(`/job/${jobId}?output=false`)
    const output = await product.admin.raw(`/job/${jobId}/output`)
    const runnersPart = createHash('sha256').update(output.bytes).digest('hex')
    expect(detail).toMatchObject({
      place: null,
      history: [{ from: 'running', to: 'success' }],
      streams: { output: { bytes: output.bytes.length }, events: { count: 6 } },
      integrity: { state: 'verified', output_sha256: runnersPart },
    })
    expect(await product.admin.get(`/job/${jobId}/outline`)).toMatchObject({
      records: [
        { kind: 'play', name: 'the play', hosts: 0 },
        { kind: 'task', name: 'say hello', role: null, ok: 1, failed: 0, hosts: 1 },
      ],
    })
    expect(await product.admin.get(`/job/${jobId}/matrix`)).toMatchObject({ hosts: ['localhost'], cells: ['o'] })
  })

  test('that fails says why', async () => {
    covers('status.failed')
    const job = await product.waitForEnd(await product.launch('fails'))
    expect(job).toMatchObject({ status: 'failed', status_reason: 'ansible-playbook ended with 2: a host failed' })
  })

  test('whose playbook is missing fails and names it', async () => {
    const job = await product.waitForEnd(await product.launch('missing'))
    expect(job.status).toBe('failed')
    expect(job.status_reason).toContain('missing.yml')
  })

  test('gets its arguments from the form and from declared fields, and its files from the folder', async () => {
    covers('property.arguments', 'property.fill')
    const job = await product.waitForEnd(await product.launch('arguments', { __limit__: 'three', __tags__: 'sneaked' }))
    expect(job.status, String(job.status_reason)).toBe('success')
    expect(job.output).toContain('ok: [three]')
    expect(job.output).toContain('check=True a file beside the playbook')
    expect(job.output).not.toContain('unwanted')
    expect(job.output).not.toContain('two')
  })

  test('runs files with any names that the author gave them, and takes only plain names of users', async () => {
    const job = await product.waitForEnd(await product.launch('names'))
    expect(job).toMatchObject({ status: 'success', status_reason: null })
    expect(String(job.output)).toContain(`"msg": "${ODD_NAME}.ini"`)
    const typed = { formName: 'names', rawFormData: { __playbook__: "a'; (b).yml" } }
    expect(await product.admin.request('POST', '/job', typed)).toMatchObject({ status: 422 })
  })

  test('shows markup and templates of values as they are', async () => {
    covers('property.jinja')
    const jobId = await product.launch('colours', { injected: '{{ lookup("pipe", "id") }}' })
    expect((await product.waitForEnd(jobId)).status).toBe('success')
    const html = String((await product.admin.get(`/job/${jobId}`)).output)
    expect(html).toContain('&lt;b&gt;bold&lt;/b&gt; &amp;')
    expect(html).not.toContain('uid=')
  })

  test('uses the files as they are at the time, and the runner keeps none of a job that ended', async () => {
    const path = join(product.folder, 'persistent/playbooks/hello.yml')
    const before = readFileSync(path, 'utf8')
    writeFileSync(path, before.replace('hello {{', 'goodbye {{'))
    const job = await product.waitForEnd(await product.launch('hello'))
    writeFileSync(path, before)
    expect(job.output).toContain('goodbye world')
    await waitFor('an empty spool', () => readdirSync(join(product.folder, 'rte-state/spool/jobs')).length === 0)
  })

  test('large extra variables reach the playbook whole', async () => {
    const greeted = `start ${'x'.repeat(600_000)} end`
    const job = await product.waitForEnd(await product.launch('hello', { greeted }))
    expect(job.status).toBe('success')
    expect(String(job.output)).toContain(greeted)
  })

  test('gets the numbers that were launched with, and shows those that it made, digit by digit', async () => {
    covers('launch.numbers')
    const drawn = [
      ...fc.sample(fc.double({ noNaN: true, min: -(2 ** 53), max: 2 ** 53, minExcluded: true, maxExcluded: true }), {
        numRuns: 200,
        seed: 14,
      }),
      ...fc.sample(fc.maxSafeInteger(), { numRuns: 200, seed: 14 }),
      // JSON has no minus before a zero.
    ].map((number) => number || 0)
    const numbers = [
      ...drawn,
      0,
      -1,
      9007199254740991,
      -9007199254740991,
      0.1,
      1.5e-7,
      2.5e30,
      0.30000000000000004,
      123456.789,
    ]
    const post = (numeral: string) =>
      fetch(`${product.address}/api/v2/job`, {
        method: 'POST',
        headers: { authorization: `Bearer ${product.admin.token}`, 'content-type': 'application/json' },
        body: `{"formName":"numbers","rawFormData":{"numbers":[1, ${numeral}]}}`,
      })
    for (const numeral of [
      '9007199254740993',
      '1152921504606846976',
      '1180591620717411303424',
      '-1152921504606846977',
      '1e400',
      '0.1234567890123456789012',
      '3.14159265358979323846264338327950288',
    ]) {
      const refused = await post(numeral)
      expect(refused.status).toBe(400)
      expect(await refused.json()).toMatchObject({
        code: 'inexact_number',
        error: `rawFormData.numbers[1]: the number ${numeral} cannot be kept digit by digit; send it as a text`,
      })
    }
    const jobId = await product.launch('numbers', { numbers })
    expect((await product.waitForEnd(jobId)).status).toBe('success')
    const resultOf = async (task: string) => {
      const query = `task=${task}&type=runner_on_ok`
      const { records } = await product.admin.get<{ records: { order: number }[] }>(`/job/${jobId}/events?${query}`)
      const { bytes } = await product.admin.raw(`/job/${jobId}/events/${records[0]?.order ?? 0}`)
      return bytes.toString('utf8')
    }
    expect((JSON.parse(await resultOf('given')) as { result: unknown }).result).toMatchObject({ numbers })
    expect(await resultOf('large')).toContain('"big":[1180591620717411303424,-1152921504606846977,0.1]')
  })

  test('past the runner’s limit waits its turn, says so once, and can be aborted there', async () => {
    covers('status.running', 'over-time.running-waits', 'detail.abort-answers', 'action.abort')
    const running = [await product.launch('waits'), await product.launch('waits')]
    const waiting = [await product.launch('waits'), await product.launch('hello'), await product.launch('hello')]
    for (const jobId of waiting) {
      await waitFor(`job ${jobId} to say that it waits`, async () =>
        String((await product.admin.get(`/job/${jobId}?text=true`)).output).startsWith(
          'Waiting for a free slot on runner test-runner\n',
        ),
      )
      expect((await product.admin.get(`/job/${jobId}`)).status).toBe('running')
    }
    expect(await product.admin.post(`/job/${waiting[0]}/abort`)).toHaveProperty('message')
    expect(await product.admin.get(`/job/${waiting[0]}`)).toMatchObject({
      status: 'aborted',
      status_reason: 'aborted by admin before it started',
    })
    for (const jobId of running)
      await waitFor(`job ${jobId} to run`, async () => (await storedOutput(product, jobId)).includes('TASK'))
    writeFileSync(join(gates, 'open'), '')
    for (const jobId of [...running, ...waiting.slice(1)]) {
      const job = await product.waitForEnd(jobId)
      expect(job.status).toBe('success')
      expect(String(job.output).split('Waiting for a free slot').length - 1).toBe(waiting.includes(jobId) ? 1 : 0)
    }
    rmSync(join(gates, 'open'))
  })

  test('is aborted with its whole process tree; a second request is refused', async () => {
    covers('status.aborted', 'move.abort', 'endpoint.abort', 'detail.abort-answers', 'detail.abort-twice')
    const jobId = await product.launch('waits')
    await waitFor('the task to run', async () =>
      (await storedEvents(product, jobId)).some((event) => event.type === 'runner_on_start'),
    )
    await product.admin.post(`/job/${jobId}/abort`)
    const again = await product.admin.request('POST', `/job/${jobId}/abort`)
    expect(again.status).toBe(409)
    const job = await product.waitForEnd(jobId)
    expect(job).toMatchObject({ status: 'aborted', status_reason: 'aborted by admin', abort_requested: true })
    expect(existsSync('/proc')).toBe(true)
    const left = readdirSync('/proc').filter(
      (pid) => /^\d+$/.test(pid) && commandLineOf(pid).includes(join(gates, 'open')),
    )
    expect(left).toEqual([])
  })
})

/** The command line of a process, empty when it ended meanwhile. */
function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
