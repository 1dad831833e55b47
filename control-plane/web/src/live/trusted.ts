import { WORKER_ADDRESS } from './address.js'

interface Policy {
  createScriptURL(address: string): string
}

interface PolicyMaker {
  createPolicy(name: string, rules: Policy): Policy
}

const rules: Policy = {
  createScriptURL(address) {
    if (address === WORKER_ADDRESS) return address
    throw new TypeError('only the worker of these pages is loaded by its address')
  },
}

const { trustedTypes } = globalThis as { trustedTypes?: PolicyMaker }

/**
 * The one policy of the pages. It makes no markup of any text, and names one script: the worker. Browsers without policies
 * take the address as it is.
 */
export const trusted: Policy = trustedTypes?.createPolicy('holdfast-worker', rules) ?? rules
