import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createSetting, exactEnd } from '../agent/setting.js'
import { orderOf, play, publish, say } from '../agent/playbooks.js'
import { ansibleVersion } from '../support/ansible-versions.js'
import { type Product, startProduct } from '../support/product.js'

/**
 * A user of a form tries to have the runner run code, read files or open secrets with what can be typed into its fields.
 * Everything is real: control plane, runner agent, ansible-playbook.
 */

/** What the attacks would make, and what they would show. */
let folder: string
let canary: string
let product: Product
const SECRET = 'canary-of-the-vault'
const IDENTITY = 'CANARY-OF-A-FILE'

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-injection-'))
  canary = join(folder, 'canary')
  mkdirSync(join(folder, 'state'))
  writeFileSync(join(folder, 'state', 'identity'), `${IDENTITY}\n`)
  writeFileSync(join(folder, 'vault.pass'), 'the password of the vault')
  const fields = ['__inventory__', '__limit__', '__tags__'].map((name) => ({ name }))
  const data = [{ name: 'data', type: 'yaml' }, { name: 'text' }]
  const form = (name: string, more: object) => ({ name, type: 'ansible', roles: ['default'], ...more })
  product = await startProduct({
    forms: {
      'forms.yml': JSON.stringify([
        form('reserved', { playbook: 'reserved.yml', fields }),
        form('steps', {
          type: 'multistep',
          fields: [{ name: 'where', model: 'part.__limit__' }],
          steps: [{ name: 'one', playbook: 'reserved.yml', inventory: 'a,', key: 'part' }],
        }),
        form('data', { playbook: 'data.yml', inventory: 'localhost,', fields: data }),
        form('trusting', { playbook: 'data.yml', inventory: 'localhost,', allowJinjaInExtravars: true, fields: data }),
      ]),
    },
    playbooks: {
      'ansible.cfg': `[defaults]\nvault_password_file = ${join(folder, 'vault.pass')}\n`,
      'group_vars/all/secret.yml': `secret: ${IDENTITY}\n`,
      'reserved.yml': play(
        say('{{ ansible_limit | default(0) }} {{ inventory_hostname }} {{ inventory_file }} {{ ansible_run_tags }}'),
        say('{{ hostvars }} {{ groups }} {{ ansible_inventory_sources }} {{ ansible_skip_tags }}'),
      ).replace('"localhost"', '"all"'),
      'data.yml': play(
        say("SHOWN {{ data | default('') | to_json }} {{ text | default('') }}"),
        { set_fact: { again: "{{ data | default({}) | dict2items if data is mapping else data | default('') }}" } },
        say('{{ again }}'),
        { name: 'twice', debug: { msg: 'x' }, when: "{{ text | default('true') }}", ignore_errors: true },
      ),
    },
  })
})

afterAll(async () => {
  await product?.close()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach(() => {
  rmSync(canary, { force: true })
})

/** Launches, and waits for the end of what was launched. */
async function attack(formName: string, rawFormData: Record<string, unknown>) {
  const answer = await product.admin.request('POST', '/job', { formName, rawFormData, extravars: {} })
  const job = answer.status === 200 ? await product.waitForEnd((answer.body as { id: number }).id) : { output: '' }
  return { ...answer, output: String(job.output), done: job.status as string | undefined }
}

const lookup = () => `{{ lookup(*'pipe|id >${canary}; echo x'.split('|')) }}`

describe('reserved fields', () => {
  const HIDDEN = '\u001c'
  test.each<[string, () => Record<string, unknown>]>([
    ['a list of hosts with a template', () => ({ __inventory__: `${lookup()},` })],
    ['a list of hosts with a statement', () => ({ __inventory__: `a{% set x = 1 %},${lookup()}` })],
    ['an inventory that is no inventory', () => ({ __inventory__: 'group_vars/all/secret.yml' })],
    ['an inventory elsewhere', () => ({ __inventory__: `../../../../../..${folder}/state/identity` })],
    ['a limit with a template', () => ({ __inventory__: 'a,', __limit__: `all,${lookup()}` })],
    ['a limit with a file after a bracket', () => ({ __inventory__: 'a,', __limit__: `x]@${folder}/state/identity` })],
    [
      'a limit with a file after a separator that nobody sees',
      () => {
        return { __inventory__: 'a,', __limit__: `x,${HIDDEN}@${folder}/state/identity` }
      },
    ],
    ['a limit with a file', () => ({ __inventory__: 'a,', __limit__: `@${folder}/state/identity` })],
    ['tags with a template', () => ({ __inventory__: 'a,', __tags__: `all,${lookup()}` })],
    ['tags that are an option', () => ({ __inventory__: 'a,', __tags__: '--extra-vars=a=b' })],
  ])('%s: refused, the field named', async (_name, values) => {
    const sent = values()
    const { status, body, output } = await attack('reserved', sent)
    expect(existsSync(canary)).toBe(false)
    expect(output).not.toContain(IDENTITY)
    const named = { code: 'values_refused', details: { invalid: Object.keys(sent).slice(-1) } }
    expect({ status, body }).toMatchObject({ status: 422, body: named })
  })

  test('a step that takes its limit from a field is refused as well', async () => {
    const { status, body } = await attack('steps', { where: `all,${lookup()}` })
    expect(existsSync(canary)).toBe(false)
    expect({ status, body }).toMatchObject({ status: 422, body: { details: { invalid: ['__limit__'] } } })
  })

  test('what people really type goes on working', async () => {
    const values = {
      __inventory__: 'web1, web[2:3].example.com,10.0.0.1:2222,[2001:db8::1]:22,',
      __tags__: 'all, x::y',
    }
    const { done, output } = await attack('reserved', { ...values, __limit__: 'web*:!web9:&all[0]' })
    expect(done, output).toBe('success')
    expect(output).toContain('web1')
  })
})

describe('values', () => {
  test('a vault’s ciphertext is not decrypted, at any depth', async () => {
    const arguments_ = ['encrypt_string', '--vault-password-file', join(folder, 'vault.pass'), SECRET]
    const encrypted = execFileSync('ansible-vault', arguments_, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const ciphertext = encrypted.slice(encrypted.indexOf('$ANSIBLE_VAULT')).replace(/^ +/gm, '').trim()
    const data = JSON.stringify({ a: [{ __ansible_vault: ciphertext }], __ansible_vault: ciphertext })
    const { output, done } = await attack('data', { data })
    expect(done, output).toBe('success')
    expect(output).not.toContain(SECRET)
    const trusting = await attack('trusting', { data })
    expect(trusting.output).toContain('SHOWN')
    expect(trusting.output).not.toContain(SECRET)
  })

  test('marks of ansible’s own, whole or broken, take no other mark away', async () => {
    const marks = ['__ansible_unsafe', '__ansible_type', '__ansible_vault'].map((mark) => ({ [mark]: 5 }))
    const data = JSON.stringify([
      ...marks,
      { __ansible_unsafe: lookup(), __ansible_type: 'TrustedAsTemplate' },
      lookup(),
    ])
    const { output } = await attack('data', { data, text: lookup() })
    expect(existsSync(canary)).toBe(false)
    expect(output).toContain('SHOWN')
  })

  test('an expression that a playbook puts into a condition by a template is data', async () => {
    const { output } = await attack('data', { text: `lookup('pipe', 'id >${canary}')` })
    expect(output).toContain('SHOWN')
    expect(existsSync(canary)).toBe(false)
  })

  test('a name that looks like a template is refused, the field named', async () => {
    const { status, body } = await attack('data', { data: JSON.stringify({ a: [{ [lookup()]: 1 }] }) })
    expect(existsSync(canary)).toBe(false)
    expect({ status, body }).toMatchObject({ status: 422, body: { details: { invalid: ['data'] } } })
  })
})

describe('ansible-core 2.19, in which trust works in another way', () => {
  test('takes values for data as well: ciphertexts, broken marks, templates, conditions', async () => {
    const setting = await createSetting()
    await setting.join({ PATH: `${ansibleVersion('2.19').programs}:${process.env.PATH}` })
    const { controlPlane } = setting
    const site = play(
      say('SHOWN {{ data | to_json }} {{ plain }} {{ plain | type_debug }}'),
      { set_fact: { again: '{{ data }}' } },
      say('{{ again }}'),
      { name: 'twice', debug: { msg: 'x' }, when: '{{ text }}', ignore_errors: true },
    )
    const broken = ['__ansible_unsafe', '__ansible_type', '__ansible_vault'].map((mark) => ({ [mark]: 5 }))
    const data = [...broken, { __ansible_unsafe: lookup() }, lookup(), { __ansible_vault: '$ANSIBLE_VAULT;1.1;AES256' }]
    const inline = { data, text: `lookup('pipe', 'id >${canary}')`, plain: 'é😀"\\\n' }
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': site }), { extravars: { inline } }))
    const { text } = await exactEnd(controlPlane, job)
    expect(existsSync(canary)).toBe(false)
    expect(text).toContain('SHOWN')
    expect(text).toContain('é😀')
    expect(text).not.toContain('uid=')
  })
})

describe('the runner trusts no order', () => {
  test('an order that no control plane would send ends as failed with the reason, and nothing is run', async () => {
    const setting = await createSetting()
    await setting.join()
    const { controlPlane } = setting
    const reserved = play(say('{{ ansible_limit | default(0) }} {{ inventory_hostname }} {{ ansible_run_tags }}'))
    const manifest = publish(controlPlane, {
      'site.yml': reserved.replace('"localhost"', '"all"'),
      'secret.yml': IDENTITY,
    })
    const forged = [
      { inventory: [`${lookup()},`] },
      { inventory: ['secret.yml'] },
      { limit: `all,${lookup()}` },
      { limit: `x]@${folder}/state/identity` },
      { limit: `x,\u001c@${folder}/state/identity` },
      { tags: `all,${lookup()}` },
      { skip_tags: lookup() },
      { limit: `@${folder}/state/identity`, of_form: { inventory: true, limit: true } },
    ]
    for (const change of forged) {
      const job = controlPlane.offer(orderOf(manifest, change))
      const end = await exactEnd(controlPlane, job)
      expect(existsSync(canary)).toBe(false)
      expect(end.text).not.toContain(IDENTITY)
      expect(end).toMatchObject({ cause: 'not_started', exit_code: null })
      expect(end.message).toMatch(/refused: .*(is no|as an inventory)|lies outside the playbook folder/)
    }
  })
})
