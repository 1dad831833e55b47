import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import type { AnsibleVersion } from '../support/ansible-versions.js'

/** What attacks would open, show or make. */
export interface Canaries {
  /** The working folder of the playbook. */
  readonly work: string
  readonly secretFile: string
  readonly made: string
  readonly vaultPassword: string
  readonly output: string
}

const WORDS = { file: 'SECRET-LINE-q7', vault: 'VAULT-PLAINTEXT-q7', product: '1234001234' }

/** `VAULT-PLAINTEXT-q7`, encrypted with the password `canary`. */
export const CIPHERTEXT = `$ANSIBLE_VAULT;1.1;AES256
66333237643032303537626132363235623865646631656134326664633838336631666635393464
3664653433376436353130613035303663323965623865300a326166633930356134343663633436
39373330373434633161323034363438333639663336623362663836336462333864363661376562
6334373939353535350a346436626361633461653430316239316134616333383934616131653966
31633261656162656234623831383830333836623139373239323432303762313134
`

export function createCanaries(): Canaries & { remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-canaries-'))
  const work = join(folder, 'work')
  mkdirSync(join(work, 'inventories'), { recursive: true })
  writeFileSync(join(work, 'site.yml'), '- hosts: all\n')
  writeFileSync(join(work, 'inventories', 'prod'), 'web1\nweb2\n')
  writeFileSync(join(work, 'secret.yml'), `password: ${WORDS.file}\n`)
  writeFileSync(join(folder, 'vault'), 'canary')
  return {
    work,
    secretFile: join(work, 'secret.yml'),
    made: join(folder, 'made'),
    output: join(folder, 'output'),
    vaultPassword: join(folder, 'vault'),
    remove: () => {
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface DriverAnswer {
  /** What went through that should not have. */
  readonly hits: readonly string[]
  /** Templates that were tried; none when ansible refused the command line. */
  readonly tried: number
}

/**
 * Gives command lines to ansible's own parsers (injection-driver.py), one after the other, in one process.
 * @returns what became of each
 */
export async function drive(
  ansible: AnsibleVersion,
  canaries: Canaries,
  commandLines: readonly (readonly string[])[],
): Promise<DriverAnswer[]> {
  const { secretFile, made, work, output, vaultPassword } = canaries
  const environment = {
    PATH: process.env.PATH,
    HOME: work,
    PYTHONPATH: ansible.pythonPath,
    INJECTION_OUTPUT: output,
    ANSIBLE_LOCALHOST_WARNING: '0',
    INJECTION_CANARIES: JSON.stringify({ files: [secretFile], made: [made], words: Object.values(WORDS) }),
  }
  const driver = spawn(ansible.python, [join(import.meta.dirname, 'injection-driver.py')], {
    cwd: work,
    env: environment,
    stdio: ['pipe', 'pipe', 'inherit'] as const,
  })
  const answers: DriverAnswer[] = []
  const reading = (async () => {
    for await (const line of createInterface({ input: driver.stdout })) answers.push(JSON.parse(line) as DriverAnswer)
  })()
  // Who ends early is told by the number of answers.
  driver.stdin.on('error', () => undefined)
  for (const line of commandLines) {
    driver.stdin.write(`${JSON.stringify({ arguments: [`--vault-password-file=${vaultPassword}`, ...line] })}\n`)
  }
  driver.stdin.end()
  await reading
  if (answers.length !== commandLines.length) throw new Error(`the driver answered ${answers.length} command lines`)
  return answers
}

/** Pieces that an attack consists of. */
export function attackPieces({ made, secretFile }: Canaries): string[] {
  return [
    '{{',
    '}}',
    '{%',
    '%}',
    '{#',
    '#}',
    '#jinja2:',
    '@',
    '!',
    '&',
    '~',
    '-',
    '--',
    '[',
    ']',
    '(',
    ')',
    '|',
    "'",
    '"',
    ',',
    ':',
    ';',
    ' ',
    '=',
    '/',
    '..',
    '\\',
    '$',
    '`',
    '%',
    '*',
    '?',
    '\n',
    '\r',
    '\t',
    '\0',
    '\v',
    '\f',
    '\ud800',
    '\u001c',
    '\u001d',
    '\u001e',
    '\u001f',
    '\u0085',
    '\u00a0',
    '\u1680',
    '\u2003',
    '\u2028',
    '\u2029',
    '\u3000',
    `{{ lookup(*'pipe|touch ${made}'.split('|')) }}`,
    `{{ lookup('pipe', 'touch ${made}') }}`,
    `lookup('pipe', 'touch ${made}')`,
    '{{ 1234 * 1000001 }}',
    '1234 * 1000001',
    '{% print(1234 * 1000001) %}',
    '{{ hostvars }}',
    `@${secretFile}`,
    secretFile,
    'secret.yml',
    '@secret.yml',
    './secret.yml',
    'inventories/../secret.yml',
    '$HOME/secret.yml',
    '~/secret.yml',
    `x]@${secretFile}`,
    `x,\u001c@${secretFile}`,
    `[@${secretFile}]`,
  ]
}

const PLAIN = [
  'web',
  'web1',
  'db',
  'all',
  'localhost',
  'prod',
  '1',
  '0',
  'é',
  '10.0.0.1',
  '2001:db8::1',
  'web[1:3]',
  '.',
  '_',
]

/** Texts that people type, with pieces of attacks among them. */
export function launchText(canaries: Canaries): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...PLAIN) },
    { weight: 3, arbitrary: fc.constantFrom(',', ',', ':', ' ', '*', '!', '&', '-', '[0]', '~', '@', '/') },
    { weight: 1, arbitrary: fc.constantFrom(...attackPieces(canaries)) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
  )
  return fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(''))
}

/** Values that people send, with the names of ansible's JSON and templates among them. */
export function launchValue(canaries: Canaries): fc.Arbitrary<unknown> {
  const text = fc.oneof(fc.constantFrom(...attackPieces(canaries), CIPHERTEXT), launchText(canaries))
  const reserved = [
    '__ansible_vault',
    '__ansible_unsafe',
    '__ansible_type',
    '__ansible_no_log',
    '__tagged',
    '__class__',
  ]
  const name = fc.oneof(fc.constantFrom(...reserved, 'a', '<<', '=', '!vault', '&x', '*x', '- a', '{', '?'), text)
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      text,
      fc.jsonValue({ maxDepth: 1 }),
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  }))
  return value
}
