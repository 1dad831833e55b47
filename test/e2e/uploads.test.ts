import { createHash, randomBytes } from 'node:crypto'
import { openAsBlob, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FaultyProxy, startFaultyProxy } from '../chaos/kit/faulty-proxy.js'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'
import { covers } from '../interface/covers.js'

/** A file goes from a user's HTTP request through both programs into a real playbook. */
const MIB = 1024 * 1024

let product: Product
let proxy: FaultyProxy | null = null

beforeAll(async () => {
  product = await startProduct({
    forms: {
      'install.yml': `name: install
type: ansible
roles: [default]
playbook: install.yml
inventory: localhost,
fields: [{name: cert, type: file}, {name: key, type: file}]
`,
    },
    playbooks: {
      'install.yml': `- name: install
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: look at the file
      ansible.builtin.stat: {path: "{{ cert.path }}", checksum_algorithm: sha256}
      register: found
    - name: tell
      ansible.builtin.debug:
        msg: "sha256={{ found.stat.checksum }} size={{ found.stat.size }} mode={{ found.stat.mode }} name={{ cert.originalname }} at={{ cert.path }}"
`,
    },
    dial: async (address) => {
      proxy = await startFaultyProxy(address)
      return proxy.address
    },
  })
})
afterAll(async () => {
  await product.close()
  await proxy?.close()
})

async function uploadFile(path: string, name: string): Promise<Record<string, unknown>> {
  const form = new FormData()
  form.append('file', await openAsBlob(path), name)
  const response = await fetch(`${product.address}/api/v2/job/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${product.admin.token}` },
    body: form,
  })
  if (response.status !== 200) throw new Error(`upload: ${response.status} ${await response.text()}`)
  return (await response.json()) as Record<string, unknown>
}

async function launchWith(cert: unknown): Promise<number> {
  const { id } = await product.admin.post<{ id: number }>('/job', {
    formName: 'install',
    rawFormData: {},
    files: { cert },
  })
  return id
}

/** A file of that many random megabytes, and its SHA-256. */
function makeFile(name: string, megabytes: number): { path: string; sha256: string } {
  const path = join(product.folder, name)
  const hash = createHash('sha256')
  writeFileSync(path, '')
  for (let done = 0; done < megabytes; done += 1) {
    const bytes = randomBytes(MIB)
    hash.update(bytes)
    writeFileSync(path, bytes, { flag: 'a' })
  }
  return { path, sha256: hash.digest('hex') }
}

/** The most memory that a process ever had, in megabytes. */
function highWater(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

describe('an uploaded file', () => {
  test('is read by the playbook at the path of its variable, byte for byte', async () => {
    covers('launch.files', 'validation.upload-travels')
    const { path, sha256 } = makeFile('few.bin', 5)
    const cert = await uploadFile(path, '../grüße {{ 1 + 1 }}.pem')
    const id = await launchWith(cert)
    const job = await product.waitForEnd(id)
    expect(job.status, String(job.status_reason)).toBe('success')
    const text = String(job.output)
    expect(text).toContain(`sha256=${sha256} size=${5 * MIB} mode=0600 name=grüße {{ 1 + 1 }}.pem`)
    expect(text).toMatch(/at=\S+\/spool\/jobs\/\d+-[0-9a-f]{32}\/uploads\/1\/gr__e____1___1___.pem/)
    // The control plane keeps its own view.
    expect(job.extravars).toMatchObject({ cert })
    await waitFor('the spool to be empty', () => readdirSync(join(product.folder, 'rte-state/spool/jobs')).length === 0)
    expect(readdirSync(join(product.folder, 'rte-state/cache/uploads'))).toEqual([])
  })

  test('survives cuts of the connection while it travels', async () => {
    const { path, sha256 } = makeFile('cut.bin', 60)
    const cert = await uploadFile(path, 'cut.bin')
    const cuts = proxy?.cutAfter('down', 20 * MIB).then(() => proxy?.cutAfter('down', 15 * MIB))
    const id = await launchWith(cert)
    const carried = proxy?.carried('down') ?? 0
    await cuts
    const job = await product.waitForEnd(id)
    expect(job.status, String(job.status_reason)).toBe('success')
    expect(job.output).toContain(sha256)
    // It went on where it was: not one of the cuts made it begin anew.
    expect((proxy?.carried('down') ?? 0) - carried).toBeLessThan(85 * MIB)
  })

  test('of 200 MB takes no memory of either program to speak of', async () => {
    const { path, sha256 } = makeFile('large.bin', 200)
    const pids = [product.controlPlane.pid, product.agent.pid]
    const before = pids.map(highWater)
    const job = await product.waitForEnd(await launchWith(await uploadFile(path, 'large.bin')))
    expect(job.output).toContain(sha256)
    const after = pids.map(highWater)
    const grown = after.map((mb, index) => Math.round(mb - (before[index] ?? 0)))
    process.stdout.write(
      `VmHWM with 200 MB: control plane ${after[0]} MB (+${grown[0]}), agent ${after[1]} MB (+${grown[1]})\n`,
    )
    for (const mb of after) expect(mb).toBeLessThan(350)
    for (const mb of grown) expect(mb).toBeLessThan(120)
  })
})
