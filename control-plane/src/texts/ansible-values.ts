import { type Node, Pair, Scalar, type YAMLMap, YAMLSeq, isAlias, isCollection, isScalar, isSeq, visit } from 'yaml'
import { FLOAT_FORMAT } from './ansible-schema.js'
import type { YamlDocument } from './yaml-document.js'
import { YamlProblem } from './yaml-problem.js'

/** Behind other letters PyYAML begins the value. */
const ANCHOR = /^[A-Za-z0-9_-]+$/
/** Characters that PyYAML refuses, and the two that end a line only there. */
const UNREADABLE = /[^\t\n\r -~\u0085\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u

/**
 * The text with the ends of lines that both PyYAML and the library know. Each stays one character, so that all places stay.
 * @throws YamlProblem for a character that PyYAML refuses
 */
export function ansibleLines(text: string): string {
  // A byte order mark may stand before everything.
  const start = text.startsWith('\ufeff') ? 1 : 0
  const found = text.slice(start).search(UNREADABLE)
  if (found !== -1) {
    const at = start + found
    const code = (text.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    const line = text.slice(0, at).split(/\r\n?|[\n\u0085]/).length
    throw new YamlProblem(
      line,
      `ansible cannot read the character U+${code} here: write it as "\\u${code}" in double quotes`,
    )
  }
  return text.replace(/\r(?!\n)|\u0085/g, '\n')
}

/**
 * Makes the values of a document those that PyYAML would make. The names of mappings become texts, as JSON has them:
 * `yes: 1` becomes `"true": 1`, as in AWX. Of several `<<` in one mapping the last one wins. The values must have been
 * counted before.
 * @throws YamlProblem for a name that is a list or an object, which PyYAML refuses, too, and for what readers read in
 *   different ways
 */
export function makeAnsibleValues({ document, lineAt }: YamlDocument, text: string): void {
  const refuse = (node: Node, reason: string): never => {
    throw new YamlProblem(lineAt(node.range?.[0] ?? 0), reason)
  }
  /** The nodes with anchors that stand above. The library would look through the whole document for each alias. */
  const anchors = new Map<string, Node>()
  const takeAnchor = (node: Scalar | YAMLMap | YAMLSeq): void => {
    if (node.anchor === undefined) return
    if (!ANCHOR.test(node.anchor)) refuse(node, 'an anchor has only letters, digits, - and _')
    anchors.set(node.anchor, node)
  }
  const targetOf = (node: unknown) => (isAlias(node) ? anchors.get(node.source) : node)
  const nameOf = (key: unknown): unknown => {
    const node = targetOf(key)
    if (isCollection(node)) refuse(node, 'a name must not be a list or an object')
    if (!isScalar(node) || isMerge(node) || typeof node.value === 'string') return key
    // An alias elsewhere stands for the value that the name was before.
    if (isScalar(key) && key.anchor !== undefined) refuse(key, 'a name with an anchor must be a text: put it in quotes')
    const name = new Scalar(jsonName(node))
    name.range = node.range ?? null
    return name
  }
  visit(document, {
    Seq: (_, list) => takeAnchor(list),
    Scalar(_, node) {
      takeAnchor(node)
      // PyYAML looks at the word behind it, also in quotes. Other readers take it as a text.
      if (node.tag === '!') refuse(node, 'the tag ! says nothing: leave it out, or write !!str')
      if (endsWithText(node, text) && typeof node.value === 'string') node.value = node.value.replace(/\n$/, '')
    },
    Map(_, map) {
      takeAnchor(map)
      map.items = withOneMerge(map.items, targetOf)
    },
    Pair(_, pair) {
      pair.key = nameOf(pair.key)
    },
  })
}

/**
 * Whether a block of text (`|`, `>`) is the end of a text whose last line has no end. PyYAML adds none. A last line of
 * spaces counts only when some of them belong to the block.
 */
function endsWithText({ type, range, value }: Scalar, text: string): boolean {
  if ((type !== 'BLOCK_LITERAL' && type !== 'BLOCK_FOLDED') || range?.[1] !== text.length) return false
  const start = text.lastIndexOf('\n')
  const lastLine = text.slice(start + 1)
  if (lastLine.trim() !== '') return true
  const lastOfValue = /([^\n]*)\n$/.exec(String(value))?.[1]
  // The library makes a line end of a block that has nothing but this line.
  const isWhole = !text.slice(range[0], start).includes('\n')
  return lastLine !== '' && lastOfValue?.trim() === '' && (lastOfValue !== '' || isWhole)
}

/** Python writes numbers with a point in another way. */
function jsonName({ value, format }: Scalar): string {
  if (format !== FLOAT_FORMAT || typeof value !== 'number') return String(value)
  const size = Math.abs(value)
  const isLong = size >= 1e16 || (size < 1e-4 && size > 0)
  if (isLong) return value.toExponential().replace(/e([-+])(\d)$/, 'e$10$2')
  return Number.isInteger(value) ? `${String(value)}.0` : String(value)
}

function isMerge(key: unknown): boolean {
  return isScalar(key) && typeof key.value === 'symbol'
}

/** One `<<` with all sources. The library lets the first source win. */
function withOneMerge(pairs: Pair[], targetOf: (node: unknown) => unknown): Pair[] {
  const merges = pairs.filter(({ key }) => isMerge(key))
  if (merges.length < 2) return pairs
  const sources = new YAMLSeq()
  for (const { value } of merges.toReversed()) {
    const target = targetOf(value)
    sources.items.push(...(isSeq(target) ? target.items : [value]))
  }
  const [first] = merges
  const joined = new Pair(first?.key, sources)
  return [joined, ...pairs.filter((pair) => !merges.includes(pair))]
}
