/**
 * Gives scripts `Intl`, and all functions of the language that depend on it. Each function calls that of Node.js
 * outside of the engine. Functions that cannot be called are missing, so that an expression fails instead of giving
 * another value.
 */
export const INTL_PRELUDE = String.raw`(function (host) {
  const { stringify, parse } = JSON
  const KINDS = { RangeError, TypeError, SyntaxError }
  const plain = (value) => {
    if (value === undefined) return { $: 'undefined' }
    if (typeof value === 'bigint') return { $: value + 'n' }
    if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) {
      return { $: Object.is(value, -0) ? '-0' : String(value) }
    }
    return value
  }
  const ask = (...question) => {
    const answer = parse(host(stringify(question)))
    if ('ok' in answer) return answer.ok
    throw new (KINDS[answer.name] || Error)(answer.message)
  }
  const texts = (value) => (Array.isArray(value) ? value.map(String) : value === undefined ? value : String(value))
  const localesOf = (given) => {
    if (given === null) throw new TypeError('null is no locale')
    return plain(texts(given))
  }
  const optionsOf = (given) => {
    if (given === undefined) return plain(undefined)
    if (given === null) throw new TypeError('null is no set of options')
    return parse(stringify(given))
  }
  const NUMBER_METHODS = ['format', 'formatToParts', 'formatRange', 'formatRangeToParts']
  const numeric = (value) => (typeof value === 'bigint' ? value : typeof value === 'string' ? value : Number(value))
  const day = (value) => (value === undefined ? Date.now() : Number(value))
  const VALUES = {
    DateTimeFormat: (values) => values.map(day),
    NumberFormat: (values) => values.map(numeric),
    Collator: (values) => [String(values[0]), String(values[1])],
    PluralRules: (values) => values.map(Number),
    RelativeTimeFormat: (values) => [Number(values[0]), String(values[1])],
    ListFormat: (values) => [[...values[0]].map(String)],
    DisplayNames: (values) => values.map(String),
  }
  const METHODS = {
    DateTimeFormat: NUMBER_METHODS,
    NumberFormat: NUMBER_METHODS,
    Collator: ['compare'],
    PluralRules: ['select', 'selectRange'],
    RelativeTimeFormat: ['format', 'formatToParts'],
    ListFormat: ['format', 'formatToParts'],
    DisplayNames: ['of'],
  }
  /** In the language these are getters that return a function bound to its object. */
  const BOUND = { DateTimeFormat: 'format', NumberFormat: 'format', Collator: 'compare' }
  const AT_LEAST_ONE = { DateTimeFormat: 1, NumberFormat: 1 }
  const IntlObject = {}
  for (const kind of Object.keys(METHODS)) {
    const isCalled = kind === 'DateTimeFormat' || kind === 'NumberFormat' || kind === 'Collator'
    const made = function (locales, options) {
      if (!new.target) {
        if (isCalled) return new made(locales, options)
        throw new TypeError('Constructor Intl.' + kind + " requires 'new'")
      }
      const given = [localesOf(locales), optionsOf(options)]
      ask('use', kind, ...given, '', [])
      const use = (method, values) => {
        const count = method === 'format' || method === 'formatToParts' ? AT_LEAST_ONE[kind] || 0 : 0
        const all = values.length < count ? [undefined] : values
        return ask('use', kind, ...given, method, VALUES[kind](all).map(plain))
      }
      const own = (name, value) => Object.defineProperty(this, name, { value })
      for (const method of METHODS[kind]) own(method, (...values) => {
        const limit = /Range/.test(method) || kind === 'Collator' || kind === 'RelativeTimeFormat' ? 2 : 1
        const result = use(method, values.slice(0, limit))
        return kind === 'DisplayNames' && result === null ? undefined : result
      })
      own('resolvedOptions', () => ask('use', kind, ...given, 'resolvedOptions', []))
    }
    Object.defineProperty(made, 'name', { value: kind })
    Object.defineProperty(made.prototype, Symbol.toStringTag, { value: 'Intl.' + kind })
    made.supportedLocalesOf = (locales, options) => ask('supportedLocalesOf', kind, localesOf(locales), optionsOf(options))
    Object.defineProperty(IntlObject, kind, { value: made, writable: true, configurable: true })
  }
  IntlObject.getCanonicalLocales = (locales) => (locales === undefined ? [] : ask('canonicalLocales', localesOf(locales)))
  Object.defineProperty(IntlObject, Symbol.toStringTag, { value: 'Intl' })
  Object.defineProperty(globalThis, 'Intl', { value: IntlObject, writable: true, configurable: true })

  const method = (on, name, value) => Object.defineProperty(on, name, { value, writable: true, configurable: true })
  const timeValue = Date.prototype.getTime
  const dateText = (needed, defaults) => function (locales, options) {
    const time = timeValue.call(this)
    if (Number.isNaN(time)) return 'Invalid Date'
    const given = options === undefined ? {} : optionsOf(options)
    const has = (names) => names.some((name) => given[name] !== undefined)
    const DAY = ['weekday', 'year', 'month', 'day']
    const TIME = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits']
    const named = needed === 'date' ? has(DAY) : needed === 'time' ? has(TIME) : has([...DAY, ...TIME])
    const styled = given.dateStyle !== undefined || given.timeStyle !== undefined
    if (needed === 'date' && given.timeStyle !== undefined) throw new TypeError('Invalid option : timeStyle')
    if (needed === 'time' && given.dateStyle !== undefined) throw new TypeError('Invalid option : dateStyle')
    const filled = named || styled ? given : { ...given, ...defaults }
    return ask('use', 'DateTimeFormat', localesOf(locales), filled, 'format', [time])
  }
  const DATE = { year: 'numeric', month: 'numeric', day: 'numeric' }
  const CLOCK = { hour: 'numeric', minute: 'numeric', second: 'numeric' }
  method(Date.prototype, 'toLocaleString', dateText('any', { ...DATE, ...CLOCK }))
  method(Date.prototype, 'toLocaleDateString', dateText('date', DATE))
  method(Date.prototype, 'toLocaleTimeString', dateText('time', CLOCK))
  const numberText = (valueOf) => function (locales, options) {
    return ask('use', 'NumberFormat', localesOf(locales), optionsOf(options), 'format', [plain(valueOf.call(this))])
  }
  method(Number.prototype, 'toLocaleString', numberText(Number.prototype.valueOf))
  method(BigInt.prototype, 'toLocaleString', numberText(BigInt.prototype.valueOf))
  method(Array.prototype, 'toLocaleString', function (locales, options) {
    return Array.from(this, (entry) =>
      entry === undefined || entry === null ? '' : String(entry.toLocaleString(locales, options)),
    ).join(',')
  })
  method(String.prototype, 'localeCompare', function (other, locales, options) {
    return ask('use', 'Collator', localesOf(locales), optionsOf(options), 'compare', [String(this), String(other)])
  })
  for (const [name, isUpper] of [['toLocaleUpperCase', true], ['toLocaleLowerCase', false]]) {
    method(String.prototype, name, function (locales) {
      return ask('changeCase', String(this), localesOf(locales), isUpper)
    })
  }
})`
