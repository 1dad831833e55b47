import { WORKER_ADDRESS } from './address.js'

interface Policy {
  createHTML(text: string): string
  createScriptURL(address: string): string
}

interface PolicyMaker {
  createPolicy(name: string, rules: Policy): Policy
}

const rules: Policy = {
  // For a document that nothing of runs or loads; `safe-html.ts` rebuilds what it allows.
  createHTML: (text) => text,
  createScriptURL(address) {
    if (address === WORKER_ADDRESS) return address
    throw new TypeError('only the worker of these pages is loaded by its address')
  },
}

const { trustedTypes } = globalThis as { trustedTypes?: PolicyMaker }

/** The one policy by which a text may become markup or a script. Browsers without policies take the texts as they are. */
export const trusted: Policy = trustedTypes?.createPolicy('holdfast-html', rules) ?? rules
