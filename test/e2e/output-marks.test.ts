import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../interface/covers.js'
import { type Product, startProduct } from '../support/product.js'
import { storedOutput } from '../support/exactness.js'

/** Every piece of the output of a real playbook belongs to its event, and nothing of the marks is shown. */
let product: Product

const PLAYBOOK = `- name: first play
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: lines
      ansible.builtin.debug:
        msg: ["said-{{ inventory_hostname }}", "PLAY [of no play]"]
      changed_when: inventory_hostname == 'two'
      notify: tell
    - name: items
      ansible.builtin.debug:
        msg: "item-{{ inventory_hostname }}-{{ item }}"
      loop: [1, 2, 3]
    - name: tries
      ansible.builtin.command: /bin/false
      register: tried
      retries: 1
      delay: 0
      until: tried.rc == 0
      ignore_errors: true
    - name: warns
      ansible.builtin.command: /bin/echo "warned-{{ inventory_hostname }}"
  handlers:
    - name: tell
      ansible.builtin.debug:
        msg: "handled-{{ inventory_hostname }}"
- name: second play
  hosts: all
  strategy: free
  gather_facts: false
  connection: local
  tasks:
    - name: freely
      ansible.builtin.debug:
        msg: "free-{{ inventory_hostname }}"
`

interface Piece {
  readonly order: number
  readonly type: string
  readonly host: string | null
  readonly task: string | null
  readonly play: string | null
  readonly task_id: number | null
  readonly from: number | null
  readonly to: number | null
  readonly line: number | null
}

interface OutlineRecord {
  readonly id: number
  readonly kind: string
  readonly name: string
  readonly from: number | null
  readonly to: number | null
  readonly line: number | null
}

beforeAll(async () => {
  product = await startProduct({
    forms: {
      'marks.yml':
        'name: marks\ntype: ansible\nroles: [default]\nplaybook: marks.yml\ninventory: "one,two,three,"\nfields: []\n',
    },
    playbooks: { 'marks.yml': PLAYBOOK },
  })
})
afterAll(() => product.close())

async function piecesOf(id: number, query: string): Promise<string> {
  return (await product.admin.raw(`/job/${id}/output/pieces?${query}`)).bytes.toString('utf8')
}

test('what was printed between two events is the output of the second one, also in loops, retries and free plays', async () => {
  covers('endpoint.output-pieces')
  const id = await product.launch('marks')
  await product.waitForEnd(id)
  const output = await storedOutput(product, id)
  const text = (piece: { readonly from: number | null; readonly to: number | null }) =>
    output.subarray(piece.from ?? 0, piece.to ?? output.length).toString('utf8')
  const job = await product.admin.get<{ integrity: { state: string } }>(`/job/${id}?output=false`)
  expect(job.integrity.state).toBe('verified')
  expect(output.includes('\x1b_')).toBe(false)

  const { records } = await product.admin.get<{ records: Piece[] }>(`/job/${id}/events`)
  // Without a gap and without an overlap, from the first byte on.
  let at = 0
  for (const piece of records) {
    expect(piece.from).toBe(at)
    at = piece.to ?? -1
    expect(piece.line).toBe(
      output
        .subarray(0, piece.from ?? 0)
        .toString('latin1')
        .split('\n').length - 1,
    )
  }
  expect(at).toBe(output.length)

  const word: Record<string, string> = {
    lines: 'said-',
    items: 'item-',
    warns: 'changed: [',
    tell: 'handled-',
    freely: 'free-',
  }
  const results = records.filter(({ type }) => /^runner_(item_)?on_ok$/.test(type))
  expect(results.length).toBeGreaterThan(20)
  for (const result of results) {
    if (result.type === 'runner_on_ok' && result.task === 'items') continue
    expect(text(result)).toContain(`${word[result.task ?? ''] ?? '?'}${result.task === 'warns' ? '' : result.host}`)
    for (const other of ['one', 'two', 'three']) {
      if (other !== result.host) expect(text(result)).not.toContain(other)
    }
  }
  // In a free play ansible prints the heading with the first result.
  for (const start of records.filter(({ type, task }) => type.endsWith('task_start') && task !== 'freely')) {
    expect(text(start)).toMatch(new RegExp(`(TASK|HANDLER) \\[${start.task}\\]`))
  }
  for (const retry of records.filter(({ type }) => type === 'runner_retry')) {
    expect(text(retry)).toContain(`FAILED - RETRYING: [${retry.host}]: tries`)
  }

  const outline = await product.admin.get<{ records: OutlineRecord[] }>(`/job/${id}/outline`)
  const lines = output.toString('utf8').split('\n')
  for (const record of outline.records) {
    const word = { play: 'PLAY', task: 'TASK', handler: 'HANDLER' }[record.kind]
    // Ansible prints an empty line before each heading.
    expect(lines[(record.line ?? 0) + 1]).toContain(`${word} [${record.name}]`)
    // Each host of a free play begins its task by itself, and the first of them prints the heading.
    if (record.name !== 'freely') expect(text(record)).toContain(`${word} [${record.name}]`)
  }

  const said = await piecesOf(id, `host=two&task=${outline.records.find(({ name }) => name === 'lines')?.id}`)
  expect(said).toContain('said-two')
  expect(said).not.toMatch(/one|three|item/)
  const ofHost = await piecesOf(id, 'host=three')
  for (const own of ['said-three', 'item-three-3', 'free-three']) expect(ofHost).toContain(own)
  expect(ofHost).not.toMatch(/-one|-two/)
})
