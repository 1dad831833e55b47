import { RefusedError } from '@holdfast/client'
import { type Place, keyOf } from '../../fields/place.js'
import { formWords } from '../../words/en-form.js'

/** What is wrong with values, by the key of the place of their field. */
export type Problems = ReadonlyMap<string, readonly string[]>

type Findings = Readonly<Record<string, readonly { readonly type?: string; readonly description: string }[]>>

/** What the control plane found in the rows of lists; without an index: in an object that is written as YAML. */
interface RowError {
  readonly index?: number
  readonly validationErrors?: Findings
  readonly rowErrors?: RowErrors
}
type RowErrors = Readonly<Record<string, readonly RowError[]>>

/**
 * The findings of a refused launch; null: it was refused for another reason.
 * @param isAgain whether the job that is run again did not keep the value of a field
 */
export function problemsOf(error: unknown, isAgain: (key: string) => boolean = () => false): Problems | null {
  if (!(error instanceof RefusedError) || error.status !== 422 || !error.details) return null
  const { validationErrors, rowErrors } = error.details as {
    readonly validationErrors?: Findings
    readonly rowErrors?: RowErrors
  }
  const problems = collected((add) => {
    addFindings(add, [], validationErrors, isAgain)
    addRows(add, [], rowErrors)
  })
  return problems.size === 0 ? null : problems
}

/** What is wrong in the rows of lists, by the answer to an evaluation. */
export function problemsOfRows(rows: Readonly<Record<string, readonly unknown[]>>): Problems {
  return collected((add) => addRows(add, [], rows as RowErrors))
}

type Add = (place: Place, text: string) => void

function collected(find: (add: Add) => void): Problems {
  const problems = new Map<string, string[]>()
  find((place, text) => problems.set(keyOf(place), [...(problems.get(keyOf(place)) ?? []), text]))
  return problems
}

function addFindings(add: Add, place: Place, findings: Findings = {}, isAgain: (key: string) => boolean = () => false) {
  for (const [name, some] of Object.entries(findings)) {
    for (const { type, description } of some) {
      // The sentence of the interface is for who writes a request.
      const isMissing = type === 'masked' || (type === 'required' && isAgain(keyOf([...place, name])))
      add([...place, name], isMissing ? formWords.again : description)
    }
  }
}

function addRows(add: Add, place: Place, rowErrors: RowErrors = {}) {
  for (const [name, rows] of Object.entries(rowErrors)) {
    for (const { index, ...row } of rows) {
      // An object is one field of the page, so all that is wrong in it stands there.
      const inside: Add =
        index === undefined ? (at, text) => add([...place, name], `${keyOf(at)}: ${text}`) : (at, text) => add(at, text)
      const below = index === undefined ? [] : [...place, name, index]
      addFindings(inside, below, row.validationErrors)
      addRows(inside, below, row.rowErrors)
    }
  }
}
