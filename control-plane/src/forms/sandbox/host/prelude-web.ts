/** The functions of browsers that are not a part of the language and reach no network: see `HOST_WEB`. */
export const WEB_PRELUDE = String.raw`(function (host) {
  const { stringify, parse } = JSON
  const KINDS = { RangeError, TypeError, SyntaxError }
  const ask = (...question) => {
    const answer = parse(host(stringify(question)))
    if ('ok' in answer) return answer.ok
    const error = new (KINDS[answer.name] || Error)(answer.message)
    if (!KINDS[answer.name]) error.name = answer.name
    throw error
  }
  const global = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true })
  global('btoa', (text) => ask('btoa', String(text)))
  global('atob', (text) => ask('atob', String(text)))
  global('crypto', Object.freeze({ randomUUID: () => ask('randomUUID') }))

  global('structuredClone', (value) => {
    const seen = new Map()
    const refuse = (what) => {
      const error = new Error(what + ' could not be cloned.')
      error.name = 'DataCloneError'
      throw error
    }
    const clone = (one) => {
      if (typeof one === 'function' || typeof one === 'symbol') return refuse(String(one))
      if (typeof one !== 'object' || one === null) return one
      if (seen.has(one)) return seen.get(one)
      const keep = (made) => (seen.set(one, made), made)
      if (one instanceof Date) return keep(new Date(one.getTime()))
      if (one instanceof RegExp) return keep(new RegExp(one.source, one.flags))
      if (one instanceof Number || one instanceof String || one instanceof Boolean) return keep(Object(one.valueOf()))
      if (one instanceof Map) {
        const made = keep(new Map())
        for (const [key, entry] of [...one]) made.set(clone(key), clone(entry))
        return made
      }
      if (one instanceof Set) {
        const made = keep(new Set())
        for (const entry of [...one]) made.add(clone(entry))
        return made
      }
      if (one instanceof Error) {
        const made = keep(new (KINDS[one.name] || Error)(one.message))
        return made
      }
      if (ArrayBuffer.isView(one) || one instanceof ArrayBuffer) return keep(one.slice())
      if (one instanceof Promise || one instanceof WeakMap || one instanceof WeakSet) return refuse('#<Object>')
      const made = keep(Array.isArray(one) ? new Array(one.length) : {})
      for (const key of Object.keys(one)) {
        Object.defineProperty(made, key, { value: clone(one[key]), writable: true, enumerable: true, configurable: true })
      }
      return made
    }
    return clone(value)
  })

  const pairsOf = (given) => {
    if (given === undefined || given === null) return []
    if (typeof given !== 'object') return ask('parseQuery', String(given))
    const pairs = given[Symbol.iterator] ? [...given].map((pair) => [...pair]) : Object.entries(given)
    if (pairs.some((pair) => pair.length !== 2)) throw new TypeError('each pair must have a name and a value')
    return pairs.map(([name, value]) => [String(name), String(value)])
  }
  class URLSearchParams {
    #pairs
    #changed = () => {}
    constructor(given) {
      this.#pairs = pairsOf(given)
    }
    static of(search, changed) {
      const made = new URLSearchParams(search)
      made.#changed = changed
      return made
    }
    static replace(made, search) {
      made.#pairs = pairsOf(search)
    }
    get size() { return this.#pairs.length }
    append(name, value) { this.#pairs.push([String(name), String(value)]); this.#changed(this.toString()) }
    delete(name, value) {
      const is = (pair) => pair[0] === String(name) && (value === undefined || pair[1] === String(value))
      this.#pairs = this.#pairs.filter((pair) => !is(pair))
      this.#changed(this.toString())
    }
    get(name) { const pair = this.#pairs.find((one) => one[0] === String(name)); return pair ? pair[1] : null }
    getAll(name) { return this.#pairs.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]) }
    has(name, value) {
      return this.#pairs.some((pair) => pair[0] === String(name) && (value === undefined || pair[1] === String(value)))
    }
    set(name, value) {
      const at = this.#pairs.findIndex((pair) => pair[0] === String(name))
      if (at < 0) this.#pairs.push([String(name), String(value)])
      else {
        this.#pairs = this.#pairs.filter((pair, index) => pair[0] !== String(name) || index === at)
        this.#pairs[at][1] = String(value)
      }
      this.#changed(this.toString())
    }
    sort() {
      this.#pairs.sort((one, other) => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0))
      this.#changed(this.toString())
    }
    forEach(call, self) { for (const [name, value] of this.#pairs) call.call(self, value, name, this) }
    *keys() { for (const pair of this.#pairs) yield pair[0] }
    *values() { for (const pair of this.#pairs) yield pair[1] }
    *entries() { for (const pair of this.#pairs) yield [pair[0], pair[1]] }
    [Symbol.iterator]() { return this.entries() }
    toString() { return ask('writeQuery', this.#pairs) }
  }
  class URL {
    #parts
    #params
    constructor(text, base) {
      this.#parts = ask('parseUrl', String(text), base === undefined ? null : String(base))
      this.#params = URLSearchParams.of(this.#parts.search, (query) => {
        this.#parts = ask('setUrl', this.#parts.href, 'search', query)
      })
    }
    static canParse(text, base) {
      try { return Boolean(new URL(text, base)) } catch { return false }
    }
    static parse(text, base) {
      try { return new URL(text, base) } catch { return null }
    }
    static read(url, part) { return url.#parts[part] }
    static write(url, part, value) {
      url.#parts = part === 'href' ? ask('parseUrl', String(value), null) : ask('setUrl', url.#parts.href, part, String(value))
      URLSearchParams.replace(url.#params, url.#parts.search)
    }
    get searchParams() { return this.#params }
    toString() { return this.#parts.href }
    toJSON() { return this.#parts.href }
  }
  const { read, write } = URL
  const { of, replace } = URLSearchParams
  for (const part of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash']) {
    Object.defineProperty(URL.prototype, part, {
      get() { return read(this, part) },
      ...(part === 'origin' ? {} : { set(value) { write(this, part, value) } }),
      enumerable: true,
      configurable: true,
    })
  }
  global('URLSearchParams', URLSearchParams)
  global('URL', URL)
})`
