import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { OpenCredential } from '../credentials/stored/credential.js'
import { messageOf } from '../errors.js'
import { type HostRules, bare, isHostIn } from './address-rules.js'
import type { SourcedText } from './origins.js'
import { SourceProblem } from './question.js'
import { isCommandOfAuthor } from './ssh-command-text.js'
import { runOverSsh } from './ssh-session.js'

/** Where forms may run commands by ssh, and as whom. */
export interface SshSettings {
  /** FORM_SSH_HOSTS; empty: nowhere. */
  readonly hosts: HostRules
  /** FORM_SSH_CREDENTIAL: the name of the credential whose key logs in; null: none. */
  readonly credential: string | null
  /** FORM_SSH_KNOWN_HOSTS: the path of the file with the keys of the hosts. It has the format of ssh. */
  readonly knownHosts: string
}

/** What a form asks `fn.fnSsh` for. */
export interface SshCommand {
  readonly user: string
  /** A name or an address, and a port behind a colon if it is not 22. */
  readonly host: string
  readonly command: SourcedText
}

/**
 * Runs a command on a host by ssh. The host must be allowed, and its key must be known.
 * @returns what it printed, without the line end at its end
 * @throws SourceProblem
 */
export async function runSshCommand(
  settings: SshSettings,
  asked: SshCommand,
  open: (name: string) => Promise<OpenCredential | null>,
  signal: AbortSignal,
): Promise<string> {
  if (settings.hosts.isEmpty) throw new SourceProblem('forms may run no commands by ssh here (FORM_SSH_HOSTS)')
  const place = placeOf(asked.host)
  if (!isHostIn(settings.hosts, place.host)) throw new SourceProblem(`the host ${place.host} is not in FORM_SSH_HOSTS`)
  if (!/^[A-Za-z_][\w.-]*$/.test(asked.user)) throw new SourceProblem('the user must be one plain word')
  if (!isCommandOfAuthor(asked.command)) {
    throw new SourceProblem(
      'only the form may write the command. A value in it must be one plain word (letters, digits and _./:@%+=,-) and must not choose a program: it stands behind the name of the program',
    )
  }
  const key = await keyOf(settings.credential, place.host, open)
  const knownHosts = await readFile(settings.knownHosts, 'utf8').catch((error: unknown) => {
    throw new SourceProblem(`the file of known hosts cannot be read (FORM_SSH_KNOWN_HOSTS): ${messageOf(error)}`)
  })
  return runOverSsh({ ...place, user: asked.user, command: asked.command.text, key, knownHosts }, signal)
}

function placeOf(text: string): { readonly host: string; readonly port: number } {
  const [, name = '', port = '22'] = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i.exec(text) ?? []
  const host = bare(name).toLowerCase()
  const isHost = isIP(host) !== 0 || /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(host)
  if (isHost && Number(port) >= 1 && Number(port) <= 65_535) return { host, port: Number(port) }
  throw new SourceProblem('the host must be a name or an address, and may have a port: web1.example.com:2222')
}

async function keyOf(
  name: string | null,
  host: string,
  open: (name: string) => Promise<OpenCredential | null>,
): Promise<string> {
  const credential = name === null ? null : await open(name)
  if (!credential) throw new SourceProblem('there is no credential for ssh (FORM_SSH_CREDENTIAL)')
  if (credential.type !== 'ssh') throw new SourceProblem(`the credential '${credential.name}' is not of type ssh`)
  if (credential.host !== null && credential.host.toLowerCase() !== host) {
    throw new SourceProblem(`the credential '${credential.name}' is for the host ${credential.host} only`)
  }
  return credential.password
}
