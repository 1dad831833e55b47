import { Resolver } from 'node:dns/promises'
import type { Credentials } from '../credentials/stored/credentials.js'
import { parseAnswer } from './exact-json.js'
import type { FormFiles } from './file-functions.js'
import { type AskedName, namesAskedIn, namesAt } from './credential-names.js'
import { createFormCredentials } from './form-credentials.js'
import type { FormRequest, FormResponse } from './http-request.js'
import type { JqThread } from './jq-thread.js'
import { type SourcedText, sourcedText } from './origins.js'
import { type Asker, type Question, SourceProblem } from './question.js'
import { REST_FUNCTIONS } from './rest-functions.js'
import { type SshSettings, runSshCommand } from './ssh-command.js'

type Call = Extract<Question, { kind: 'function' }>

/** The functions of forms (`fn.fnJq` and others) that the sandbox cannot answer itself. */
export interface Functions {
  /** @throws SourceProblem */
  call(question: Call, asker: Pick<Asker, 'mayUse'>, signal: AbortSignal): Promise<unknown>
  /** Which of the names in a question the asker may use. The cache makes it a part of its key. */
  rightsIn(question: Question, asker: Pick<Asker, 'mayUse'>): string
  close(): Promise<void>
}

/** What the functions need of other parts. */
export interface FunctionsDependencies {
  readonly credentials: Pick<Credentials, 'open' | 'list'>
  readonly files: FormFiles
  readonly jq: JqThread
  readonly send: (request: FormRequest) => Promise<FormResponse>
  readonly ssh: SshSettings
  /** Servers of DNS with their ports; undefined: those of the system. */
  readonly nameServers?: readonly string[]
}

const DNS_TYPES = ['A', 'AAAA', 'MX', 'NS', 'CNAME', 'TXT', 'SRV', 'PTR', 'SOA', 'CAA'] as const

/** Makes the {@link Functions}. */
export function createFunctions(deps: FunctionsDependencies): Functions {
  const { credentials, files, jq, send } = deps
  const named = createFormCredentials(credentials, jq)

  const filtered = async (value: unknown, filter: unknown): Promise<unknown> =>
    isNothing(filter) ? value : jq.run(value, textOf(filter, 'the jq filter'))

  async function ssh({ given, origins }: Call, signal: AbortSignal): Promise<unknown> {
    const [user, host, command, filter] = given
    const asked = {
      user: textOf(user, 'the user'),
      host: textOf(host, 'the host'),
      command: sourcedText(textOf(command, 'the command'), origins, '/2'),
    }
    const said = await runSshCommand(deps.ssh, asked, named.openOne, signal)
    return isNothing(filter) ? linesOf(said) : jq.run(jsonOrLines(said), textOf(filter, 'the jq filter'))
  }

  return {
    async call(question, asker, signal) {
      const { name, given, origins } = question
      const needs = {
        send,
        signal,
        credential: (names: readonly AskedName[]) => named.open(names, asker),
        jq: (value: unknown, filter: SourcedText) => jq.run(value, filter.text),
      }
      const rest = Object.hasOwn(REST_FUNCTIONS, name) ? REST_FUNCTIONS[name] : undefined
      if (rest) return rest(question, needs)
      switch (name) {
        case 'fnJq':
          return jq.run(given[0], textOf(given[1], 'the jq filter'))
        case 'fnReadYamlFile':
          return filtered(await files.readYaml(textOf(given[0], 'the path')), given[1])
        case 'fnReadJsonFile':
          return filtered(await files.readJson(textOf(given[0], 'the path')), given[1])
        case 'fnSsh':
          return ssh(question, signal)
        case 'fnLs':
          return listFiles(files, given)
        case 'fnDnsResolve':
          return resolveName(given, signal, deps.nameServers)
        case 'fnCredentials': {
          const names = [0, 1].flatMap((at) => namesAt(given[at], origins, `/${at}`))
          const { name: own, user, host, port } = await named.open(names, asker, true)
          // The form does not get the secret. It gets this text, and the functions for REST services replace the text.
          return { name: own, user, host, port, password: `password(${own})` }
        }
        default:
          throw new SourceProblem(`fn.${name} is not there in this service`)
      }
    },
    rightsIn(question, asker) {
      const names = namesAskedIn(question).filter(({ isWritten }) => !isWritten)
      return names.map(({ name }) => (asker.mayUse(name) ? '1' : '0')).join('')
    },
    close: () => jq.close(),
  }
}

/**
 * Refuses a database whose name came from a value and is not allowed to whoever fills in the form.
 * @throws SourceProblem
 */
export function refuseForbiddenDatabase(
  question: Extract<Question, { kind: 'query' }>,
  asker: Pick<Asker, 'mayUse'>,
): void {
  const forbidden = namesAskedIn(question).find(({ name, isWritten }) => !isWritten && !asker.mayUse(name))
  if (forbidden) throw new SourceProblem(`your roles do not allow the credential '${forbidden.name}'`)
}

/** Lists files for `fn.fnLs`. Its pattern is applied in the sandbox, because no pattern runs long there. */
function listFiles(files: FormFiles, given: readonly unknown[]): Promise<unknown[]> {
  const options = typeof given[1] === 'object' && given[1] !== null ? given[1] : {}
  const isSet = (name: string) => name in options && (options as Record<string, unknown>)[name] === true
  return files.list(textOf(given[0], 'the path'), { recursive: isSet('recursive'), metadata: isSet('metadata') })
}

async function resolveName(
  given: readonly unknown[],
  signal: AbortSignal,
  nameServers: readonly string[] | undefined,
): Promise<unknown> {
  const host = textOf(given[0], 'the name')
  const type = DNS_TYPES.find((one) => one === (given[1] ?? 'A'))
  if (!type) throw new SourceProblem(`the type of the record must be one of ${DNS_TYPES.join(', ')}`)
  const resolver = new Resolver()
  if (nameServers) resolver.setServers(nameServers)
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel)
  try {
    return await resolver.resolve(host, type)
  } catch (error) {
    throw new SourceProblem(`${host} has no record ${type} (${(error as NodeJS.ErrnoException).code ?? 'failed'})`)
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** What a command printed, as a value: its JSON, or its lines when it is no JSON. */
function jsonOrLines(text: string): unknown {
  try {
    return parseAnswer(text, false)
  } catch {
    return linesOf(text)
  }
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/\r?\n/)
}

function isNothing(value: unknown): value is null | undefined | '' {
  return value === undefined || value === null || value === ''
}

function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new SourceProblem(`${what} must be a text`)
}
