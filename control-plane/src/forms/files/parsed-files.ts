import { readFile } from 'node:fs/promises'
import type { Clock } from '../../time/clock.js'
import { type YamlRules, type YamlText, readYaml, readYamlInTurns } from '../../texts/yaml-text.js'
import { type FoundFile, YOUNG_MS } from './found-files.js'

interface Known<Content> {
  readonly fingerprint: string
  readonly text: string | null
  readonly content: Content
  /** Whether it may have changed again with the same time. */
  readonly isYoung: boolean
}

/** The parsed content of files. A file is parsed again only when it has changed. */
export interface ParsedFiles<Content> {
  /**
   * The content of all these files by name. Other files are forgotten. If nothing has changed, it is the same map as
   * before.
   */
  read(files: readonly FoundFile[]): Promise<ReadonlyMap<string, Content>>
}

/** How the content of a file is made. */
export interface FileParser<Content> {
  /** @param read gives the values of the text */
  parse(name: string, text: string, read: () => YamlText): Content
  /** Makes the content from an error of reading. */
  failed(name: string, error: unknown): Content
  /** Left out: 1.2. */
  readonly rules?: YamlRules
  /** Whether `parse` will read the values. Left out: always. */
  needsValues?(text: string): boolean
}

/** Makes the {@link ParsedFiles}. */
export function createParsedFiles<Content>(
  clock: Clock,
  { parse, failed, rules = '1.2', needsValues = () => true }: FileParser<Content>,
): ParsedFiles<Content> {
  let known = new Map<string, Known<Content>>()
  let contents: ReadonlyMap<string, Content> = new Map()

  async function look(file: FoundFile): Promise<Known<Content>> {
    const before = known.get(file.name)
    const isSame = before?.fingerprint === file.fingerprint
    if (isSame && !before.isYoung) return before
    const isYoung = clock.now() - file.changedAt < YOUNG_MS
    try {
      const text = await readFile(file.path, 'utf8')
      if (isSame && before.text === text) return { ...before, isYoung, text: isYoung ? text : null }
      const read = needsValues(text) ? await readYamlInTurns(text, rules) : () => readYaml(text, rules)
      const content = parse(file.name, text, read)
      return { fingerprint: file.fingerprint, content, isYoung, text: isYoung ? text : null }
    } catch (error) {
      return { fingerprint: file.fingerprint, content: failed(file.name, error), isYoung: true, text: null }
    }
  }

  return {
    async read(files) {
      const next = new Map<string, Known<Content>>()
      for (const file of files) next.set(file.name, await look(file))
      known = next
      const isSame =
        next.size === contents.size && [...next].every(([name, file]) => contents.get(name) === file.content)
      if (!isSame) contents = new Map([...next].map(([name, { content }]) => [name, content]))
      return contents
    },
  }
}
