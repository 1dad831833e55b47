import { parseJson } from '@holdfast/protocol'
import { execa } from 'execa'
import { closeSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import * as v from 'valibot'
import type { Environment } from '../ground.js'
import { OrderRefusedError } from './command-line.js'
import { findProgram } from './plan.js'

/** The Python of this host that runs the supervisors, and what it says about the host. */
export interface HostPython {
  /** Its own path. The program in PATH may be the wrapper of a version manager, which takes several times as long to start. */
  readonly path: string
  /** Why no playbook can be run, in a sentence; null: all is well. */
  readonly problem: string | null
  /** The value of LC_ALL with which ansible starts here; null: the agent's own environment is right as it is. */
  readonly locale: string | null
  /** What the operator should know about the locale, in a sentence; null: nothing. */
  readonly localeDoubt: string | null
}

/** The supervisor starts ansible with `posix_spawn` and `setsid`, and keeps keys in `memfd_create`: both came with 3.8. */
const NEEDED = [3, 8] as const
/** The program that asks for locks runs with any Python that knows `-I`. */
const NEEDED_FOR_LOCKS = [3, 4] as const

const ANSWER_MS = 20_000
const FIRST_BYTES = 4096

/** Runs with every Python from 2.7 on, so that one that is too old can be named with its version. */
const QUESTION = `
import json, locale, sys
def encoding(name):
    try:
        locale.setlocale(locale.LC_ALL, name)
        return locale.getlocale()[1] or "none"
    except (locale.Error, ValueError):
        return "unknown"
print(json.dumps([sys.executable, list(sys.version_info[:3]), encoding(""), encoding("C.UTF-8")]))
`
const answerSchema = v.tuple([v.string(), v.array(v.number()), v.string(), v.string()])

interface Candidate {
  /** For people: where the name comes from. */
  readonly origin: string
  readonly program: string
}

interface Answer extends Candidate {
  readonly path: string
  readonly version: readonly number[]
  /** Encodings of the agent's locale and of C.UTF-8; `unknown` when there is no such locale here. */
  readonly encoding: string
  readonly encodingOfUtf8: string
}

/**
 * Looks for a Python that can run supervisors. If the operator names one, it uses no other. Otherwise it takes the
 * Python of ansible-playbook, or else `python3`.
 * @param named RTE_PYTHON
 * @throws Error with a sentence when no Python runs at all: then not even the state folder can be locked
 */
export async function findHostPython(environment: Environment, named: string | null): Promise<HostPython> {
  const answers: Answer[] = []
  const complaints: string[] = []
  for (const candidate of candidatesOf(environment, named)) {
    const answer = await ask(candidate, environment)
    if (typeof answer === 'string') {
      complaints.push(answer)
      continue
    }
    answers.push(answer)
    if (isAtLeast(answer.version, NEEDED)) return { path: answer.path, problem: null, ...localeOf(answer) }
    complaints.push(`${candidate.origin} is Python ${answer.version.join('.')}`)
  }
  const sentence = `playbooks need Python ${NEEDED.join('.')} or later on this host, and ${complaints.join(', ')}`
  const older = answers.find(({ version }) => isAtLeast(version, NEEDED_FOR_LOCKS))
  if (older === undefined) throw new Error(sentence)
  const hint = named === null ? 'install one, or name it with RTE_PYTHON' : 'name another one with RTE_PYTHON'
  return { path: older.path, problem: `${sentence}; ${hint}`, ...localeOf(older) }
}

function* candidatesOf(environment: Environment, named: string | null): Generator<Candidate> {
  if (named !== null) {
    yield { origin: `${named} (RTE_PYTHON)`, program: named }
    return
  }
  const ofAnsible = interpreterOfAnsible(environment.PATH)
  if (ofAnsible !== null) yield { origin: `${ofAnsible} (of ansible-playbook)`, program: ofAnsible }
  yield { origin: 'python3', program: 'python3' }
}

/** What the first line of ansible-playbook says; null when it is a wrapper of another kind, or not here. */
export function interpreterOfAnsible(path: string | undefined): string | null {
  try {
    return interpreterOf(beginningOf(findProgram('ansible-playbook', path)))
  } catch (error) {
    if (error instanceof OrderRefusedError || (error as NodeJS.ErrnoException).code !== undefined) return null
    throw error
  }
}

/**
 * The Python that a script's beginning names. `env` names the one of PATH, which is asked anyway. pip writes a small shell
 * script in front where the path is too long for the kernel or has a space.
 * @returns null when it names none by its path
 */
function interpreterOf(beginning: string): string | null {
  const [first = '', second = ''] = beginning.split('\n')
  const plain = /^#!\s*(\/\S+)/.exec(first)?.[1] ?? null
  if (plain === null) return null
  if (plain.endsWith('/sh')) return /^'''exec' "?(\/[^"]*?)"? "\$0" "\$@"/.exec(second)?.[1] ?? null
  return basename(plain).startsWith('python') ? plain : null
}

function beginningOf(path: string): string {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(FIRST_BYTES)
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, FIRST_BYTES, 0))
  } finally {
    closeSync(file)
  }
}

/** Asks a Python about itself, with the variables by which Python and ansible choose the locale. @returns a complaint when it does not answer */
async function ask(candidate: Candidate, environment: Environment): Promise<Answer | string> {
  const kept = /^(?:PATH|HOME|LANG|LANGUAGE|LC_\w+|LOCPATH|PYTHONUTF8|PYTHONCOERCECLOCALE)$/
  const result = await execa(candidate.program, ['-s', '-S', '-c', QUESTION], {
    env: Object.fromEntries(Object.entries(environment).filter(([name]) => kept.test(name))),
    extendEnv: false,
    // Python must not load a module of the same name from the agent's folder.
    cwd: '/',
    reject: false,
    stdin: 'ignore',
    timeout: ANSWER_MS,
    forceKillAfterDelay: 500,
    maxBuffer: 64 * 1024,
  })
  if (result.failed) return `${candidate.origin} does not run here (${result.shortMessage})`
  try {
    const [path, version, encoding, encodingOfUtf8] = parseJson(answerSchema, result.stdout)
    return { ...candidate, path, version, encoding, encodingOfUtf8 }
  } catch {
    return `${candidate.origin} is no Python`
  }
}

function isAtLeast(version: readonly number[], [major, minor]: readonly [number, number]): boolean {
  const [ofMajor = 0, ofMinor = 0] = version
  return ofMajor > major || (ofMajor === major && ofMinor >= minor)
}

/** Ansible refuses to start where the encoding of the locale is not UTF-8: under `C`, and under one that is not installed. */
function localeOf({ encoding, encodingOfUtf8 }: Answer): Pick<HostPython, 'locale' | 'localeDoubt'> {
  if (isUtf8(encoding)) return { locale: null, localeDoubt: null }
  const own = encoding === 'unknown' ? 'is not installed' : `has the encoding ${encoding}`
  if (isUtf8(encodingOfUtf8)) {
    return {
      locale: 'C.UTF-8',
      localeDoubt: `the agent's locale ${own}; playbooks get LC_ALL=C.UTF-8, because ansible needs UTF-8`,
    }
  }
  return {
    locale: null,
    localeDoubt: `the agent's locale ${own}, ansible needs UTF-8, and there is no C.UTF-8 here: jobs will fail`,
  }
}

function isUtf8(encoding: string): boolean {
  return /^utf-?8$/i.test(encoding)
}
