import { randomBytes } from 'node:crypto'
import type { JobOrder, Manifest } from '@holdfast/protocol'
import type { FakeControlPlane } from './fake-control-plane.js'

/** A playbook folder: text by path. */
export type PlaybookFolder = Readonly<Record<string, string>>

/** Puts a folder into the control plane's store. @returns the hash of its manifest */
export function publish(
  controlPlane: FakeControlPlane,
  folder: PlaybookFolder,
  change: Partial<Manifest> = {},
): string {
  const files = Object.entries(folder).map(([path, text]) => ({
    path,
    sha256: controlPlane.addBlob(text),
    size: Buffer.byteLength(text),
    mode: path.endsWith('.sh') ? 0o755 : 0o644,
  }))
  const manifest: Manifest = { version: 1, files, links: [], folders: [], ...change }
  return controlPlane.addBlob(JSON.stringify(manifest))
}

let jobs = 0

/** The order of a fresh job. */
export function orderOf(manifest: string, change: Partial<JobOrder> = {}): JobOrder {
  jobs += 1
  return {
    job_id: jobs,
    run_id: randomBytes(16).toString('hex'),
    form: 'test',
    playbook: 'site.yml',
    playbook_sub_path: null,
    inventory: ['localhost,'],
    tags: null,
    skip_tags: null,
    limit: null,
    of_form: { inventory: false, limit: false },
    check: false,
    diff: false,
    verbose: false,
    verbosity: 0,
    allow_jinja: false,
    image: null,
    extravars: { inline: {} },
    uploads: [],
    manifest_sha256: manifest,
    sealed: null,
    output_limit_bytes: 50 * 1024 * 1024,
    output_marks: false,
    launched: { user: 'ann', user_type: 'local', time: 1, masked: {} },
    ...change,
  }
}

/** A play on localhost of these tasks, as ansible reads it: JSON is YAML. */
export function play(...tasks: object[]): string {
  return JSON.stringify([{ hosts: 'localhost', connection: 'local', gather_facts: false, tasks }])
}

export const say = (message: string): object => ({ debug: { msg: message } })

/** A task that waits until a file is there. `raw`: a module of Python would compute as much as the whole start of ansible. */
export const waitFor = (path: string): object => ({
  name: 'wait',
  raw: `until [ -e '${path}' ]; do sleep 0.05; done`,
  changed_when: false,
})

/** A task that leaves a trace of each run of the playbook. */
export const leaveTrace = (path: string): object => ({ name: 'trace', raw: `echo run >> '${path}'` })
