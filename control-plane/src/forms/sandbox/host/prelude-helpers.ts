/**
 * The helper functions of the product family that use only their arguments. A call of another name below `fn` or `fnc`
 * fails and says so.
 */
export const HELPERS_PRELUDE = String.raw`(function ([names, asking], askHost) {
  const global = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true })

  /**
   * The name with the next number after the highest one, or with the smallest number of a gap between two neighbours of
   * the list. If nothing fits, it is the given default. As in AnsibleForms, the list keeps its order, and the pattern
   * around the # is a regular expression.
   */
  function fnGetNumberedName(list, pattern, otherwise, fillGaps = false) {
    if (!Array.isArray(list)) return otherwise
    const digits = /#+/.exec(pattern)
    if (!digits) return otherwise
    const places = digits[0].length
    const shape = new RegExp('^' + pattern.replace(digits[0], '([0-9]{' + places + '})') + '$')
    // If the pattern itself has a group, there are two numbers, so nothing fits.
    const numbers = list
      .map((name) => shape.exec(name))
      .filter((found) => found && found.length === 2 && Number(found[1]) > 0)
      .map((found) => Number(found[1]))
    if (numbers.length === 0) return otherwise
    const gaps = numbers.slice(0, -1).filter((number, index) => numbers[index + 1] - number > 1)
    const next = 1 + (fillGaps && gaps.length > 0 ? Math.min(...gaps) : Math.max(...numbers))
    return pattern.replace(digits[0], String(next).padStart(places, '0'))
  }

  /** The same on the server. There, a missing list is a mistake of the form, and does not give the first name. */
  function numberedNameOnServer(list, ...rest) {
    if (!Array.isArray(list)) throw new Error('fn.fnGetNumberedName was given no list')
    return fnGetNumberedName(list, ...rest)
  }

  function fnToTable(rows, { tableClass = '', escapeHtml = true, emptyCell = '', includeHeader = true } = {}) {
    const open = '<table' + (tableClass ? ' class="' + tableClass + '"' : '') + '>'
    if (!Array.isArray(rows) || rows.length === 0) return open + '</table>'
    const CODES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
    const text = (value) => (escapeHtml ? String(value).replace(/[&<>"]/g, (char) => CODES[char]) : String(value))
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
    const line = (cells) => '<tr>' + cells.join('') + '</tr>'
    const head = includeHeader ? '<thead>' + line(columns.map((name) => '<th>' + text(name) + '</th>')) + '</thead>' : ''
    const cell = (value) => '<td>' + (value === undefined || value === null ? emptyCell : text(value)) + '</td>'
    return open + head + '<tbody>' + rows.map((row) => line(columns.map((name) => cell(row[name])))).join('') + '</tbody></table>'
  }

  const compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0)

  class Rows extends Array {
    static get [Symbol.species]() { return Rows }
    /** An entry fits if all properties of one of the objects fit. An asterisk stands for any characters. */
    filterBy(...wanted) {
      const fits = (value, wish) => {
        if (typeof wish !== 'string' || !wish.includes('*')) return value === wish
        const parts = wish.split('*').map((part) => part.replace(/[.*+?^$\x7b\x7d()|[\]\\]/g, '\\$&'))
        return new RegExp('^' + parts.join('.*') + '$').test(String(value))
      }
      return this.filter((row) => wanted.some((wish) => Object.keys(wish).every((key) => fits(row[key], wish[key]))))
    }
    regexBy(...wanted) {
      const fits = (row, wish) => Object.keys(wish).every((key) => new RegExp(wish[key]).test(row[key]))
      return this.filter((row) => wanted.some((wish) => fits(row, wish)))
    }
    distinctBy(...properties) {
      const seen = new Set()
      return this.filter((row) => {
        const key = JSON.stringify(properties.map((name) => row[name]))
        if (seen.has(key)) return false
        seen.add(key)
        return true
      })
    }
    selectAttr(wanted) {
      return this.map((row) => Object.fromEntries(Object.keys(wanted).map((name) => [name, row[wanted[name]]])))
    }
    sortBy(...properties) {
      const orders = properties.map((name) => (name[0] === '-' ? [name.slice(1), -1] : [name, 1]))
      return Rows.from(this).sort((one, other) => {
        for (const [name, sign] of orders) {
          const result = compare(one[name], other[name]) * sign
          if (result !== 0) return result
        }
        return 0
      })
    }
  }
  const fnArray = { from: (list) => Rows.from(list) }

  /** Sorts by a name, a list of names, or objects with more options. An empty name means the entries themselves. */
  function fnSort(list, order) {
    if (order === undefined || order === null || order === '') return [...list]
    const orders = [order].flat().flatMap((one) => (typeof one === 'string' ? [[one, {}]] : Object.entries(one)))
    const value = (row, name, ignoreCase) => {
      const found = name === '' ? row : row?.[name]
      return ignoreCase && typeof found === 'string' ? found.toLowerCase() : found
    }
    return [...list].sort((one, other) => {
      for (const [name, { direction = 'asc', ignoreCase = false }] of orders) {
        const result = compare(value(one, name, ignoreCase), value(other, name, ignoreCase))
        if (result !== 0) return direction === 'desc' || direction === -1 ? -result : result
      }
      return 0
    })
  }

  const fnCopy = (value) => structuredClone(value)

  function fnCidr(ip, netmask) {
    const numberOf = (text) => {
      const parts = String(text).split('.').map(Number)
      if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255)) {
        throw new Error(text + ' is no IPv4 address')
      }
      return parts.reduce((sum, part) => sum * 256 + part, 0)
    }
    const textOf = (number) => [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
    const mask = numberOf(netmask)
    const length = 2 ** 32 - mask
    const bits = 32 - Math.log2(length)
    if (!Number.isInteger(bits)) throw new Error(netmask + ' is no netmask')
    const first = Math.floor(numberOf(ip) / length) * length
    const last = first + length - 1
    const isLine = length <= 2
    return {
      networkAddress: textOf(first),
      firstAddress: textOf(isLine ? first : first + 1),
      lastAddress: textOf(isLine ? last : last - 1),
      broadcastAddress: textOf(last),
      subnetMask: textOf(mask),
      subnetMaskLength: bits,
      numHosts: isLine ? length : length - 2,
      length,
      contains: (other) => Math.floor(numberOf(other) / length) * length === first,
    }
  }

  const { stringify, parse } = JSON
  /** The placeholder for an answer that is not known yet. The service asks, and runs the script again. */
  class Pending extends Error {}
  const ask = (name, given) => {
    const answer = parse(askHost(stringify([name, given])))
    if (answer.pending) throw new Pending('the answer is not there yet')
    if ('reason' in answer) throw new Error(answer.reason)
    return answer.ok
  }
  /** The position of the sort order among the arguments of a function. The order is applied here, to the answer. */
  const SORTS = {
    fnRestBasic: 5,
    fnRestJwt: 5,
    fnRestJwtSecure: 5,
    fnRestAdvanced: 5,
    fnJq: 2,
    fnReadYamlFile: 2,
    fnReadJsonFile: 2,
  }
  /** Without the answer, the code after such a call never runs. */
  const whenThere = async (read) => {
    try {
      return read()
    } catch (error) {
      if (error instanceof Pending) return new Promise(() => {})
      throw error
    }
  }
  const askers = {
    fnLs: (path, { recursive = false, metadata = false, regex = '' } = {}) => {
      const pattern = new RegExp(regex)
      const entries = ask('fnLs', [path, { recursive, metadata }])
      return entries.filter((entry) => pattern.test(metadata ? entry.path : entry))
    },
    fnParseHtmlWithRegex: async (...given) => {
      const [url, pattern, flags, credential] = await Promise.all(given)
      const every = new RegExp(pattern, [...new Set((flags ?? 'g') + 'g')].join(''))
      return whenThere(() =>
        [...ask('fnParseHtmlWithRegex', [url, credential]).matchAll(every)].map((match) => ({
          fullMatch: match[0],
          groups: match.slice(1),
          namedGroups: { ...match.groups },
        })),
      )
    },
  }
  const asker = (name) =>
    askers[name] ??
    (async (...given) => {
      const whole = await Promise.all(given)
      const order = SORTS[name] === undefined ? undefined : whole.splice(SORTS[name], 1)[0]
      return whenThere(() => {
        const answer = ask(name, whole)
        return order && Array.isArray(answer) ? fnSort(answer, order) : answer
      })
    })
  const fnTime = (...given) => globalThis.dayjs(...given)

  const known = {
    fnGetNumberedName: numberedNameOnServer,
    fnArray,
    fnToTable,
    fnSort,
    fnCopy,
    fnCidr,
    fnTime,
    ...Object.fromEntries(asking.map((name) => [name, asker(name)])),
  }
  for (const [name, helper] of Object.entries({ fnGetNumberedName, fnArray, fnToTable })) global(name, helper)
  const missing = (space) =>
    new Proxy(space === 'fn' ? Object.fromEntries([...names, ...asking].map((name) => [name, known[name]])) : {}, {
      get(target, name) {
        if (typeof name === 'symbol' || Object.hasOwn(target, name)) return target[name]
        return () => {
          throw new Error(space + '.' + name + ' is not there in this service')
        }
      },
    })
  global('fn', missing('fn'))
  global('fnc', missing('fnc'))
})`
