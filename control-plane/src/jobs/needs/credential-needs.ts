import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import * as v from 'valibot'
import { definedOnly } from '../../defined-only.js'
import type { Caller } from '../../auth/sessions/caller.js'
import {
  type ChosenCredentials,
  type CredentialNeeds,
  allNames,
  chooseCredentials,
} from '../../credentials/job/needs.js'
import { type VaultNeeds, vaultNeedsOf } from '../../credentials/job/vault-needs.js'
import { ForbiddenError, RefusedValuesError } from '../../errors.js'
import type { Field } from '../../forms/fields/field.js'
import type { Form } from '../../forms/form.js'
import { VaultCredentials } from '../../forms/parse/form-schema.js'
import { NOTHING_WRONG } from '../../forms/check/report.js'
import { nearestName } from '../../forms/values/nearest.js'
import { readPattern } from '../../texts/pattern-text.js'
import type { JobRow } from '../../store/jobs/jobs.js'
import { type Playbook, credentialNamesOf, playbookOf } from '../record/playbook.js'
import type { JobFacts } from './job-facts.js'

const orNull = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

const vaults = Compile(VaultCredentials)

/** The properties of a form, a step or a node that name credentials. */
const CredentialProperties = Type.Object({
  credentials: Type.Optional(Type.Union([Type.Record(Type.String({ minLength: 1 }), Type.String()), Type.Null()])),
  ansibleCredentials: orNull(Type.String()),
  vaultCredentials: Type.Optional(Type.Union([VaultCredentials, Type.Null()])),
})
const credentialProperties = Compile(CredentialProperties)

const namesSchema = v.record(v.string(), v.string())

/**
 * Chooses the credentials of a launch. The form, step or workflow node says what it needs, and the launch may name
 * others. The caller must be allowed to use each of them. Nothing is created here. If a credential does not exist, the
 * result has a `problem`.
 * @throws RefusedValuesError, ForbiddenError
 */
export function credentialsOfLaunch(
  has: JobFacts['hasCredential'],
  caller: Pick<Caller, 'isAdmin' | 'allowedCredentials'>,
  launch: {
    readonly source: Readonly<Record<string, unknown>>
    /** Names of the fields whose values name credentials. */
    readonly fields: readonly string[]
    /** Without reserved keys that the form does not declare. */
    readonly extravars: Readonly<Record<string, unknown>>
    /** Names by variable, as fields have them or the client sent them. */
    readonly sent: Readonly<Record<string, unknown>>
  },
): ChosenCredentials {
  const { source, fields, extravars, sent } = launch
  const needs = withLaunchNames(credentialNeedsOf(source), extravars, sent, fields)
  const chosen = chooseCredentials(needs, has)
  requireAllowedCredentials(caller, chosen)
  return chosen
}

/**
 * The credentials that a form, a step or a workflow node asks for.
 * @throws RefusedValuesError when the properties have the wrong form
 */
export function credentialNeedsOf(source: Readonly<Record<string, unknown>>): CredentialNeeds {
  const { credentials, ansibleCredentials, vaultCredentials } = source
  const properties = { credentials, ansibleCredentials, vaultCredentials }
  if (!credentialProperties.Check(properties)) {
    throw new RefusedValuesError(
      'form_credentials_invalid',
      'The form’s credentials must be texts by variable, its ansibleCredentials a text, its vaultCredentials a text or a list',
    )
  }
  return {
    credentials: withoutPrototype(properties.credentials ?? {}),
    ansibleCredentials: properties.ansibleCredentials || null,
    vaultCredentials: vaultNeedsOf(properties.vaultCredentials),
  }
}

/** Names of the fields whose values name credentials, also in the steps of a wizard. */
export function credentialFieldsOf(
  form: Pick<Form, 'fields' | 'wizard'>,
  subforms: Readonly<Record<string, readonly Field[]>>,
): string[] {
  const ofSteps = form.wizard.flatMap((step) => subforms[step.subform] ?? [])
  return [...form.fields, ...ofSteps].filter((field) => field.asCredential).map((field) => field.name)
}

/**
 * Replaces the names of the form by the names of the launch. First come the reserved extra variables, which exist only
 * if the form declares fields of those names. Then come the names that were sent for the form's variables and for its
 * credential fields. {@link requireDeclaredNames} has refused other names.
 * @throws RefusedValuesError that names each value that is not a text
 */
export function withLaunchNames(
  form: CredentialNeeds,
  extravars: Readonly<Record<string, unknown>>,
  sent: Readonly<Record<string, unknown>>,
  fields: readonly string[],
): CredentialNeeds {
  const replaced = extravars.__credentials__
  const base = replaced === undefined ? form.credentials : withoutPrototype(textsIn('__credentials__', replaced))
  const credentials: Record<string, string> = { ...base }
  for (const key of new Set([...Object.keys(base), ...fields])) {
    if (key === '__proto__' || !Object.hasOwn(sent, key)) continue
    const name = sent[key]
    if (typeof name !== 'string') refuse(key, 'the name of a credential')
    if (name !== '') credentials[key] = name
  }
  return {
    credentials,
    ansibleCredentials: textOr('__ansibleCredentials__', extravars, form.ansibleCredentials),
    vaultCredentials: vaultsOr('__vaultCredentials__', extravars, form.vaultCredentials),
  }
}

/** The reserved extra variables that tell a playbook which credentials it got. They contain only names. */
export function credentialVariables({ credentials, ansibleCredentials, vaultCredentials }: CredentialNeeds) {
  return definedOnly({
    __credentials__: Object.keys(credentials).length > 0 ? credentials : undefined,
    __ansibleCredentials__: ansibleCredentials ?? undefined,
    __vaultCredentials__: vaultCredentials === null ? undefined : shownVaults(vaultCredentials),
  })
}

/** The vault needs in the shape of a form file. */
function shownVaults(needs: VaultNeeds): unknown {
  return typeof needs === 'string' ? needs : needs.map(({ id, name }) => (id === null ? name : { id, name }))
}

/** @throws ForbiddenError when a role of the caller limits credentials and a chosen one is not among them */
function requireAllowedCredentials(
  caller: Pick<Caller, 'isAdmin' | 'allowedCredentials'>,
  { needs }: ChosenCredentials,
): void {
  const name = forbiddenCredential(caller, needs)
  if (name === null) return
  throw new ForbiddenError('credential_not_allowed', `Your roles do not allow the credential '${name}'`)
}

/**
 * Refuses a credential that a client sent for a variable for which the form takes none. Otherwise the job would run
 * without it, and nobody would know why.
 * @param declared variables for which the form accepts a name
 * @throws RefusedValuesError
 */
export function requireDeclaredNames(declared: ReadonlySet<string>, sent: Readonly<Record<string, unknown>>): void {
  for (const [key] of namedIn(sent)) {
    if (declared.has(key)) continue
    const nearest = nearestName(key, declared)
    const meant = nearest === null ? '' : `; did you mean ${nearest}?`
    refuseNames(key, `The form takes no credential for ${JSON.stringify(key.slice(0, 200))}${meant}`)
  }
}

/**
 * Checks the names of credentials that a client sent, in the modes that check values. Roles are checked first. So nobody
 * learns which credentials exist beyond those that they may use.
 * @throws RefusedValuesError, ForbiddenError
 */
export function requireKnownNames(
  has: JobFacts['hasCredential'],
  caller: Pick<Caller, 'isAdmin' | 'allowedCredentials'>,
  sent: Readonly<Record<string, unknown>>,
): void {
  const names = textsIn('credentials', Object.fromEntries(namedIn(sent)))
  const needs: CredentialNeeds = { credentials: names, ansibleCredentials: null, vaultCredentials: null }
  requireAllowedCredentials(caller, { needs, problem: null })
  for (const [key, text] of Object.entries(names)) {
    const one = { ...needs, credentials: { [key]: text } }
    const { problem } = chooseCredentials(one, has)
    if (problem !== null) refuseNames(key, problem)
  }
}

function namedIn(sent: Readonly<Record<string, unknown>>) {
  return Object.entries(sent).filter(([, name]) => name !== null && name !== '')
}

function refuseNames(key: string, problem: string): never {
  throw new RefusedValuesError('credentials_refused', problem, { ...NOTHING_WRONG, invalid: [`credentials.${key}`] })
}

/** The first credential that somebody's roles do not allow; null when they allow all. */
export function forbiddenCredential(
  { isAdmin, allowedCredentials }: Pick<Caller, 'isAdmin' | 'allowedCredentials'>,
  needs: CredentialNeeds,
): string | null {
  if (isAdmin || allowedCredentials === null) return null
  const patterns = allowedCredentials.map(credentialPattern)
  return allNames(needs).find((name) => !patterns.some((pattern) => pattern.test(name))) ?? null
}

/** Tells of each credential whether the caller's roles allow it. */
export function mayUseCredential(
  caller: Pick<Caller, 'isAdmin' | 'allowedCredentials'>,
): (credential: string) => boolean {
  const { isAdmin, allowedCredentials } = caller
  const patterns = isAdmin || allowedCredentials === null ? null : allowedCredentials.map(credentialPattern)
  return (name) => patterns === null || patterns.some((pattern) => pattern.test(name))
}

/** The credentials that were chosen for a stored job. */
export function needsOfJob(job: Pick<JobRow, 'credentials' | 'playbook'>): CredentialNeeds {
  const { ansibleCredentials, vaultCredentials }: Playbook = playbookOf(job)
  return { credentials: credentialNamesOf(job), ansibleCredentials, vaultCredentials }
}

/** An entry of a role is a regular expression for whole names. */
function credentialPattern(entry: string): RegExp {
  return readPattern(`^(?:${entry})$`, 'u')
}

function textsIn(key: string, value: unknown): Record<string, string> {
  if (value === null || value === '') return {}
  return v.is(namesSchema, value) ? value : refuse(key, 'an object of names')
}

function textOr(key: string, values: Readonly<Record<string, unknown>>, fallback: string | null): string | null {
  const value = values[key] ?? fallback
  if (value === null || value === '') return null
  return typeof value === 'string' ? value : refuse(key, 'the name of a credential')
}

function vaultsOr(
  key: string,
  values: Readonly<Record<string, unknown>>,
  fallback: VaultNeeds | null,
): VaultNeeds | null {
  const value = values[key] ?? null
  if (value === null) return fallback
  return vaults.Check(value) ? vaultNeedsOf(value) : refuse(key, 'the name of a credential, or a list of names')
}

function withoutPrototype(names: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(names).filter(([key, name]) => key !== '__proto__' && name !== ''))
}

function refuse(key: string, expected: string): never {
  throw new RefusedValuesError('values_refused', `${key} must be ${expected}`, { invalid: [key] })
}
