import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Answering, type AnsweringServer, startAnsweringServer } from './answering-server.js'

/** A collection with one version and no dependencies. */
export interface BuiltCollection {
  readonly namespace: string
  readonly name: string
  /** What `ansible-galaxy collection build` makes: a tar file, packed by gzip. */
  readonly tarball: Buffer
}

const VERSION = '1.0.0'

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** Packs a collection. @param files text by path */
export function buildCollection(
  namespace: string,
  name: string,
  files: Readonly<Record<string, string>>,
): BuiltCollection {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-collection-'))
  const entry = (path: string, type: 'file' | 'dir', digest: string | null) => ({
    name: path,
    ftype: type,
    chksum_type: digest === null ? null : 'sha256',
    chksum_sha256: digest,
    format: 1,
  })
  const folders = new Set<string>()
  for (const path of Object.keys(files)) {
    for (let at = dirname(path); at !== '.'; at = dirname(at)) folders.add(at)
  }
  const listed = [
    entry('.', 'dir', null),
    ...[...folders].sort().map((path) => entry(path, 'dir', null)),
    ...Object.entries(files).map(([path, text]) => entry(path, 'file', sha256(text))),
  ]
  const list = JSON.stringify({ files: listed, format: 1 })
  const info = {
    namespace,
    name,
    version: VERSION,
    authors: ['t'],
    readme: 'README.md',
    tags: [],
    description: null,
    license: [],
    license_file: null,
    dependencies: {},
    repository: null,
    documentation: null,
    homepage: null,
    issues: null,
  }
  const manifest = { collection_info: info, file_manifest_file: entry('FILES.json', 'file', sha256(list)), format: 1 }
  const all: Record<string, string> = { ...files, 'FILES.json': list, 'MANIFEST.json': JSON.stringify(manifest) }
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  // Packed like ansible-galaxy does: names without a leading `./`.
  const names = [...folders].sort().concat(Object.keys(all).sort())
  execFileSync('tar', ['-C', folder, '-czf', join(folder, 'packed'), '--no-recursion', ...names])
  const tarball = readFileSync(join(folder, 'packed'))
  rmSync(folder, { recursive: true })
  return { namespace, name, tarball }
}

/** A private server of collections that speaks version 3 of the interface of Ansible Galaxy, for one collection. */
export async function startGalaxyServer(
  { namespace, name, tarball }: BuiltCollection,
  token: string,
): Promise<AnsweringServer> {
  const collection = `/v3/collections/${namespace}/${name}/`
  const version = `${collection}versions/${VERSION}/`
  const file = `/files/${namespace}-${name}-${VERSION}.tar.gz`
  const dates = { created_at: '2020-01-01T00:00:00Z', updated_at: '2020-01-01T00:00:00Z' }
  const known = {
    '/': { available_versions: { v3: 'v3/' } },
    [collection]: { href: collection, namespace, name, ...dates, highest_version: { version: VERSION } },
    [`${collection}versions/`]: {
      meta: { count: 1 },
      links: { first: null, previous: null, next: null, last: null },
      data: [{ version: VERSION, href: version, ...dates }],
    },
    [version]: {
      version: VERSION,
      href: version,
      ...dates,
      namespace: { name: namespace },
      collection: { name },
      artifact: { filename: `${namespace}-${name}-${VERSION}.tar.gz`, sha256: sha256(tarball), size: tarball.length },
      metadata: { dependencies: {}, authors: ['t'] },
      signatures: [],
      requires_ansible: null,
    },
    [file]: tarball,
  }
  const answers = Object.entries(known).map(([path, answer]): [string, Answering] => [
    path,
    ({ headers }, response) => {
      if (headers.authorization !== `Token ${token}`) return response.writeHead(401).end('{}')
      const of = `http://${headers.host ?? ''}`
      if (Buffer.isBuffer(answer)) return response.writeHead(200, { 'content-length': answer.length }).end(answer)
      const body = path === version ? { ...answer, download_url: `${of}${file}` } : answer
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    },
  ])
  return startAnsweringServer(Object.fromEntries(answers))
}
