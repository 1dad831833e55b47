import type { Credentials } from '../credentials/stored/credentials.js'
import type { Databases } from '../databases/query-type.js'
import type { Ground } from '../ground/ground.js'
import type { AddressRules } from './address-rules.js'
import { createFormFiles } from './file-functions.js'
import { createFunctions } from './functions.js'
import { sendRequest } from './http-request.js'
import { createJq } from './jq.js'
import { type Sources, createSources } from './sources.js'
import type { SshSettings } from './ssh-command.js'

/** What sources need of the settings. */
export interface SourceSettings {
  readonly restAddresses: AddressRules
  /** FORM_FILES_PATH. */
  readonly formFilesPath: string
  readonly formSsh: SshSettings
  /** In milliseconds. */
  readonly sourceLimitMs: number
}

/** What sources need of other rooms. */
export interface SourceNeeds {
  readonly credentials: Pick<Credentials, 'open' | 'list'>
  /** Null: no database can be asked. */
  readonly databases: Databases | null
}

/** Builds what asks other systems for fields of forms. */
export function composeSources(
  ground: Ground,
  settings: SourceSettings,
  { credentials, databases }: SourceNeeds,
): Sources {
  const { timers, steady, log, onClose } = ground
  const functions = createFunctions({
    credentials,
    files: createFormFiles(settings.formFilesPath),
    jq: createJq(timers),
    send: (request) => sendRequest(settings.restAddresses, request),
    ssh: settings.formSsh,
  })
  const sources = createSources({ functions, databases, timers, steady, log, limitMs: settings.sourceLimitMs })
  onClose(() => sources.close())
  return sources
}
