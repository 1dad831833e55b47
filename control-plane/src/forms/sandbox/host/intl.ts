import { putNewest } from '@holdfast/host/newest'
/** The parts of `Intl` whose objects have their own options. */
const CONSTRUCTORS = {
  DateTimeFormat: Intl.DateTimeFormat,
  NumberFormat: Intl.NumberFormat,
  Collator: Intl.Collator,
  PluralRules: Intl.PluralRules,
  RelativeTimeFormat: Intl.RelativeTimeFormat,
  ListFormat: Intl.ListFormat,
  DisplayNames: Intl.DisplayNames,
} as const
/** The constructors of `Intl` that scripts of forms may use. */
export type IntlKind = keyof typeof CONSTRUCTORS

/** The functions of such an object that a script may call. It cannot reach anything else. */
const METHODS: Record<IntlKind, readonly string[]> = {
  DateTimeFormat: ['format', 'formatToParts', 'formatRange', 'formatRangeToParts', 'resolvedOptions'],
  NumberFormat: ['format', 'formatToParts', 'formatRange', 'formatRangeToParts', 'resolvedOptions'],
  Collator: ['compare', 'resolvedOptions'],
  PluralRules: ['select', 'selectRange', 'resolvedOptions'],
  RelativeTimeFormat: ['format', 'formatToParts', 'resolvedOptions'],
  ListFormat: ['format', 'formatToParts', 'resolvedOptions'],
  DisplayNames: ['of', 'resolvedOptions'],
}

/**
 * The objects are kept, because making one takes longer than using it a hundred times, and a sort uses one for each
 * pair.
 */
const MAX_KEPT = 200

/** Formats and sorts texts, numbers and dates. */
export type HostIntl = ReturnType<typeof createHostIntl>

type Locales = string | string[] | undefined

/**
 * The `Intl` of Node.js, for scripts that run in an engine without it. The results depend only on the arguments, and on
 * the locale and the time zone of the machine.
 * @param locale used when a script names none or an unknown one; null: that of the machine
 */
export function createHostIntl(locale: string | null = null) {
  const kept = new Map<string, object>()

  function localesFor(given: unknown): Locales {
    const named = given as Locales
    if (locale === null) return named
    return named === undefined ? locale : [...[named].flat(), locale]
  }

  function kindOf(kind: string): IntlKind {
    if (Object.hasOwn(CONSTRUCTORS, kind)) return kind as IntlKind
    throw new TypeError(`Intl.${kind} is not there`)
  }

  function madeOf(kind: IntlKind, locales: unknown, options: unknown): object {
    const key = JSON.stringify([kind, locales, options])
    const known = kept.get(key)
    if (known) return known
    const make = CONSTRUCTORS[kind] as new (locales: Locales, options: never) => object
    const made = new make(localesFor(locales), (options ?? undefined) as never)
    putNewest(kept, key, made, MAX_KEPT)
    return made
  }

  return {
    /** @throws RangeError, TypeError as `Intl` does */
    use(name: string, locales: unknown, options: unknown, method: string, values: readonly unknown[]): unknown {
      const kind = kindOf(name)
      const made = madeOf(kind, locales, options) as Record<string, (...values: unknown[]) => unknown>
      if (method === '') return null
      if (!METHODS[kind].includes(method)) throw new TypeError(`Intl.${kind} has no ${method}`)
      return made[method]?.(...values)
    },
    supportedLocalesOf(name: string, locales: unknown, options: unknown): string[] {
      const of = CONSTRUCTORS[kindOf(name)] as { supportedLocalesOf(locales: Locales, options: never): string[] }
      return of.supportedLocalesOf(locales as Locales, (options ?? undefined) as never)
    },
    canonicalLocales: (locales: unknown): string[] => Intl.getCanonicalLocales(locales as Locales),
    changeCase(text: string, locales: unknown, isUpper: boolean): string {
      const asked = localesFor(locales)
      return isUpper ? text.toLocaleUpperCase(asked) : text.toLocaleLowerCase(asked)
    },
  }
}
