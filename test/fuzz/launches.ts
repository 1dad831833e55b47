import type { Chance } from '../chaos/kit/seed.js'
import { FORMS, SUBFORMS } from './setting.js'
import { STRANGE_TEXTS, strangeValue } from './values.js'
import type { KnownField, KnownForm, World } from './world.js'

/** Jobs of real playbooks take a second of computing each. */
const ONE_REAL_IN = 12

/** The body of a launch whose values fit its form. */
export function validLaunch(chance: Chance, world: World): Record<string, unknown> {
  const real = chance.between(1, ONE_REAL_IN) === 1
  const form = chance.pick(FORMS.filter(({ name }) => (name === 'real') === real))
  return launchOf(form, chance, world)
}

/** A form, and values that fit it, as a page sends them while somebody types. */
export function validEvaluation(chance: Chance, world: World) {
  const form = chance.pick(FORMS)
  const { rawFormData, files } = launchOf(form, chance, world)
  return { formName: form.name, rawFormData, ...(files === undefined ? {} : { files }) }
}

/** The body of a new schedule, or of a change of one. Most of them start nothing while the requests are made. */
export function validSchedule(chance: Chance, world: World): Record<string, unknown> {
  const form = chance.pick(FORMS.filter(({ name }) => name !== 'real'))
  const { rawFormData } = launchOf(form, chance, world)
  const passwords = new Set(form.fields.flatMap(({ type, name }) => (type === 'password' ? [name] : [])))
  const values = Object.entries(rawFormData as object).filter(([name]) => !passwords.has(name))
  return {
    name: `nightly ${chance.between(1, 300)}`,
    form: form.name,
    cron: chance.pick(['0 3 * * *', '30 2 * * 1-5', '0 0 1 1 *', '* * * * *']),
    time_zone: chance.pick(['UTC', 'Europe/Berlin']),
    missed: chance.pick(['run_once', 'skip']),
    values: Object.fromEntries(values),
  }
}

/** The body of a launch where one value does not fit. */
export function refusedLaunch(chance: Chance, world: World): Record<string, unknown> {
  const form = FORMS[0] as KnownForm
  const body = launchOf(form, chance, world)
  const field = chance.pick(form.fields)
  const value = chance.next() < 0.5 ? strangeValue(chance) : chance.pick(STRANGE_TEXTS)
  return { ...body, rawFormData: { ...(body.rawFormData as object), label: 'x', [field.name]: value } }
}

function launchOf(form: KnownForm, chance: Chance, world: World): Record<string, unknown> {
  const values = form.wizard
    ? Object.fromEntries(
        form.wizard.map(({ subform, name }) => [name, valuesOf(SUBFORMS[subform ?? ''] ?? [], chance)]),
      )
    : valuesOf(form.fields, chance)
  const fileFields = form.fields.filter(({ type }) => type === 'file')
  const files = Object.fromEntries(
    fileFields.flatMap(({ name }) => (world.uploads.length > 0 ? [[name, chance.pick(world.uploads)]] : [])),
  )
  return {
    formName: form.name,
    rawFormData: values,
    ...(chance.next() < 0.2 ? { extravars: { __verbose__: chance.pick([true, false]), other: 1 } } : {}),
    ...(fileFields.length > 0 ? { files } : {}),
    ...(chance.next() < 0.1 ? { credentials: { access: 'router' } } : {}),
  }
}

function valuesOf(fields: readonly KnownField[], chance: Chance): Record<string, unknown> {
  const secret = `secret-${chance.between(1, 1000)}`
  const values: Record<string, unknown> = {}
  for (const field of fields) {
    const isNeeded = ['label', 'name'].includes(field.name)
    if (!isNeeded && field.type !== 'password' && chance.next() < 0.4) continue
    const value = field.type === 'password' ? secret : valueOf(field, chance)
    if (value !== undefined) values[field.name] = value
  }
  return values
}

function valueOf(field: KnownField, chance: Chance): unknown {
  switch (field.type ?? 'text') {
    case 'text':
    case 'textarea':
      return field.name === 'host'
        ? 'one.two3'
        : chance.pick(['plain', 'größe', 'x'.repeat(150), '漢字 $(count) {{ x }}'])
    case 'number':
      return chance.between(3, 100)
    case 'checkbox':
      return chance.pick([true, false])
    case 'radio':
      return chance.pick(field.values ?? [])
    case 'enum':
      return field.multiple ? chance.shuffle(field.values ?? []).slice(1) : chance.pick(field.values ?? [])
    case 'datetime':
      return '2026-03-01'
    case 'yaml':
      return chance.pick(['a: 1\nb: [1, 2]', '- x', '&a [1, *a]', '{}'])
    case 'list':
      return Array.from({ length: chance.between(0, 3) }, () => valuesOf(SUBFORMS[field.subform ?? ''] ?? [], chance))
    default:
      return undefined
  }
}
