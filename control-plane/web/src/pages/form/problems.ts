import { RefusedError } from '@holdfast/client'

/** What is wrong with the values, by the name of the field; in a wizard `step.field`. */
export type Problems = ReadonlyMap<string, readonly string[]>

interface RowError {
  readonly index?: number
  readonly validationErrors?: Readonly<Record<string, readonly Finding[]>>
  readonly rowErrors?: Readonly<Record<string, readonly RowError[]>>
}
interface Finding {
  readonly description: string
}

/** The findings of a refused launch; null: it was refused for another reason. */
export function problemsOf(error: unknown): Problems | null {
  if (!(error instanceof RefusedError) || error.status !== 422 || !error.details) return null
  const { validationErrors = {}, rowErrors = {} } = error.details as {
    validationErrors?: Readonly<Record<string, readonly Finding[]>>
    rowErrors?: Readonly<Record<string, readonly RowError[]>>
  }
  const problems = new Map<string, string[]>()
  const add = (name: string, text: string) => problems.set(name, [...(problems.get(name) ?? []), text])
  for (const [name, findings] of Object.entries(validationErrors)) {
    for (const { description } of findings) add(name, description)
  }
  for (const [name, rows] of Object.entries(rowErrors)) {
    for (const text of rows.flatMap((row) => textsOf(row))) add(name, text)
  }
  return problems.size === 0 ? null : problems
}

/** `2: size: It has to be a number` */
function textsOf(row: RowError): string[] {
  const place = row.index === undefined ? '' : `${row.index + 1}: `
  const own = Object.entries(row.validationErrors ?? {}).flatMap(([name, findings]) =>
    findings.map(({ description }) => `${place}${name}: ${description}`),
  )
  const below = Object.entries(row.rowErrors ?? {}).flatMap(([name, rows]) =>
    rows.flatMap(textsOf).map((text) => `${place}${name} ${text}`),
  )
  return [...own, ...below]
}
