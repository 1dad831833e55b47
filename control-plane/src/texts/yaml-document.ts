import { type CST, Composer, type Document, Lexer, LineCounter, Parser } from 'yaml'
import { MAX_LEVELS, MAX_VALUES } from './value-levels.js'
import { ANSIBLE_SCHEMA } from './ansible-schema.js'
import { YamlProblem } from './yaml-problem.js'

/** Most characters of one YAML text. To read the largest text takes less than a second. */
export const MAX_YAML_CHARACTERS = 2 * 1024 * 1024
/** Most words, marks, spaces and line ends of one text. A file of ordinary forms has about one in two characters. */
const MAX_LEXEMES = 300_000
/** Most anchors and aliases of one text together. The library looks for the anchor of each alias among all of them. */
const MAX_ALIASES = 2000
/** Directives are lines such as `%TAG ! tag:example,2000:`. Each tag of the text repeats what they say. */
const MAX_DIRECTIVES = 10
const MAX_DIRECTIVE_LENGTH = 200

/** So many line ends may stand before a comment. */
const MAX_LINE_ENDS = 100
/** So many words take a few milliseconds. */
const LEXEMES_OF_STEP = 2000
const STEP = 'step'
/** The library's words for a mistake may quote the text. */
const MAX_REASON_LENGTH = 500

/** Where the library found a mistake. */
type ErrorSource = number | { readonly offset: number } | readonly [number, ...number[]]

const COLLECTIONS: ReadonlySet<string> = new Set(['block-map', 'block-seq', 'flow-collection'])

/**
 * The rules by which words become values: 1.2 in files of this product, and those of ansible, which keeps to 1.1, in what
 * ansible gets.
 */
export type YamlRules = '1.2' | 'ansible'

/** One document of YAML, and the lines of its text. */
export interface YamlDocument {
  readonly document: Document.Parsed
  lineAt(offset: number): number
}

/**
 * Makes the nodes of a YAML text. The library makes them with one recursion for each level. So the text first goes
 * through the library's lexer and parser. They work word by word and keep the open collections in a list. A text with
 * too many levels is refused as soon as the list is too long, and nothing has gone down into it by then.
 * It stops after each few thousand words, so that a caller can let others run.
 * @throws YamlProblem
 */
export function* composeYaml(text: string, rules: YamlRules): Generator<void, YamlDocument> {
  const lines = new LineCounter()
  const lineAt = (offset: number) => lines.linePos(Math.max(0, offset)).line
  lines.addNewLine(0)
  if (text.length > MAX_YAML_CHARACTERS) {
    throw new YamlProblem(1, `the text is longer than ${MAX_YAML_CHARACTERS / 1024 ** 2} MiB`, 'limit')
  }
  const composer = createComposer(lineAt, rules)
  let document: Document.Parsed | null = null
  for (const token of parsed(text, lines, lineAt)) {
    if (token === STEP) yield
    else for (const one of composer.next(token)) document ??= one
  }
  yield
  for (const one of composer.end(true, text.length)) document ??= one
  if (document === null) throw new YamlProblem(1, 'the text holds no document')
  const [error] = document.errors
  if (error) throw mistake(error.pos[0], error.message, lineAt)
  return { document, lineAt }
}

/**
 * A composer that throws at the first mistake. By itself it goes on and keeps an error for each mistake. Two megabytes of
 * mistakes then take ten seconds and a gigabyte. It also does not compare each name of a mapping with each other:
 * `yaml-values.ts` looks for names that stand twice.
 */
function createComposer(lineAt: (offset: number) => number, rules: YamlRules): Composer {
  const schema = rules === 'ansible' ? { schema: ANSIBLE_SCHEMA } : { merge: true }
  const composer = new Composer({ ...schema, uniqueKeys: false, logLevel: 'error' })
  let first: YamlProblem | null = null
  const onError = (source: ErrorSource, code: string, message: string, isWarning?: boolean): void => {
    // Ansible refuses a tag that it does not know.
    const isWrong = isWarning !== true || (rules === 'ansible' && WRONG_TAGS.has(code))
    if (!isWrong) return
    const place = typeof source === 'number' ? source : 'offset' in source ? source.offset : source[0]
    // The composer catches errors of a collection, and reports each of them again for the collection around it.
    first ??= mistake(place, message, lineAt)
    throw first
  }
  return Object.assign(composer, { onError } as object)
}

const WRONG_TAGS: ReadonlySet<string> = new Set(['TAG_RESOLVE_FAILED', 'BAD_COLLECTION_TYPE'])

function mistake(offset: number, message: string, lineAt: (offset: number) => number): YamlProblem {
  return new YamlProblem(lineAt(offset), message.slice(0, MAX_REASON_LENGTH))
}

/** The directives and documents of a text. A document comes when all of it has been counted. */
function* parsed(
  text: string,
  lines: LineCounter,
  lineAt: (offset: number) => number,
): Generator<CST.Token | typeof STEP> {
  const parser = new Parser(lines.addNewLine)
  const refuse = (reason: string, offset = parser.offset): never => {
    throw new YamlProblem(lineAt(offset), reason, 'limit')
  }
  const counts = createCounts(refuse)
  function* checked(tokens: Iterable<CST.Token>): Generator<CST.Token> {
    for (const token of tokens) {
      if (token.type === 'error') throw mistake(token.offset, token.message, lineAt)
      counts.token(token)
      yield token
    }
  }
  let lexemes = 0
  for (const lexeme of withoutLateComments(new Lexer().lex(text))) {
    lexemes += 1
    if (lexemes % LEXEMES_OF_STEP === 0) yield STEP
    counts.lexeme(lexeme)
    yield* checked(parser.next(lexeme))
    // The first entry is the document.
    const { stack } = parser
    if (stack.length > MAX_LEVELS + 1 && COLLECTIONS.has(stack.at(-1)?.type ?? '')) {
      refuse(`values are nested deeper than ${MAX_LEVELS} levels`)
    }
  }
  yield* checked(parser.end())
}

/** Counts what a text is made of, before anything is made of it. Each limit is for the whole text. */
function createCounts(refuse: (reason: string, offset?: number) => never) {
  let [lexemes, values, aliases, directives, documents] = [0, 0, 0, 0, 0]
  let isText = false
  return {
    lexeme(lexeme: string): void {
      lexemes += 1
      if (lexemes > MAX_LEXEMES) refuse(`the text has more than ${MAX_LEXEMES} words, marks and line ends`)
      const [first = ''] = isText ? '' : lexeme
      // Names and values that are left empty are counted later, with all others.
      if (TEXT_MARK === lexeme || VALUE_STARTS.has(first)) values += 1
      if (values > MAX_VALUES) refuse(`there are more than ${MAX_VALUES} values and names`)
      if (first === '*' || first === '&') aliases += 1
      if (aliases > MAX_ALIASES) refuse(`there are more than ${MAX_ALIASES} anchors and aliases`)
      // What follows this mark is the text of a value.
      isText = lexeme === TEXT_MARK
    },
    token(token: CST.Token): void {
      if (token.type === 'document') documents += 1
      if (documents > 1) refuse('the text has multiple documents: only one can be read', token.offset)
      if (token.type !== 'directive') return
      directives += 1
      if (directives > MAX_DIRECTIVES) refuse(`there are more than ${MAX_DIRECTIVES} directives (lines with %)`)
      if (token.source.length > MAX_DIRECTIVE_LENGTH) {
        refuse(`a directive is longer than ${MAX_DIRECTIVE_LENGTH} characters`)
      }
    },
  }
}

const VALUE_STARTS: ReadonlySet<string> = new Set(['"', "'", '[', '{', '*'])

/**
 * After many empty lines, a line with nothing but a comment becomes an empty line, too. The parser would compare each such
 * comment with all empty lines above it.
 */
function* withoutLateComments(lexemes: Iterable<string>): Generator<string> {
  /** Line ends since the last word or mark. */
  let lineEnds = 0
  /** What stands before the first word of a line, and may become a part of an empty line; null: there was a word. */
  let margin: string[] | null = []
  let isText = false
  for (const lexeme of lexemes) {
    const isBlank = !isText && /^[ \t]*$/.test(lexeme)
    const isLineEnd = !isText && /^\r?\n$/.test(lexeme)
    if (margin && isBlank) {
      margin.push(lexeme)
      continue
    }
    const isComment = margin !== null && !isText && lexeme.startsWith('#')
    if (margin && isComment && lineEnds > MAX_LINE_ENDS) yield ' '.repeat(margin.join('').length + lexeme.length)
    else yield* [...(margin ?? []), lexeme]
    margin = isLineEnd || (isText && lexeme.endsWith('\n')) ? [] : null
    if (isLineEnd) lineEnds += 1
    else if (!isComment && !isBlank) lineEnds = 0
    // What follows this mark is the text of a value.
    isText = lexeme === TEXT_MARK
  }
  yield* margin ?? []
}

const TEXT_MARK = '\u001f'
