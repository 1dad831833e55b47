import { performance } from 'node:perf_hooks'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { signIn } from '../support/rest.js'
import type { Figure } from './report.js'
import { median, percentile } from './statistics.js'

const FIELDS = 100
const REACH_MS = 30
const ROUNDS = 200
const USERS = 50
/** Evaluations of each of the users who fill in the form at once. */
const EACH = 20
/** A person does not change more than a field in this time, in milliseconds. */
const BETWEEN_MS = 1000

/** A form of a hundred fields of all kinds that ask nothing: each kind has some that hang on others. */
function formOf(): string {
  const kinds = [
    (at: number) => ({ type: 'text', default: `text ${at}`, regex: { expression: '^[a-z0-9 ]+$', description: 'd' } }),
    (at: number) => ({ type: 'number', default: at, minValue: 0, maxValue: 1000 }),
    (at: number) => ({
      type: 'enum',
      values: ['a', 'b', 'c'],
      default: 'b',
      dependencies: [{ name: `f${at - 2}`, isValid: true }],
    }),
    (at: number) => ({
      type: 'expression',
      runLocal: true,
      expression: `'$(f${at - 3})'.toUpperCase() + $(f${at - 2})`,
    }),
    (at: number) => ({ type: 'expression', expression: `fn.fnGetNumberedName(['a01','a02'], 'a##', '$(f${at - 1})')` }),
  ]
  const fields = Array.from({ length: FIELDS }, (_, at) => ({
    name: `f${at}`,
    label: `Field ${at}`,
    ...(kinds[at % kinds.length] ?? kinds[0])?.(at),
  }))
  return JSON.stringify({ name: 'hundred', type: 'ansible', playbook: 'x.yml', roles: ['default'], fields })
}

/** Milliseconds that one evaluation takes, as the client sees it. */
async function evaluate(product: Product, token: string, people: number): Promise<number> {
  const began = performance.now()
  const response = await fetch(`${product.address}/api/v2/forms/hundred/evaluate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ rawFormData: { f0: `text ${people}`, f1: people % 1000 } }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`an evaluation was answered ${response.status}: ${text.slice(0, 200)}`)
  return performance.now() - began
}

/** How long the evaluation of a form takes that asks no source: one user, and many at once. */
export async function measureForms(say: (line: string) => void): Promise<Figure[]> {
  const product = await startProduct({ forms: { 'hundred.yml': formOf() }, withAgent: false })
  try {
    const { token } = product.admin
    for (let round = 0; round < 20; round += 1) await evaluate(product, token, round)
    const alone: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) alone.push(await evaluate(product, token, round))
    say(`  one user: median ${median(alone).toFixed(1)} ms`)

    const tokens: string[] = []
    for (let at = 0; at < USERS; at += 1) {
      const username = `user${at}`
      await product.admin.post('/user', { username, password: ADMIN_PASSWORD, groups: [], enabled: true })
      tokens.push((await signIn(product.address, username, ADMIN_PASSWORD)).token)
    }
    const together: number[] = []
    await Promise.all(
      tokens.map(async (one, user) => {
        // They do not begin in the same moment, and look at the form in between.
        await new Promise((resolve) => setTimeout(resolve, (user * BETWEEN_MS) / USERS))
        for (let round = 0; round < EACH; round += 1) {
          const took = await evaluate(product, one, round)
          together.push(took)
          await new Promise((resolve) => setTimeout(resolve, Math.max(0, BETWEEN_MS - took)))
        }
      }),
    )
    return [
      figure(`evaluating a form of ${FIELDS} fields, 95 %`, alone, { value: REACH_MS, better: 'lower' }),
      figure(`the same while ${USERS} users fill it in, 95 %`, together, null),
    ]
  } finally {
    await product.close()
  }
}

function figure(what: string, values: readonly number[], reach: Figure['reach']): Figure {
  const note = `median ${median(values).toFixed(1)} ms, of ${values.length}`
  return { what, value: percentile(values, 95), unit: 'ms', digits: 1, reach, note }
}
