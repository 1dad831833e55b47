import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/product.js'

/** A fenced block of a page. */
export interface Block {
  /** The page, and the line of the block's fence: where a failure has to be looked for. */
  readonly place: string
  readonly language: string
  /** The words behind the language, such as `not-run="needs root"`. */
  readonly notes: Readonly<Record<string, string>>
  readonly text: string
}

/** A document of the repository that people read. */
export interface Page {
  /** Relative to the root of the repository. */
  readonly path: string
  readonly text: string
  /** The text without its fenced blocks. */
  readonly prose: string
  readonly blocks: readonly Block[]
}

/** Every page, README.md first. */
export function readPages(): Page[] {
  const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
  const others = ['control-plane/client/README.md', 'CONTRIBUTING.md']
  return ['README.md', ...docs.sort().map((name) => `docs/${name}`), ...others].map(readPage)
}

function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const blocks: Block[] = []
  const prose = text.replace(/^```(.*)\n([\s\S]*?)^```$/gm, (_, info: string, body: string, at: number) => {
    const [language = ''] = info.split(' ')
    const notes = Object.fromEntries(
      [...info.matchAll(/([a-z-]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    )
    const line = text.slice(0, at).split('\n').length
    blocks.push({ place: `${path}:${line}`, language, notes, text: body })
    return ''
  })
  return { path, text, prose, blocks }
}

/** The anchors that GitHub gives the headings of a page. */
export function anchorsOf({ prose }: Page): Set<string> {
  const seen = new Map<string, number>()
  const anchors = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = words.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
  return new Set(anchors)
}
