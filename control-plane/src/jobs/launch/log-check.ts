import { messageOf } from '../../errors.js'
import type { CheckResult } from '../../forms/check/context.js'
import { findingsSummary, isGood } from '../../forms/check/report.js'
import { asksSources } from '../../forms/form-needs.js'
import { isSame } from '../../forms/values/plain.js'
import { credentialFieldsOf } from '../needs/credential-needs.js'
import type { LaunchValues, SentValues } from './launch-values.js'

/** The part of the log that is needed here. */
export interface WarningLog {
  warn(fields: object, text: string): void
}

/**
 * Logs what `enforce` would do with a launch under LAUNCH_VALIDATION=log. It logs names and never a value. A failure
 * here does not stop the launch. A slow or missing source does not delay the launch, which runs in any case.
 * @param check asks for the check of the field values
 */
export async function logCheck(
  log: WarningLog,
  sent: SentValues,
  values: Pick<LaunchValues, 'values' | 'credentials'>,
  check: () => Promise<CheckResult>,
): Promise<void> {
  const { form, context } = sent
  const logged = write(log, sent, values, check)
  const mayTakeLong = [form.fields, ...Object.values(context.subforms)].some(asksSources)
  if (!mayTakeLong) await logged
}

async function write(
  log: WarningLog,
  { form, context, values: sent }: SentValues,
  { values, credentials }: Pick<LaunchValues, 'values' | 'credentials'>,
  check: () => Promise<CheckResult>,
): Promise<void> {
  if (sent === null) {
    log.warn({ form: form.name }, 'launch validation would refuse this launch: it brings no rawFormData')
    return
  }
  const declared = [...Object.keys(form.credentials), ...credentialFieldsOf(form, context.subforms)]
  const named = Object.entries(credentials).filter(([key, name]) => declared.includes(key) && name !== '')
  try {
    const result = await check()
    if (!isGood(result.details)) {
      const refused = findingsSummary(result.details)
      log.warn({ form: form.name, refused }, 'launch validation would refuse this launch')
      return
    }
    const differing = [
      ...differingKeys(result.extravars, values).filter((key) => key !== '__verbose__'),
      ...differingKeys(result.credentials, Object.fromEntries(named)).map((key) => `credentials.${key}`),
    ]
    if (differing.length > 0) {
      log.warn({ form: form.name, differing }, 'launch validation would change values of this launch')
    }
  } catch (error) {
    log.warn({ form: form.name, reason: messageOf(error) }, 'launch validation could not be done')
  }
}

function differingKeys(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => !isSame(one[key], other[key]))
}
