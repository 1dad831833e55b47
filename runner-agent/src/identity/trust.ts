import {
  fingerprintOf,
  fingerprintSchema,
  firstIssue,
  follows,
  parseJson,
  ProtocolError,
  SettingsError,
  type Succession,
} from '@holdfast/protocol'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import { describeError, type Logger } from '../log.js'
import { writeDurablySync } from '@holdfast/host/durable'
import { isErrno } from '@holdfast/host/system-errors'

/** How the runner came to trust a control plane. */
const WAYS = ['first use', 'setting', 'command', 'succession'] as const

const trustFileSchema = v.object({
  /** Of the control plane's key. */
  fingerprint: fingerprintSchema,
  how: v.picklist(WAYS),
  /** The fingerprint in the settings when this was written. The settings count again only when they name another one. */
  given: v.nullable(fingerprintSchema),
  since: v.string(),
})
type TrustFile = v.InferOutput<typeof trustFileSchema>

/** A control plane whose key is not the one that this runner trusts. */
export interface UntrustedService {
  readonly shown: string
  readonly trusted: string
}

/** What a control plane says about its key. */
export interface ServiceClaim {
  /** Raw public key, base64. */
  readonly serviceKey: string
  readonly succession: Succession
}

/**
 * Whom this runner obeys. The fingerprint of the control plane's key rests in the state folder:
 *
 *   nothing there    any control plane may say whether it approves this runner; the one that does is kept (first use)
 *   a fingerprint    only the owner of that key counts, or of a key that follows from it by signatures
 *
 * The file is read anew for each connection, so that `holdfast-runner trust` works beside a running agent.
 */
export interface Trust {
  /**
   * Checks whether this is the control plane to obey. Its proof was checked before.
   * @throws ProtocolError `untrusted_service` when it is another one, or when the file cannot be read
   */
  check(claim: ServiceClaim): void
  /** Whether `check` would pass because the key is known. It changes nothing, so it may be asked about strangers. */
  knows(claim: ServiceClaim): boolean
  /** The control plane of the last `check` has approved this runner: from now on no other one counts. */
  approved(): void
  /** Fingerprint of the control plane of the last `check`; null before the first one. */
  readonly atHand: string | null
  /**
   * Whether a job that was claimed from the control plane of that fingerprint belongs to the connected one. It does
   * when the connected one has that key, or a key that follows from it.
   */
  owns(fingerprint: string): boolean
  /** The control plane that was refused at the last try; null when there is none. */
  readonly refused: UntrustedService | null
}

/** Where trust is kept, and what the settings say about it. */
export interface TrustDependencies {
  readonly statePath: string
  /** The fingerprint that the settings name, or null. */
  readonly given: string | null
  readonly now: () => Date
  readonly log: Logger
}

/**
 * @throws Error when the file cannot be read, because then nobody may be trusted
 */
export function openTrust({ statePath, given, now, log }: TrustDependencies): Trust {
  let refused: UntrustedService | null = null
  let atHand: string | null = null
  let claim: ServiceClaim | null = null
  /** Kept in memory while it cannot be written: a full disk must not change whom this runner obeys. */
  let unwritten: TrustFile | null = null

  const keep = (fingerprint: string, how: TrustFile['how']): void => {
    const next: TrustFile = { fingerprint, how, given, since: now().toISOString() }
    unwritten = next
    writeUnwritten()
    log.info({ fingerprint, how }, 'this runner obeys the control plane of this key, and no other')
  }

  const writeUnwritten = (): void => {
    if (unwritten === null) return
    try {
      writeTrust(statePath, unwritten)
      unwritten = null
    } catch (error) {
      log.error({ error }, "the control plane's fingerprint cannot be kept in the state folder; tried again later")
    }
  }

  const kept = (): TrustFile | null => {
    writeUnwritten()
    return unwritten ?? readTrust(statePath)
  }

  const atStart = readTrust(statePath)
  if (given !== null && (atStart === null || atStart.given !== given)) keep(given, 'setting')

  return {
    check(said) {
      const { serviceKey, succession } = said
      const fingerprint = fingerprintOf(serviceKey)
      let file: TrustFile | null
      try {
        file = kept()
      } catch (error) {
        throw new ProtocolError('untrusted_service', describeError(error), { cause: error })
      }
      if (file === null) {
        if (fingerprint !== atHand) log.warn({ fingerprint }, FIRST_USE_TEXT)
      } else if (!follows('service', file.fingerprint, succession, serviceKey)) {
        refused = { shown: fingerprint, trusted: file.fingerprint }
        log.error({ ...refused }, refusalText(fingerprint))
        throw new ProtocolError(
          'untrusted_service',
          `its key is ${fingerprint}, this runner trusts ${file.fingerprint}`,
        )
      } else if (file.fingerprint !== fingerprint) {
        keep(fingerprint, 'succession')
      }
      atHand = fingerprint
      claim = said
      refused = null
    },
    knows({ serviceKey, succession }) {
      try {
        const file = kept()
        return file !== null && follows('service', file.fingerprint, succession, serviceKey)
      } catch {
        // A control plane that cannot be compared counts as not known.
        return false
      }
    },
    owns: (fingerprint) => claim !== null && follows('service', fingerprint, claim.succession, claim.serviceKey),
    get atHand() {
      return atHand
    },
    approved() {
      if (atHand !== null && kept() === null) keep(atHand, 'first use')
    },
    get refused() {
      return refused
    },
  }
}

/**
 * From now on the control plane of this key is trusted, whichever was trusted before.
 * @throws SettingsError when it is no fingerprint
 */
export function trustFingerprint(statePath: string, fingerprint: string, now: Date): void {
  let before: TrustFile | null = null
  try {
    before = readTrust(statePath)
  } catch {
    // The file is replaced, so its old content does not count.
  }
  const next = { fingerprint: parseFingerprint(fingerprint), how: 'command', given: before?.given ?? null } as const
  writeTrust(statePath, { ...next, since: now.toISOString() })
}

/** What the state folder says; null when nothing is kept yet. @throws Error when it cannot be read */
export function readTrust(statePath: string): TrustFile | null {
  const path = pathOf(statePath)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw new Error(`cannot read whom this runner trusts from ${path}`, { cause: error })
  }
  try {
    return parseJson(trustFileSchema, text)
  } catch (error) {
    throw new Error(`${path} is not what this agent wrote; name the control plane with holdfast-runner trust`, {
      cause: error,
    })
  }
}

/** @throws SettingsError */
function parseFingerprint(text: string): string {
  const result = v.safeParse(fingerprintSchema, text.trim())
  if (!result.success) throw new SettingsError(`the fingerprint ${firstIssue(result.issues)}`)
  return result.output
}

const FIRST_USE_TEXT =
  'this runner trusts no control plane yet: the one that approves it is kept. Compare this fingerprint with `holdfast service fingerprint`'

function refusalText(shown: string): string {
  return (
    'the control plane shows another key than the one that this runner trusts, so it is not obeyed. Somebody else may answer ' +
    `at its address. If the key is right: holdfast-runner trust --fingerprint ${shown}`
  )
}

function pathOf(statePath: string): string {
  return join(statePath, 'control-plane')
}

function writeTrust(statePath: string, file: TrustFile): void {
  mkdirSync(statePath, { recursive: true, mode: 0o700 })
  writeDurablySync(pathOf(statePath), JSON.stringify(file))
}
