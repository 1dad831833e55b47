import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '@holdfast/host/system-errors'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'

const Manifest = Type.Object({
  pages: Type.Array(Type.Object({ pattern: Type.String({ pattern: '^/' }), scripts: Type.Array(Type.String()) })),
  page: Type.Object({
    script: Type.String(),
    worker: Type.String(),
    matcher: Type.String(),
    style: Type.String(),
    icon: Type.String(),
  }),
  files: Type.Array(Type.Object({ name: Type.String({ pattern: '^[A-Za-z0-9.-]+$' }), type: Type.String() })),
})
const manifest = Compile(Manifest)

/** The ways to compress an answer, the best first. The empty text means no compression. */
const ENCODINGS = [
  { name: 'br', end: '.br' },
  { name: 'gzip', end: '.gz' },
] as const

/** A file of the pages, in every form in which it is sent. */
export interface PageFile {
  readonly name: string
  readonly type: string
  readonly plain: Buffer
  readonly encoded: readonly { readonly encoding: string; readonly bytes: Buffer }[]
}

/** A page as the build made it, in memory. */
export interface PageDocument {
  /** The address, such as `/jobs/:id`. */
  readonly pattern: string
  /** The document, with the addresses of its files below the base URL. */
  readonly html: Buffer
  /** The entity tag of the document, for `If-None-Match`. */
  readonly etag: string
}

/** The pages and their files. */
export interface PageFiles {
  readonly documents: readonly PageDocument[]
  readonly files: readonly PageFile[]
}

/**
 * Reads the pages that the build made.
 * @param prefix the base URL without a slash at its end
 * @returns null when nothing was built there
 */
export async function readPageFiles(folder: string, prefix: string): Promise<PageFiles | null> {
  // A clone in which only `tsc` ran has no pages. Any other failure is thrown.
  const text = await unlessMissing(readFile(join(folder, 'manifest.json'), 'utf8'), null)
  if (text === null) return null
  const made: Static<typeof Manifest> = manifest.Parse(JSON.parse(text))
  const template = await readFile(join(folder, 'index.html'), 'utf8')
  const asset = (name: string) => `${prefix}/assets/${name}`
  const { script, worker, matcher, style, icon } = made.page
  const places: Readonly<Record<string, string>> = {
    base: prefix,
    script: asset(script),
    worker: asset(worker),
    matcher: asset(matcher),
    style: asset(style),
    icon: asset(icon),
  }
  const documents = made.pages.map(({ pattern, scripts }) => {
    const preloads = scripts.map((name) => `<link rel="modulepreload" href="${escaped(asset(name))}" />`)
    const text = template
      .replace('{{preloads}}', preloads.join('\n    '))
      .replace(/\{\{(\w+)\}\}/g, (_, name: string) => escaped(places[name] ?? ''))
    const html = Buffer.from(text)
    return { pattern, html, etag: `"${createHash('sha256').update(html).digest('base64url').slice(0, 22)}"` }
  })
  const files = await Promise.all(made.files.map((file) => readPageFile(join(folder, 'assets'), file)))
  return { documents, files }
}

async function readPageFile(folder: string, file: { readonly name: string; readonly type: string }): Promise<PageFile> {
  const plain = await readFile(join(folder, file.name))
  const encoded = await Promise.all(
    ENCODINGS.map(async ({ name, end }) => ({ encoding: name, bytes: await readFile(join(folder, file.name + end)) })),
  )
  return { ...file, plain, encoded: encoded.filter(({ bytes }) => bytes.length < plain.length) }
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`)
}
