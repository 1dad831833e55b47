import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Product, type ProductOptions, startProduct } from '../../support/product.js'
import { type Faults, createFaults } from './preload/faults.js'
import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.js'
import { type Load, SMALL_LOAD, SYNTHETIC_FORM, type SyntheticTruth, extravarsOf, truthOf } from './load.js'

/** The folder that stands before ansible's in the agent's PATH. */
export const EMITTER = fileURLToPath(new URL('./emitter', import.meta.url))

/** The two programs with a faulty network between them, faulty disks below them, and an emitter beside ansible. */
export interface ChaosProduct {
  readonly product: Product
  readonly proxy: FaultyProxy
  readonly faults: Faults
  /** Launches an emitted job; what the load does not say is small and quick. */
  launchSynthetic(load?: Partial<Load>): Promise<{ readonly jobId: number; readonly truth: SyntheticTruth }>
  /** @param options `keep`: the folder stays */
  close(options?: { readonly keep?: boolean }): Promise<void>
}

/** @param options like those of the product; forms and playbooks are added to the synthetic ones */
export async function startChaos(options: ProductOptions = {}): Promise<ChaosProduct> {
  let faults: Faults | null = null
  let proxy: FaultyProxy | null = null
  let launched = 0
  const product = await startProduct({
    // What is stored is compared by looking into the file.
    database: 'sqlite',
    ...options,
    forms: { 'synthetic.yml': SYNTHETIC_FORM, ...options.forms },
    playbooks: { 'synthetic.yml': '[]\n', ...options.playbooks },
    prepare: async (folder) => {
      faults = await createFaults(folder)
      mkdirSync(join(folder, 'truth'))
      return faults.environments
    },
    controlPlane: { RTE_HEARTBEAT_SECONDS: '1', ...options.controlPlane },
    agent: { PATH: `${EMITTER}:${process.env['PATH'] ?? ''}`, ...options.agent },
    dial: async (address) => {
      proxy = await startFaultyProxy(address)
      return proxy.address
    },
  })
  if (!faults || !proxy) throw new Error('the product was started without its faults')
  const [network, disk]: [FaultyProxy, Faults] = [proxy, faults]
  return {
    product,
    proxy: network,
    faults: disk,
    async launchSynthetic(load = {}) {
      launched += 1
      const [folder, name] = [join(product.folder, 'truth'), `synthetic-${launched}`]
      const jobId = await product.launch('synthetic', extravarsOf({ ...SMALL_LOAD, ...load }, folder, name))
      return { jobId, truth: truthOf(folder, name) }
    },
    async close(options) {
      disk.disarmAll()
      await product.close(options)
      await network.close()
    },
  }
}
