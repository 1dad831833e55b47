import { inspect } from 'node:util'
import { isDeeperThan } from '@holdfast/protocol'
import { parseDocument } from 'yaml'
import { HoldfastError } from '../../../control-plane/src/errors.js'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import { loadQuickJs } from '../../../control-plane/src/forms/sandbox/quickjs.js'
import { fillScript } from '../../../control-plane/src/forms/values/fill-script.js'
import { fillText } from '../../../control-plane/src/forms/values/placeholders.js'
import { readJson } from '../../../control-plane/src/texts/json-text.js'
import { PatternProblem, readPattern } from '../../../control-plane/src/texts/pattern-text.js'
import { MAX_LEVELS } from '../../../control-plane/src/texts/value-levels.js'
import { differencesToAnsible } from '../../../control-plane/src/texts/yaml-differences.js'
import { YamlProblem, readYaml } from '../../../control-plane/src/texts/yaml-text.js'
import type { Door, DrawnText } from './make-text.js'

/** Whether a text became a value, or why not. */
export type ReadText = 'value' | 'refused'

/** Shorter texts with few brackets are read by the library alone, too: it must find the same values. */
const SHORT = 2000
/** Levels that the library survives by itself. */
const FEW = 40

/** Gives each text to its reader. What is neither a value nor a clear refusal is thrown. */
export function createReaders(): (drawn: DrawnText) => Promise<ReadText> {
  let loading = loadQuickJs('en')

  let open: Awaited<typeof loading>

  function inSandbox(
    run: (evaluator: ReturnType<typeof open>) => { readonly ok: boolean; readonly reason?: string },
  ): ReadText {
    const evaluator = open(0)
    const { ok, reason } = run(evaluator)
    // An engine that broke down is not used again, as in the threads of the product.
    if (!evaluator.close()) loading = loadQuickJs('en')
    if (!ok && !reason) throw new Error('it is refused without a reason')
    return ok ? 'value' : 'refused'
  }

  const readers: Readonly<Record<Door, (text: string) => ReadText>> = {
    yaml(text) {
      parseFormFile('f.yml', text)
      differencesToAnsible(text)
      shallow(refusedBy(YamlProblem, () => readYaml(text, 'ansible').value))
      const read = refusedBy(YamlProblem, () => readYaml(text).value)
      if (text.length < SHORT && (text.match(/[[{?:-]/g)?.length ?? 0) < FEW) compareWithLibrary(text, read)
      return shallow(read)
    },
    json: (text) => {
      const read = refusedBy(HoldfastError, () => readJson(text), SyntaxError)
      return shallow(read)
    },
    pattern(text) {
      // Short texts, because a pattern of an admin may take as long as it takes.
      refusedBy(PatternProblem, () => readPattern(text, 'u').test(''))
      return inSandbox((evaluator) => evaluator.matches(text, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'))
    },
    expression: (text) => inSandbox((evaluator) => evaluator.evaluate(text, { x: 1 }, true)),
    placeholders(text) {
      const resolve = () => ({ known: true, value: { y: [text] } })
      return fillText(text, resolve).complete && fillScript(text, resolve, true).complete ? 'value' : 'refused'
    },
  }
  return async ({ door, text }) => {
    open = await loading
    return readers[door](text)
  }
}

type Read = { readonly value: unknown } | { readonly problem: Error }

function refusedBy(
  kind: abstract new (...given: never[]) => Error,
  read: () => unknown,
  other: abstract new (...given: never[]) => Error = kind,
): Read {
  try {
    return { value: read() }
  } catch (error) {
    if (!(error instanceof kind || error instanceof other)) throw error
    if (error.message.length < 3 || error.message.length > 700 + MESSAGE_OF_PATTERN)
      throw new Error('the reason is no sentence')
    return { problem: error }
  }
}

/** V8 repeats the pattern in its message. */
const MESSAGE_OF_PATTERN = 20_000

function shallow(read: Read): ReadText {
  if ('problem' in read) return 'refused'
  if (isDeeperThan(read.value, MAX_LEVELS)) throw new Error('the value has too many levels')
  JSON.stringify(read.value)
  return 'value'
}

function compareWithLibrary(text: string, read: Read): void {
  const known = valueOfLibrary(text)
  if ('problem' in read) {
    const isOurs = read.problem instanceof YamlProblem && read.problem.kind !== 'syntax'
    if ('value' in known && !isOurs) throw new Error(`refused, and good for the library: ${read.problem.message}`)
  } else if ('problem' in known) throw new Error(`read, and refused by the library: ${known.problem.message}`)
  else if (shown(read.value) !== shown(known.value)) throw new Error('read as another value than by the library')
}

/** As a text, because two symbols are never equal. */
function shown(value: unknown): string {
  return inspect(value, { depth: null, maxArrayLength: null, maxStringLength: null })
}

function valueOfLibrary(text: string): Read {
  try {
    const document = parseDocument(text, { prettyErrors: false, merge: true, logLevel: 'error' })
    const [problem] = document.errors
    return problem ? { problem } : { value: document.toJS({ maxAliasCount: -1 }) as unknown }
  } catch (problem) {
    return { problem: problem as Error }
  }
}
