import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requireCommandWords } from '../../control-plane/src/jobs/launch/command-words.js'
import { RefusedValuesError } from '../../control-plane/src/errors.js'
import { NO_PLAYBOOK } from '../../control-plane/src/jobs/record/playbook.js'
import { OrderRefusedError, playbookArguments } from '../../runner-agent/src/playbook/command-line.js'
import { extravarsText } from '../../runner-agent/src/playbook/plan.js'
import { orderOf } from '../agent/playbooks.js'
import { CIPHERTEXT, type Canaries, createCanaries, drive, launchText, launchValue } from '../ansible/injection.js'
import { type AnsibleVersion, ansibleVersion } from '../support/ansible-versions.js'

/**
 * Whatever text or value passes our parsers is only data to ansible's own. INJECTION_RUNS is the number of command lines
 * for each version of ansible, INJECTION_SEED draws the same ones again.
 */
const RUNS = Number(process.env.INJECTION_RUNS ?? '150')
const SEED = Number(process.env.INJECTION_SEED ?? Math.floor(Math.random() * 2 ** 31))

let canaries: ReturnType<typeof createCanaries>

beforeAll(() => {
  canaries = createCanaries()
})

afterAll(() => {
  canaries.remove()
})

interface Typed {
  readonly inventory: string
  readonly limit: string
  readonly tags: string
  readonly skipTags: string
  readonly data: unknown
}

/** The arguments that a runner gives to ansible, or null when it refuses them. */
function byRunner(typed: Typed, index: number): string[] | null {
  const file = join(canaries.work, `extravars-${index}.yml`)
  const { inventory, limit, tags, skipTags } = typed
  const order = orderOf('0'.repeat(64), { inventory: [inventory], limit, tags, skip_tags: skipTags })
  return unlessRefused(OrderRefusedError, () => {
    writeFileSync(file, extravarsText({ data: typed.data }, false))
    return playbookArguments(order, { path: canaries.work, confined: true }, canaries.work, file)
  })
}

/**
 * What the control plane lets through, as it would reach ansible if no runner checked it again. Only the runner can tell
 * which file an absolute path means, so `byRunner` judges these alone.
 */
function byControlPlane({ inventory, limit, tags, skipTags }: Typed): string[] | null {
  if (inventory.startsWith('/') && !inventory.includes(',')) return null
  return unlessRefused(RefusedValuesError, () => {
    const said = { inventories: [inventory], limit: true, playbook: true, playbookSubPath: true }
    requireCommandWords({ ...NO_PLAYBOOK, playbook: 'site.yml', inventory: [inventory], limit, tags, skipTags }, said)
    return [`--inventory=${inventory}`, `--limit=${limit}`, `--tags=${tags}`, `--skip-tags=${skipTags}`, 'site.yml']
  })
}

function unlessRefused<Value>(error: new (...given: never[]) => Error, of: () => Value): Value | null {
  try {
    return of()
  } catch (problem) {
    if (problem instanceof error) return null
    throw problem
  }
}

/** Draws until as many command lines have passed the parsers as shall be run. */
function passing(count: number): { readonly typed: Typed; readonly line: string[] }[] {
  const { work } = canaries
  // One of the texts is drawn, the others are good: a command line of four drawn ones would hardly ever pass.
  const good = { inventory: 'web1,web2,', limit: 'all', tags: 'all', skipTags: 'never', data: {} }
  const text = launchText(canaries)
  const drawn = fc.oneof(
    text.map((inventory): Typed => ({ ...good, inventory })),
    text.map((inventory): Typed => ({ ...good, inventory: `${inventory},` })),
    text.map((limit): Typed => ({ ...good, limit })),
    fc.tuple(text, text).map(([tags, skipTags]): Typed => ({ ...good, tags, skipTags })),
    launchValue(canaries).map((data): Typed => ({ ...good, data })),
  )
  const found: { typed: Typed; line: string[] }[] = []
  const batch = Math.max(count, 100)
  for (let round = 0; found.length < count; round += 1) {
    for (const typed of fc.sample(drawn, { numRuns: batch, seed: SEED + round })) {
      const lines = [byRunner(typed, found.length), typed.data === good.data ? byControlPlane(typed) : null]
      for (const line of lines) if (line !== null && found.length < count) found.push({ typed, line })
    }
    if (round > 50) throw new Error(`only ${found.length} of ${round * batch} texts passed below ${work}`)
  }
  return found
}

describe.each<[Parameters<typeof ansibleVersion>[0]]>([['own'], ['2.19']])('ansible-core %s', (version) => {
  let ansible: AnsibleVersion

  beforeAll(() => {
    ansible = ansibleVersion(version)
  })

  test('takes nothing that passes for more than data', async () => {
    const lines = passing(RUNS)
    const answers = await drive(
      ansible,
      canaries,
      lines.map(({ line }) => line),
    )
    const bad = answers.flatMap(({ hits }, index) => (hits.length > 0 ? [{ ...lines[index], hits }] : []))
    expect(bad, `INJECTION_SEED=${SEED}`).toEqual([])
    // Most of it must have come as far as templates, or nothing was tested.
    expect(answers.filter(({ tried }) => tried > 0).length, `INJECTION_SEED=${SEED}`).toBeGreaterThan(RUNS * 0.7)
  })

  test('is seen to be attacked when nothing is checked', async () => {
    const lines = exploits(canaries)
    const answers = await drive(ansible, canaries, Object.values(lines))
    const unseen = Object.keys(lines).filter((_name, index) => answers[index]?.hits.length === 0)
    // The one works only since 2.19, the other only before.
    expect(unseen).toEqual(version === 'own' ? [LATER] : [EARLIER])
  })
})

const LATER = 'a broken mark'
const EARLIER = 'tags with a template'

/** Command lines as they were before anything was checked. */
function exploits({ work, made, secretFile }: Canaries): Record<string, string[]> {
  const lookup = `{{ lookup(*'pipe|touch ${made}; echo x'.split('|')) }}`
  const json = (name: string, data: unknown) => {
    writeFileSync(join(work, name), JSON.stringify({ data }))
    return ['-e', `@${name}`, '--inventory=a,', 'site.yml']
  }
  return {
    'an inventory with a template': [`--inventory=${lookup},`, 'site.yml'],
    'a limit with a template': ['--inventory=a,', `--limit=all,${lookup}`, 'site.yml'],
    [EARLIER]: ['--inventory=a,', `--tags=all,${lookup}`, 'site.yml'],
    'a limit with a file after a bracket': ['--inventory=a,', `--limit=x]@${secretFile}`, 'site.yml'],
    'a limit with a file after a hidden separator': ['--inventory=a,', `--limit=x,\u001c@${secretFile}`, 'site.yml'],
    'an inventory that is none': [`--inventory=${secretFile}`, 'site.yml'],
    'a ciphertext': json('vault.json', { __ansible_vault: CIPHERTEXT }),
    'a template as a value': json('template.json', lookup),
    [LATER]: json('broken.json', [{ __ansible_unsafe: lookup }, { __ansible_type: 'x' }]),
  }
}
