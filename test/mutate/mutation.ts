/** One small change of a source file. Positions are those of JavaScript texts. */
export interface Mutation {
  /** From the root of the repository. */
  readonly path: string
  /** What is changed, in words: `&& for ||`. */
  readonly kind: string
  readonly start: number
  readonly end: number
  readonly replacement: string
}

export function mutated(text: string, { start, end, replacement }: Mutation): string {
  return text.slice(0, start) + replacement + text.slice(end)
}

/** The lines around the change, before and after, as a diff shows them. */
export function diffOf(text: string, mutation: Mutation): string {
  const first = text.lastIndexOf('\n', mutation.start - 1) + 1
  const newline = text.indexOf('\n', mutation.end)
  const last = newline < 0 ? text.length : newline
  const line = text.slice(0, first).split('\n').length
  const after = text.slice(first, mutation.start) + mutation.replacement + text.slice(mutation.end, last)
  const marked = (mark: string, lines: string): string =>
    lines
      .split('\n')
      .map((one) => `${mark}${one}`)
      .join('\n')
  return `${mutation.path}:${line}  ${mutation.kind}\n${marked('-', text.slice(first, last))}\n${marked('+', after)}`
}

/**
 * Names a mutation so that it is found again after lines have moved: by its file's name, its kind, and the text of the lines
 * that it changes, without indentation.
 */
export function keyOf(text: string, mutation: Mutation): string {
  const [, before = '', ...rest] = diffOf(text, mutation).split('\n-')
  const changed = [before, ...rest].join(' ').split('\n+')
  const plain = changed.map((part) => part.replace(/\n\+/g, ' ').replace(/\s+/g, ' ').trim())
  const name = mutation.path.split('/').at(-1) ?? ''
  return [name, mutation.kind, ...plain].join(' | ')
}

/** The room of a file: the words that the summary uses. */
export function roomOf(path: string): string {
  const [program = '', part = '', room = '', ...below] = path.split('/')
  if (part !== 'src') return `${program}/${part}`
  return below.length === 0 ? program : `${program}/${room}`
}
