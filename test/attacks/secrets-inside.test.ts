import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storedEvents, storedOutput } from '../support/exactness.js'
import { type Product, startProduct } from '../support/product.js'

/**
 * Secrets that are documents. The playbook prints what is inside of them, in the ways in which programs do, also by
 * chance. Nobody may find any of it, and ordinary words stay as they are.
 */
const unguessable = (length = 9) => `x${randomBytes(length).toString('hex')}`
const INSIDE = {
  apiKey: `api-${unguessable()}`,
  nested: `ne'st"ed ${unguessable()}`,
  short: `s${randomBytes(2).toString('hex')}`,
  keyLine: unguessable(30),
  dotenv: `env#${unguessable()}`,
  yaml: `ya'ml ${unguessable()}`,
  ofUrl: `p@ss/${unguessable()}`,
  ofPair: unguessable(),
  ofBasic: unguessable(),
  typed: `ty"ped ${unguessable()}`,
}
const HOSTS = { first: `web${unguessable()}`, second: `db${unguessable()}` }
const TASK = `task ${unguessable()}`
const MASK = '********'

const CREDENTIALS = {
  json: JSON.stringify({
    type: 'service_account',
    environment: 'production',
    api_key: INSIDE.apiKey,
    pin: INSIDE.short,
    deep: [{ what: INSIDE.nested, host: 'db.example.com', on: true }],
    private_key: `-----BEGIN PRIVATE KEY-----\n${INSIDE.keyLine}\n-----END PRIVATE KEY-----\n`,
  }),
  dotenv: `# of the shop\nMODE=production\nexport SHOP_SECRET="${INSIDE.dotenv}" # do not tell\n`,
  yaml: `db:\n  host: localhost\n  user: postgres\n  what: '${INSIDE.yaml.replaceAll("'", "''")}'\n`,
  url: `postgres://app:${encodeURIComponent(INSIDE.ofUrl)}@db.example.com:5432/shop`,
  pair: `admin:${INSIDE.ofPair}`,
  basic: JSON.stringify({
    auths: { 'r.example.com': { auth: Buffer.from(`me:${INSIDE.ofBasic}`).toString('base64') } },
  }),
  first_host: HOSTS.first,
  second_host: HOSTS.second,
  task: TASK,
}

const FORM = {
  name: 'inside',
  type: 'ansible',
  roles: ['default'],
  playbook: 'inside.yml',
  inventory: 'hosts',
  credentials: Object.fromEntries(Object.keys(CREDENTIALS).map((name) => [name, `the ${name}`])),
  fields: [
    { name: 'document', type: 'password' },
    { name: 'note', type: 'expression', runLocal: true, expression: "'key: ' + $(document).token" },
  ],
}

/** Prints texts as shells, languages and tools do. The texts come from the secrets themselves. */
const PRINTER = `import base64, json, shlex, sys, urllib.parse
def shown(text):
    data = text.encode()
    yield from (text, repr(text), ascii(text), repr(data), json.dumps(json.dumps(text)), shlex.quote(text))
    yield "".join("\\\\\\\\x%02x" % byte for byte in data)
    yield "".join("\\\\\\\\%03o" % byte for byte in data)
    yield "".join("\\\\\\\\" + letter for letter in text)
    yield urllib.parse.quote(text, safe="")
    yield urllib.parse.quote_plus(text).lower()
    yield "".join("%%%02x" % byte for byte in data)
    yield base64.b64encode(b"u:" + data + b":u").decode()
    yield base64.encodebytes(data * 9).decode()
    yield base64.urlsafe_b64encode(data).decode()
for part in json.load(sys.stdin):
    for way in shown(part):
        half = len(way) // 2
        sys.stdout.write(way[:half])
        sys.stdout.flush()
        print(way[half:])
`

const PLAYBOOK = `- name: on this machine
  hosts: localhost
  connection: local
  gather_facts: false
  vars:
    parts: >-
      {{ [(json.password | from_json).api_key, (json.password | from_json).pin, (json.password | from_json).deep[0].what,
      (json.password | from_json).private_key.splitlines()[1], dotenv.password | regex_search('env#\\w+'),
      (yaml.password | from_yaml).db.what, url.password | urldecode | regex_search('p@ss/\\w+'),
      pair.password.split(':')[1], ((basic.password | from_json).auths['r.example.com'].auth | b64decode).split(':')[1],
      (document | from_json).token] }}
  tasks:
    - name: print the parts
      ansible.builtin.command: {cmd: python3 print.py, stdin: "{{ parts | to_json }}"}
      register: printed
    - ansible.builtin.debug: {var: printed.stdout}
    - ansible.builtin.debug: {msg: "{{ parts }}"}
    - ansible.builtin.debug: {msg: "in production, postgres on localhost, db.example.com is a service_account; {{ note }}"}
    - name: "{{ task.password }}"
      ansible.builtin.debug: {msg: "{{ printed.stdout_lines }}"}
- name: on hosts that are called like a secret
  hosts: ${HOSTS.first}:${HOSTS.second}
  connection: local
  gather_facts: false
  tasks:
    - name: a
      ansible.builtin.debug: {msg: "on {{ inventory_hostname }}"}
    - name: b
      ansible.builtin.debug: {msg: again}
    - ansible.builtin.fail: {msg: only here}
      when: inventory_hostname == '${HOSTS.second}'
`

let product: Product
let jobId: number

beforeAll(async () => {
  product = await startProduct({
    forms: { 'inside.yml': JSON.stringify(FORM) },
    playbooks: {
      'inside.yml': PLAYBOOK,
      'print.py': PRINTER,
      hosts: `localhost ansible_connection=local\n${HOSTS.first}\n${HOSTS.second}\n`,
    },
  })
  for (const [name, password] of Object.entries(CREDENTIALS)) {
    await product.admin.post('/credential', { name: `the ${name}`, user: 'me', password })
  }
  const rawFormData = { document: JSON.stringify({ kind: 'production', token: INSIDE.typed }) }
  jobId = (await product.admin.post<{ id: number }>('/job', { formName: 'inside', rawFormData })).id
  await product.waitForEnd(jobId)
})
afterAll(() => product.close())

/** The parts of secrets that a text shows, in any of these forms. */
function foundIn(text: string): string[] {
  const forms = (part: string) => [
    part,
    JSON.stringify(part).slice(1, -1),
    encodeURIComponent(part),
    part.replaceAll("'", `'"'"'`),
    [...Buffer.from(part)].map((byte) => `x${byte.toString(16)}`).join('\\'),
    [...Buffer.from(part)].map((byte) => byte.toString(8).padStart(3, '0')).join('\\'),
    [...part].join('\\'),
    Buffer.from(part).toString('base64').slice(0, -4),
    Buffer.from(`u:${part}`).toString('base64').slice(4, -4),
  ]
  return Object.entries({ ...INSIDE, ...HOSTS, TASK }).flatMap(([name, part]) =>
    // Base64 of a few letters would be found by chance.
    forms(part).some((form) => form.length > 6 && text.includes(form)) ? [name] : [],
  )
}

describe('what is inside of secrets', () => {
  test('is in no output, event or answer, however the playbook prints it', async () => {
    const output = (await storedOutput(product, jobId)).toString()
    expect(output).toContain('print the parts')
    expect(foundIn(output)).toEqual([])
    expect(foundIn(JSON.stringify(await storedEvents(product, jobId)))).toEqual([])
    for (const path of ['', '?text=true', '/rawformdata', '/outline', '/matrix', '/events', '/download', '/output']) {
      const { bytes } = await product.admin.raw(`/job/${jobId}${path}`)
      expect([path, foundIn(bytes.toString())]).toEqual([path, []])
    }
    const job = await product.admin.get<{ extravars: object }>(`/job/${jobId}`)
    expect(job.extravars).toMatchObject({ document: MASK, note: MASK })
  })

  test('does not hide ordinary words', async () => {
    const output = (await storedOutput(product, jobId)).toString()
    expect(output).toContain('in production, postgres on localhost, db.example.com is a service_account; ')
  })
})

describe('a host or a task that is called like a secret', () => {
  test('has a mask for a name, and two such hosts stay apart', async () => {
    const { hosts } = await product.admin.get<{ hosts: string[] }>(`/job/${jobId}/matrix`)
    expect(hosts).toEqual(expect.arrayContaining([MASK, `${MASK} (2)`, 'localhost']))
    const events = await storedEvents(product, jobId)
    const order = events.find(({ type }) => type === 'playbook_on_stats')?.order
    const recap = await product.admin.get<{ result: Record<string, object> }>(`/job/${jobId}/events/${order}`)
    const [one, other] = [recap.result[MASK], recap.result[`${MASK} (2)`]]
    expect(Object.keys(recap.result)).toHaveLength(3)
    expect([one, other]).toEqual(
      expect.arrayContaining([expect.objectContaining({ failed: 0 }), expect.objectContaining({ failed: 1 })]),
    )
  })

  test('is told of once in the output, with the credential and without the secret', async () => {
    const output = (await storedOutput(product, jobId)).toString()
    for (const name of ['the first_host', 'the second_host', 'the task']) {
      const told = output.split('\n').filter((line) => line.includes('[holdfast] warning:') && line.includes(name))
      expect(told).toHaveLength(1)
    }
    expect(output).not.toContain("secret of the credential 'the json'")
  })
})
