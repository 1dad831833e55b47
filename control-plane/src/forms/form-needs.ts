import { vaultNamesOf } from '../credentials/job/vault-needs.js'
import type { Field } from './fields/field.js'
import { ASKING_FUNCTIONS, ownFunctionsIn } from './fields/server-functions.js'
import type { Form } from './form.js'

/** The features outside of a form that it can need. */
export const FORM_FEATURES = [
  'database',
  'rest',
  'files',
  'jq',
  'dns',
  'ssh',
  'credentials',
  // Functions of the installation.
  'own functions',
  // Files with constants.
  'vars files',
  // A system that runs its jobs, or those of a step.
  'other system',
  // Functions that do not exist.
  'missing',
] as const
/** One of {@link FORM_FEATURES}. */
export type FormFeature = (typeof FORM_FEATURES)[number]

/** One feature that a form needs, and where. */
export interface FormNeed {
  readonly feature: FormFeature
  /** The fields that need it. None: the form itself needs it. */
  readonly fields: string[]
  /**
   * Details, as far as the form names them: databases with their kind, functions, credentials, files of constants, a
   * system.
   */
  readonly names: string[]
}

const FEATURE_OF: Readonly<Record<(typeof ASKING_FUNCTIONS)[number], FormFeature>> = {
  fnRestBasic: 'rest',
  fnRestJwt: 'rest',
  fnRestJwtSecure: 'rest',
  fnRestAdvanced: 'rest',
  fnReadYamlFile: 'files',
  fnReadJsonFile: 'files',
  fnLs: 'files',
  fnJq: 'jq',
  fnDnsResolve: 'dns',
  fnSsh: 'ssh',
  fnParseHtmlWithRegex: 'rest',
  fnCredentials: 'credentials',
}

const OWN_TYPES: ReadonlySet<string> = new Set(['ansible', 'multistep', 'workflow', 'subform'])

/**
 * The needs of a form, by feature. The needs of a subform are listed with the subform.
 * @param ownFunctions the names of the functions of the installation
 */
export function needsOf(form: Form, ownFunctions: readonly string[]): FormNeed[] {
  const needs = new Map<FormFeature, { fields: Set<string>; names: Set<string> }>()
  const add = (feature: FormFeature, field: string | null, names: readonly string[]) => {
    const need = needs.get(feature) ?? { fields: new Set(), names: new Set() }
    needs.set(feature, need)
    if (field !== null) need.fields.add(field)
    for (const name of names) need.names.add(name)
  }
  for (const system of systemsOf(form)) add('other system', null, [system])
  for (const file of form.varsFiles) add('vars files', null, [file])
  for (const name of credentialsOf(form)) add('credentials', null, [name])
  for (const field of form.fields) {
    for (const { feature, names } of needsOfField(field, ownFunctions)) add(feature, field.name, names)
    for (const { feature, names } of ownNeeds(localScripts(field), ownFunctions)) add(feature, field.name, names)
    if (field.asCredential) add('credentials', field.name, [])
  }
  for (const { when } of form.wizard) {
    for (const { feature, names } of ownNeeds([when], ownFunctions)) add(feature, null, names)
  }
  return [...needs].map(([feature, { fields, names }]) => ({ feature, fields: [...fields], names: [...names] }))
}

/** The systems that run its jobs, or those of its steps, instead of a runner. */
function systemsOf(form: Form): string[] {
  const own = OWN_TYPES.has(form.type) ? [] : [form.type]
  return form.type === 'multistep' ? form.steps.filter(({ settings }) => !settings).map(({ type }) => type) : own
}

/** The credentials that its playbooks get, and those of its steps. `a,b` means a, or else b. */
function credentialsOf(form: Form): string[] {
  const steps = form.type === 'multistep' ? form.steps.flatMap(({ settings }) => settings ?? []) : []
  return [form, ...steps].flatMap(({ credentials, ansibleCredentials, vaultCredentials }) => [
    ...Object.values(credentials),
    ...(ansibleCredentials === null ? [] : [ansibleCredentials]),
    ...vaultNamesOf(vaultCredentials),
  ])
}

/** Whether a check of these fields asks other systems. */
export function asksSources(fields: readonly Field[]): boolean {
  return fields.some((field) => needsOfField(field, []).length > 0)
}

function needsOfField(
  { source }: Field,
  ownFunctions: readonly string[],
): { feature: FormFeature; names: readonly string[] }[] {
  if (source.kind === 'remote') return [{ feature: 'missing', names: source.functions }]
  if (source.kind === 'query') {
    return [{ feature: 'database' as const, names: databaseNames(source.config) }, ...jqOf(source.jq)]
  }
  if (source.kind !== 'server') return []
  const called = ASKING_FUNCTIONS.filter((name) => new RegExp(`\\b${name}\\b`).test(source.expression))
  return [
    ...called.map((name) => ({ feature: FEATURE_OF[name], names: [`fn.${name}`] })),
    ...ownNeeds([source.expression], ownFunctions),
    ...jqOf(source.jq),
  ]
}

/** The scripts of a field that cannot ask a source. */
function localScripts({ source, default: value, evalDefault }: Field): (string | null)[] {
  return [source.kind === 'local' ? source.expression : null, evalDefault && typeof value === 'string' ? value : null]
}

/** The functions of the installation that scripts call, and those that they call but that do not exist. */
function ownNeeds(
  scripts: readonly (string | null)[],
  ownFunctions: readonly string[],
): { feature: FormFeature; names: readonly string[] }[] {
  return scripts
    .flatMap((script) => ownFunctionsIn(script ?? ''))
    .map((name) => ({ feature: ownFunctions.includes(name) ? 'own functions' : 'missing', names: [`fnc.${name}`] }))
}

function jqOf(filter: string | null): { feature: FormFeature; names: readonly string[] }[] {
  return filter === null ? [] : [{ feature: 'jq', names: [] }]
}

/** `dbConfig` as the file has it: names, with the kind if the form has it. */
function databaseNames(config: unknown): string[] {
  if (typeof config === 'string') return config.split(',').map((name) => name.trim())
  if (Array.isArray(config)) return config.flatMap(databaseNames)
  if (typeof config !== 'object' || config === null || !('name' in config)) return []
  const kind = 'type' in config && typeof config.type === 'string' ? ` (${config.type})` : ''
  return databaseNames(config.name).map((name) => name + kind)
}
