import type { FastifyInstance } from 'fastify'

/** The methods of each known path, so that a wrong method and a wrong path get different errors. */
export interface KnownPaths {
  /** Methods of a path, in the order of the alphabet; empty for an unknown path. */
  methodsOf(path: string): readonly string[]
}

/** One step of known paths: the steps below it by name, and below a parameter. */
interface Step {
  readonly named: Map<string, Step>
  parameter: Step | null
  /** The next step is a parameter with any value. */
  rest: Set<string> | null
  readonly methods: Set<string>
}

const newStep = (): Step => ({ named: new Map(), parameter: null, rest: null, methods: new Set() })

/** Collects every route that is registered from now on. */
export function noteKnownPaths(app: FastifyInstance): KnownPaths {
  const root = newStep()

  app.addHook('onRoute', ({ url, method }) => {
    const methods = [method].flat()
    let step = root
    for (const part of partsOf(url)) {
      if (part === '*') {
        step.rest = new Set([...(step.rest ?? []), ...methods])
        return
      }
      step = part.startsWith(':') ? (step.parameter ??= newStep()) : below(step, part)
    }
    for (const one of methods) step.methods.add(one)
  })

  return { methodsOf: (path) => [...find(root, partsOf(path))].sort() }
}

function below(step: Step, part: string): Step {
  const known = step.named.get(part) ?? newStep()
  step.named.set(part, known)
  return known
}

/** A name has priority over a parameter, as in the router. */
function find(step: Step, [part, ...rest]: readonly string[]): ReadonlySet<string> {
  if (part === undefined) return step.methods
  for (const next of [step.named.get(part), step.parameter]) {
    const found = next ? find(next, rest) : null
    if (found && found.size > 0) return found
  }
  return step.rest ?? new Set()
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '')
}
