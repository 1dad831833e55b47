import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EMITTER } from '../chaos/kit/chaos-product.js'
import { type Load, SMALL_LOAD, SYNTHETIC_FORM, type SyntheticTruth, extravarsOf, truthOf } from '../chaos/kit/load.js'
import { type Product, type ProductOptions, startProduct } from '../support/product.js'

/** Both programs as they are, without any fault below them, and an emitter in the place of ansible. */
export interface SurvivalProduct {
  readonly product: Product
  launch(name: string, load: Partial<Load>): Promise<{ readonly jobId: number; readonly truth: SyntheticTruth }>
  /** How often both programs together have said this in their logs. */
  countSaid(text: string): number
}

/** The backlogs of the bench are far beyond what the limits of an unconfigured product keep. */
export async function startSurvivalProduct(
  options: Pick<ProductOptions, 'dial' | 'database'> = {},
): Promise<SurvivalProduct> {
  const product = await startProduct({
    ...options,
    forms: { 'synthetic.yml': SYNTHETIC_FORM },
    playbooks: { 'synthetic.yml': '[]\n' },
    controlPlane: { RTE_HEARTBEAT_SECONDS: '1', PROCESS_MAX_BUFFER_MB: '4000' },
    agent: {
      PATH: `${EMITTER}:${process.env['PATH'] ?? ''}`,
      RTE_SPOOL_MAX_MB: '8000',
      RTE_DRAIN_SECONDS: '0',
    },
  })
  const truthFolder = join(product.folder, 'truth')
  mkdirSync(truthFolder)
  return {
    product,
    async launch(name, load) {
      const jobId = await product.launch('synthetic', extravarsOf({ ...SMALL_LOAD, ...load }, truthFolder, name))
      return { jobId, truth: truthOf(truthFolder, name) }
    },
    countSaid: (text) =>
      ['agent.log', 'control-plane.log']
        .map((log) => readFileSync(join(product.folder, log), 'utf8').split(text).length - 1)
        .reduce((sum, count) => sum + count, 0),
  }
}
