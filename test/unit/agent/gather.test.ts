import { type JobUpload, type Manifest, MAX_SOCKET_MESSAGE_BYTES } from '@holdfast/protocol'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type BlobCache, openBlobCache } from '../../../runner-agent/src/files/blob-cache.js'
import type { BlobTransfer } from '../../../runner-agent/src/files/blob-transfer.js'
import { type Extravars, gatherInputs } from '../../../runner-agent/src/files/gather.js'
import { gatherUploads } from '../../../runner-agent/src/files/gather-uploads.js'
import { openUploadStore } from '../../../runner-agent/src/files/upload-store.js'
import type { UploadTransfer } from '../../../runner-agent/src/files/upload-transfer.js'
import { makeWorkFolder } from '../../../runner-agent/src/files/work-folder.js'
import { sha256Of } from '../../agent/fake-control-plane.js'
import { orderOf } from '../../agent/playbooks.js'

const NOT_USED = null as never
let state: string
let cache: BlobCache
let work: string
/** What the control plane has, and what was asked for. */
let there: Map<string, Buffer>
let asked: string[][]

beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), 'holdfast-gather-'))
  onTestFinished(() => {
    rmSync(state, { recursive: true })
  })
  work = join(state, 'work')
  there = new Map()
  asked = []
  cache = await openBlobCache(state, 0)
  await cache.prepare()
})

const put = (content: string | object): string => {
  const bytes = Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))
  there.set(sha256Of(bytes), bytes)
  return sha256Of(bytes)
}

function take(sha256: string): void {
  const incoming = cache.receive(sha256)
  incoming.append(there.get(sha256) ?? Buffer.alloc(0))
  if (!incoming.finish()) throw new Error(`the control plane has no ${sha256}`)
}

const transfer: BlobTransfer = {
  async fetch(_, hashes) {
    const list = [...hashes]
    if (list.length === 0) return
    asked.push(list)
    for (const sha256 of list) take(sha256)
    await Promise.resolve()
  },
  take: NOT_USED,
  gone: NOT_USED,
  close: NOT_USED,
}

const blobPath = (sha256: string): string => join(state, 'cache', 'blobs', sha256.slice(0, 2), sha256)
const fileOf = (path: string, text: string, executable = false) => ({
  path,
  sha256: put(text),
  size: text.length,
  executable,
})

interface Given {
  readonly extravars?: { inline: Extravars } | { sha256: string; size: number }
  readonly workFolder?: string | null
  readonly signal?: AbortSignal
}

const gather = (manifest: string, { extravars, workFolder = work, signal }: Given = {}): Promise<Extravars> =>
  gatherInputs({
    key: { jobId: 1, runId: 'a'.repeat(32) },
    order: orderOf(manifest, extravars ? { extravars } : {}),
    cache,
    transfer,
    workFolder,
    signal: signal ?? new AbortController().signal,
  })

describe('the work folder of a job', () => {
  test('has all files with their modes, and the links between them', async () => {
    const files = [
      fileOf('site.yml', 'a'),
      fileOf('roles/web/run.sh', 'b', true),
      fileOf('roles/web/tasks/main.yml', 'c'),
    ]
    const links = [{ path: 'group_vars/all.yml', target: '../site.yml' }]
    await gather(put({ version: 1, files, links } satisfies Manifest))
    expect(readFileSync(join(work, 'roles/web/tasks/main.yml'), 'utf8')).toBe('c')
    const modes = ['', 'roles/web', 'group_vars', 'site.yml', 'roles/web/run.sh'].map((path) =>
      (statSync(join(work, path)).mode & 0o777).toString(8),
    )
    expect(modes).toEqual(['755', '755', '755', '644', '755'])
    expect(lstatSync(join(work, 'group_vars/all.yml')).isSymbolicLink()).toBe(true)
    expect(readlinkSync(join(work, 'group_vars/all.yml'))).toBe('../site.yml')
  })

  test('has no link that leads out of it', async () => {
    for (const hash of [put('a')]) take(hash)
    const files = [fileOf('site.yml', 'a')]
    const manifest: Manifest = { version: 1, files, links: [{ path: 'out', target: '../../secret' }] }
    await expect(makeWorkFolder(work, manifest, cache)).rejects.toThrow(
      'the link "out" leads out of the playbook folder',
    )
    expect(existsSync(join(work, 'out'))).toBe(false)
  })

  test('is not made over another one', async () => {
    mkdirSync(work)
    const manifest = put({ version: 1, files: [], links: [] } satisfies Manifest)
    await expect(gather(manifest)).rejects.toMatchObject({ code: 'EEXIST' })
  })

  test('is not made, and no list of files is asked for, when playbooks are on the host', async () => {
    expect(await gather('0'.repeat(64), { workFolder: null, extravars: { inline: { a: 1 } } })).toEqual({ a: 1 })
    expect(asked).toEqual([])
    expect(existsSync(work)).toBe(false)
  })
})

describe('what a job needs', () => {
  test('is asked for only where the cache lacks it', async () => {
    const [known, missing] = [fileOf('known.yml', 'known'), fileOf('missing.yml', 'missing')]
    const manifest = put({ version: 1, files: [known, missing], links: [] } satisfies Manifest)
    take(known.sha256)
    await gather(manifest)
    expect(asked).toEqual([[manifest], [missing.sha256]])
  })

  test('is asked for once more when somebody changed it in the cache after it was looked at', async () => {
    const file = fileOf('site.yml', 'whole')
    const manifest = put({ version: 1, files: [file], links: [] } satisfies Manifest)
    take(manifest)
    take(file.sha256)
    writeFileSync(blobPath(manifest), 'other')
    writeFileSync(blobPath(file.sha256), 'other')
    await gather(manifest)
    expect(asked).toEqual([[manifest], [file.sha256]])
    expect(readFileSync(join(work, 'site.yml'), 'utf8')).toBe('whole')
    expect(readdirSync(work)).toEqual(['site.yml'])
  })

  test('cannot be used when the list of files or the variables are not what they must be', async () => {
    await expect(gather(put('no list'))).rejects.toThrow("the job's list of files cannot be used")
    const extravars = { sha256: put('"text"'), size: 6 }
    await expect(gather('', { workFolder: null, extravars })).rejects.toThrow(
      "the job's extra variables cannot be used",
    )
  })

  test('is not used for a job that was given up meanwhile', async () => {
    const cancel = new AbortController()
    const manifest = put({ version: 1, files: [], links: [] } satisfies Manifest)
    const given = gather(manifest, { signal: cancel.signal })
    cancel.abort(new Error('given up'))
    await expect(given).rejects.toThrow('given up')
    expect(existsSync(work)).toBe(false)
  })

  test('may be trimmed as soon as the job has it, and not before', async () => {
    const file = fileOf('site.yml', 'whole')
    const manifest = put({ version: 1, files: [file], links: [] } satisfies Manifest)
    const { fetch } = transfer
    // The cache has a limit of 0 bytes: only what is held survives a trim.
    const trimming: BlobTransfer = {
      ...transfer,
      async fetch(...given) {
        await fetch(...given)
        await cache.trim()
      },
    }
    const order = orderOf(manifest)
    const options = { key: { jobId: 1, runId: order.run_id }, order, cache, workFolder: work }
    await gatherInputs({ ...options, transfer: trimming, signal: new AbortController().signal })
    expect(asked).toEqual([[manifest], [file.sha256]])
    await cache.trim()
    expect(cache.bytes()).toBe(0)
  })
})

describe('large variables', () => {
  test('come as a file, which is removed from the cache with its job', async () => {
    const extravars = { sha256: put({ list: ['x'.repeat(100)] }), size: MAX_SOCKET_MESSAGE_BYTES }
    expect(await gather('', { workFolder: null, extravars })).toEqual({ list: ['x'.repeat(100)] })
    expect(asked).toEqual([[extravars.sha256]])
    expect(cache.bytes()).toBe(0)
  })

  test('that another job holds stay in the cache', async () => {
    const extravars = { sha256: put({ a: 1 }), size: 7 }
    const release = cache.hold([extravars.sha256])
    await gather('', { workFolder: null, extravars })
    expect(cache.bytes()).toBe(7)
    release()
  })
})

describe('the uploads of a job', () => {
  const CONTENT = Buffer.from('cats and more cats')
  const upload = (name: string, content = CONTENT): JobUpload => ({
    name,
    placeholder: `/up/${name}`,
    sha256: sha256Of(content),
    size: content.length,
  })

  /** Brings the bytes of an upload, or something in their place. */
  function bringing(bytes: (from: number) => Buffer, isOver = false): UploadTransfer & { readonly offsets: number[] } {
    const offsets: number[] = []
    return {
      offsets,
      isOver,
      async fetch(_key, _upload, incoming) {
        offsets.push(incoming.received)
        incoming.append(bytes(incoming.received))
        await Promise.resolve()
      },
      take: NOT_USED,
      gone: NOT_USED,
      close: NOT_USED,
    }
  }

  async function gatherAll(uploads: JobUpload[], source: UploadTransfer, signal = new AbortController().signal) {
    const uploadStore = openUploadStore(state)
    await uploadStore.prepare()
    const order = orderOf('', { uploads })
    const key = { jobId: 1, runId: order.run_id }
    await gatherUploads({ key, order, uploadStore, transfer: source, folder: join(state, 'uploads'), signal })
  }

  const stored = (): string => join(state, 'cache', 'uploads', sha256Of(CONTENT))
  const placed = (path: string): string => readFileSync(join(state, 'uploads', path), 'utf8')
  const rest = (from: number): Buffer => CONTENT.subarray(from)

  test('lie in folders of their own, and the same content comes once', async () => {
    const source = bringing(rest)
    await gatherAll([upload('a.txt'), upload('a.txt')], source)
    expect([placed('1/a.txt'), placed('2/a.txt')]).toEqual([CONTENT.toString(), CONTENT.toString()])
    expect(source.offsets).toEqual([0])
    expect(existsSync(stored())).toBe(false)
  })

  test('are not asked for when an earlier connection brought all of them', async () => {
    mkdirSync(join(state, 'cache', 'uploads'), { recursive: true })
    writeFileSync(stored(), CONTENT)
    const source = bringing(rest)
    await gatherAll([upload('a.txt')], source)
    expect(source.offsets).toEqual([])
    expect(placed('1/a.txt')).toBe(CONTENT.toString())
  })

  test('come again from the beginning when what was there before is damaged', async () => {
    mkdirSync(join(state, 'cache', 'uploads'), { recursive: true })
    writeFileSync(stored(), 'dogs')
    const source = bringing(rest)
    await gatherAll([upload('a.txt')], source)
    expect(source.offsets).toEqual([4, 0])
    expect(placed('1/a.txt')).toBe(CONTENT.toString())
  })

  test('are refused when they come with other content, and nothing is left of them', async () => {
    const source = bringing(() => Buffer.alloc(CONTENT.length))
    await expect(gatherAll([upload('a.txt')], source)).rejects.toThrow('other content than its hash says')
    expect(source.offsets).toEqual([0])
    expect(existsSync(stored())).toBe(false)
  })

  test.each([
    ['stays when the connection ended', true],
    ['goes when the job was given up', false],
  ])('that are half there: what came %s', async (_, isOver) => {
    const half: UploadTransfer = {
      ...bringing(rest, isOver),
      fetch(_key, _upload, incoming) {
        incoming.append(CONTENT.subarray(0, 5))
        return Promise.reject(new Error('no more comes'))
      },
    }
    await expect(gatherAll([upload('a.txt')], half)).rejects.toThrow('no more comes')
    expect(existsSync(stored())).toBe(isOver)
  })

  test('are not asked for by a job that was given up before', async () => {
    const source = bringing(rest)
    const given = AbortSignal.abort(new Error('given up'))
    await expect(gatherAll([upload('a.txt')], source, given)).rejects.toThrow('given up')
    expect(source.offsets).toEqual([])
  })
})
