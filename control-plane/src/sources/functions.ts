import { Resolver } from 'node:dns/promises'
import type { Credentials } from '../credentials/stored/credentials.js'
import { parseAnswer } from './exact-json.js'
import type { FormFiles } from './file-functions.js'
import { type AskedName, namesAskedIn, namesAt } from './credential-names.js'
import { createFormCredentials } from './form-credentials.js'
import type { FormRequest, FormResponse } from './http-request.js'
import type { Jq } from './jq.js'
import { type SourcedText, pointerOf, sourcedText, untypedLength } from './origins.js'
import { type Asker, type Question, SourceProblem, type Work } from './question.js'
import { REST_FUNCTIONS } from './rest-functions.js'
import { type SshSettings, runSshCommand } from './ssh-command.js'

type Call = Extract<Question, { kind: 'function' }>

/** The functions of forms (`fn.fnJq` and others) that the sandbox cannot answer itself. */
export type Functions = ReturnType<typeof createFunctions>

const DNS_TYPES = ['A', 'AAAA', 'MX', 'NS', 'CNAME', 'TXT', 'SRV', 'PTR', 'SOA', 'CAA'] as const

type Filter = (value: unknown, filter: SourcedText) => Promise<unknown>

/** Makes the {@link Functions}. */
export function createFunctions(deps: {
  readonly credentials: Pick<Credentials, 'open' | 'list'>
  readonly files: FormFiles
  readonly jq: Jq
  readonly send: (request: FormRequest) => Promise<FormResponse>
  readonly ssh: SshSettings
  /** Servers of DNS with their ports; undefined: those of the system. */
  readonly nameServers?: readonly string[]
}) {
  const { credentials, files, jq, send } = deps
  const named = createFormCredentials(credentials, jq)

  /** A filter that holds what a person typed has less time. */
  const filterFor =
    (work: Work): Filter =>
    (value, filter) =>
      jq.run(value, filter.text, { ...work, isFromValue: untypedLength(filter) < filter.text.length })

  async function ssh(question: Call, { signal }: Work, filtered: Filter): Promise<unknown> {
    const [user, host, , filter] = question.given
    const asked = {
      user: textOf(user, 'the user'),
      host: textOf(host, 'the host'),
      command: textAt(question, 2, 'the command'),
    }
    const said = await runSshCommand(deps.ssh, asked, named.openOne, signal)
    return isNothing(filter) ? linesOf(said) : filtered(jsonOrLines(said), textAt(question, 3, 'the jq filter'))
  }

  return {
    /** @throws SourceProblem */
    async call(question: Call, asker: Pick<Asker, 'mayUse'> & Work): Promise<unknown> {
      const { name, given, origins } = question
      const filtered = filterFor(asker)
      const filteredIfAsked = (value: unknown) =>
        isNothing(given[1]) ? value : filtered(value, textAt(question, 1, 'the jq filter'))
      const needs = {
        send,
        signal: asker.signal,
        credential: (names: readonly AskedName[]) => named.open(names, asker),
        jq: filtered,
      }
      const rest = Object.hasOwn(REST_FUNCTIONS, name) ? REST_FUNCTIONS[name] : undefined
      if (rest) return rest(question, needs)
      switch (name) {
        case 'fnJq':
          return filtered(given[0], textAt(question, 1, 'the jq filter'))
        case 'fnReadYamlFile':
          return filteredIfAsked(await files.readYaml(textOf(given[0], 'the path')))
        case 'fnReadJsonFile':
          return filteredIfAsked(await files.readJson(textOf(given[0], 'the path')))
        case 'fnSsh':
          return ssh(question, asker, filtered)
        case 'fnLs':
          return listFiles(files, given)
        case 'fnDnsResolve':
          return resolveName(given, asker.signal, deps.nameServers)
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
    /** Which of the names in a question the asker may use. The cache makes it a part of its key. */
    rightsIn(question: Question, asker: Pick<Asker, 'mayUse'>): string {
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

/** An argument that is a text. @throws SourceProblem */
function textAt({ given, origins }: Call, at: number, what: string): SourcedText {
  return sourcedText(textOf(given[at], what), origins, pointerOf([at]))
}

function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new SourceProblem(`${what} must be a text`)
}
