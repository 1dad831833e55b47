import { type Access, type Client, createClient } from '@holdfast/client'
import { UsageError } from '../errors.js'
import { noAccess, sessionAccess, tokenAccess } from './access.js'
import { sessionFile, type SavedSession } from './session-file.js'
import { cliErrorOf } from './words.js'

/** Where `holdfast serve` listens by default. */
const DEFAULT_SERVER = 'http://127.0.0.1:8000'

/** Gives each server one spelling, so that its saved session is found again. @throws UsageError */
function normalServer(text: string): string {
  let url: URL
  try {
    url = new URL(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`)
  } catch {
    throw new UsageError(`${JSON.stringify(text)} is not a server address. Give one such as https://jobs.example.com`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new UsageError(`The server address ${JSON.stringify(text)} must begin with http:// or https://`)
  }
  if (url.username || url.password) throw new UsageError('A server address holds no password; use holdfast login.')
  // People also paste the address of the API.
  const path = url.pathname.replace(/\/api\/v2(\/.*)?$/, '').replace(/\/+$/, '')
  return `${url.origin}${path}`
}

/** The server that is meant: the flag, HOLDFAST_SERVER, the saved session, or the one on this machine. */
export function chosenServer(
  flag: string | undefined,
  environment: NodeJS.ProcessEnv,
  session: SavedSession | null,
): string {
  return normalServer(flag || environment.HOLDFAST_SERVER || session?.server || DEFAULT_SERVER)
}

/** Makes a client whose errors are CliErrors. */
export function clientWith(server: string, token?: Access): Client {
  return createClient({ server, token, errorOf: cliErrorOf })
}

/** Makes the client of a command. Server and token come from the flag, the environment or the saved session. */
export async function connect(flag: string | undefined, environment: NodeJS.ProcessEnv): Promise<Client> {
  const file = sessionFile(environment)
  const session = await file.read()
  const server = chosenServer(flag, environment, session)
  return clientWith(server, accessTo(server))

  function accessTo(target: string): Access {
    if (environment.HOLDFAST_TOKEN) return tokenAccess(environment.HOLDFAST_TOKEN)
    // A saved token is sent only to the server that gave it.
    return session?.server === target ? sessionAccess(file, session) : noAccess(target)
  }
}
