import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { keepWritten, keptOf } from '../../support/exactness.js'
import { type Gates, gatedForm, gatedPlaybook, gatesIn } from '../../support/gated-playbook.js'
import type { Product, ProductOptions } from '../../support/product.js'
import type { Truth } from './load.js'

/** A form and a playbook for real ansible for each number of gates; every job waits at gates of its own. */
const FORMS = { 1: 'one-gate', 2: 'two-gates', 3: 'three-gates' } as const

/** What a product needs for `launchReal`. */
export const REAL_JOBS: ProductOptions = {
  forms: Object.fromEntries(Object.values(FORMS).map((name) => [`${name}.yml`, gatedForm(name)])),
  playbooks: Object.fromEntries(
    Object.entries(FORMS).map(([gates, name]) => [`${name}.yml`, gatedPlaybook('{{ truth }}', Number(gates))]),
  ),
}

/** The truth of a job that ansible runs: what its supervisor wrote, kept by `keep` when the agent removes it. */
export interface RealTruth extends Truth {
  /** True while it waits at a gate, and after that. */
  isAtGate(number?: number): boolean
  openGate(number?: number): void
  /** Waits for the streams and keeps hold of them. To be called before the last gate is opened. */
  keep(): Promise<void>
}

/** Launches a job for real ansible. The product needs REAL_JOBS. */
export async function launchReal(
  product: Product,
  options: { readonly fails?: boolean; readonly gates?: keyof typeof FORMS } = {},
): Promise<{ readonly jobId: number; readonly truth: RealTruth }> {
  const folders = join(product.folder, 'truth')
  const folder = join(folders, `real-${readdirSync(folders).length + 1}`)
  mkdirSync(folder)
  const form = FORMS[options.gates ?? 1]
  const jobId = await product.launch(form, { truth: folder, fails: options.fails === true })
  return { jobId, truth: realTruthOf(product, jobId, gatesIn(folder)) }
}

function realTruthOf(product: Product, jobId: number, gates: Gates): RealTruth {
  const kept = keptOf(product, jobId)
  return {
    ...kept,
    starts: () => gates.starts(),
    isAtGate: (number) => gates.isReached(number),
    openGate: (number) => gates.open(number),
    async keep() {
      if (!existsSync(kept.outputPath)) await keepWritten(product, jobId)
    },
  }
}
