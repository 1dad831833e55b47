import { MATCHER_ADDRESS, WORKER_ADDRESS } from './address.js'

interface Policy {
  createScriptURL(address: string): string
}

interface PolicyMaker {
  createPolicy(name: string, rules: Policy): Policy
}

const rules: Policy = {
  createScriptURL(address) {
    if (address === WORKER_ADDRESS || address === MATCHER_ADDRESS) return address
    throw new TypeError('only the workers of these pages are loaded by their addresses')
  },
}

const { trustedTypes } = globalThis as { trustedTypes?: PolicyMaker }

/**
 * The only trusted-types policy of the pages. It never turns text into markup. It allows two scripts: the workers.
 * Browsers without such policies take the address as it is.
 */
export const trusted: Policy = trustedTypes?.createPolicy('holdfast-worker', rules) ?? rules
