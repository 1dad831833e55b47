import {
  Schema,
  type ScalarTag,
  type YAMLSeq,
  type Tags,
  YAMLMap as MapNode,
  YAMLSeq as SeqNode,
  isMap,
  isPair,
} from 'yaml'
import { timestampText } from './ansible-timestamp.js'

/*
 * What ansible reads. Ansible and AWX read YAML with PyYAML, which keeps to YAML 1.1: `no` is false, `0644` is 420 and
 * `1:30` is 90. The schema 1.1 of the library differs from PyYAML (`y`, `1e3`, `1.`, dates). So the tags here follow
 * PyYAML word by word. `test/unit/ansible-yaml.test.ts` compares both.
 */

const YAML_TAG = 'tag:yaml.org,2002:'
/** Marks numbers with a point. As a name they keep it. */
export const FLOAT_FORMAT = 'FLOAT'

const BOOLEAN = /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/
const TRUE_WORDS: ReadonlySet<string> = new Set(['yes', 'true', 'on'])
const FALSE_WORDS: ReadonlySet<string> = new Set(['no', 'false', 'off'])
const INTEGER =
  /^(?:[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$/
const FLOAT =
  /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/
/** What `!!float` also takes. */
const PLAIN_FLOAT = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/
const DATE = /^\d{4}-\d\d-\d\d$/
const TIME = /^\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?$/

type Refuse = (reason: string) => void

function booleanOf(text: string, refuse: Refuse): boolean {
  const word = text.toLowerCase()
  if (!TRUE_WORDS.has(word) && !FALSE_WORDS.has(word)) refuse(`${shown(text)} is neither true nor false`)
  return TRUE_WORDS.has(word)
}

function integerOf(text: string, refuse: Refuse): number {
  const digits = text.replaceAll('_', '').replace(/^[-+]/, '')
  const value = INTEGER.test(text) ? magnitudeOf(digits) : NaN
  if (Number.isNaN(value)) refuse(`${shown(text)} is no whole number`)
  return text.startsWith('-') && value !== 0 ? -value : value
}

/** NaN: there are no digits. */
function magnitudeOf(digits: string): number {
  if (digits.startsWith('0b')) return Number.parseInt(digits.slice(2), 2)
  if (digits.startsWith('0x')) return Number.parseInt(digits.slice(2), 16)
  if (digits.startsWith('0')) return Number.parseInt(digits, 8)
  return inSixties(digits)
}

function floatOf(text: string, refuse: Refuse): number {
  const digits = text.replaceAll('_', '').toLowerCase().replace(/^[-+]/, '')
  const sign = text.startsWith('-') ? -1 : 1
  if (digits === '.inf') return sign * Infinity
  if (digits === '.nan') return NaN
  if (!FLOAT.test(text) && !PLAIN_FLOAT.test(text.replaceAll('_', ''))) refuse(`${shown(text)} is no number`)
  return sign * inSixties(digits)
}

/** `1:30:00` is hours, minutes and seconds. The parts are added from the last one on, as PyYAML does. */
function inSixties(digits: string): number {
  let [sum, base] = [0, 1]
  for (const part of digits.split(':').reverse()) {
    sum += Number(part) * base
    base *= 60
  }
  return sum
}

function binaryText(text: string, refuse: Refuse): string {
  const bytes = Buffer.from(text, 'base64')
  const decoded = bytes.toString('utf8')
  if (!Buffer.from(decoded).equals(bytes)) refuse('the bytes of !!binary are no text')
  return decoded
}

/** Pairs stay lists of name and value, in their order. */
function pairsOf(list: YAMLSeq, refuse: Refuse): YAMLSeq {
  for (const [at, item] of list.items.entries()) {
    const pair = isMap(item) && item.items.length === 1 ? item.items[0] : null
    if (!isPair(pair)) {
      refuse('each item must be one name with its value')
      continue
    }
    const both = new SeqNode()
    both.items.push(pair.key, pair.value)
    list.items[at] = both
  }
  return list
}

/** A set is a list of its names. */
function setOf(map: MapNode): YAMLSeq {
  const list = new SeqNode()
  list.items.push(...map.items.map(({ key }) => key))
  return list
}

type Resolve = (text: string, refuse: Refuse) => unknown

/** The tag of plain words, and the same tag where a text has it by name. */
function scalar(name: string, test: RegExp, resolve: Resolve, format?: string): ScalarTag[] {
  const named = { tag: YAML_TAG + name, resolve, ...(format && { format }) }
  return [{ ...named, default: true, test }, named]
}

const onlyAsName = (word: string): ScalarTag => ({
  tag: `${YAML_TAG}value`,
  default: true,
  test: new RegExp(`^${word}$`),
  resolve: (_, refuse) => refuse(`ansible cannot read ${word} as a value: put it in quotes`),
})

const TAGS: Tags = [
  'map',
  'seq',
  'merge',
  { tag: `${YAML_TAG}str`, default: 'key', test: /^=$/, resolve: (text: string) => text },
  onlyAsName('='),
  onlyAsName('<<'),
  { tag: `${YAML_TAG}str`, resolve: (text: string) => text },
  ...scalar('bool', BOOLEAN, booleanOf),
  ...scalar('float', FLOAT, floatOf, FLOAT_FORMAT),
  ...scalar('int', INTEGER, integerOf),
  ...scalar('null', /^(?:~|null|Null|NULL|)$/, () => null),
  ...scalar('timestamp', new RegExp(`${DATE.source}|${TIME.source}`), timestampText),
  { tag: `${YAML_TAG}binary`, resolve: binaryText },
  { tag: `${YAML_TAG}pairs`, collection: 'seq', resolve: (list, refuse) => pairsOf(list as YAMLSeq, refuse) },
  { tag: `${YAML_TAG}omap`, collection: 'seq', resolve: (list, refuse) => pairsOf(list as YAMLSeq, refuse) },
  { tag: `${YAML_TAG}set`, collection: 'map', resolve: (map) => setOf(map as MapNode) },
  // Ansible's own tag for a text that is no template. Values are none anyhow.
  { tag: '!unsafe', resolve: (text: string) => text },
  { tag: '!unsafe', collection: 'map', nodeClass: MapNode },
  { tag: '!unsafe', collection: 'seq', nodeClass: SeqNode },
]

/** The values that PyYAML makes of words. A `%YAML 1.2` in the text changes nothing, as there. */
export const ANSIBLE_SCHEMA = new Schema({ customTags: () => [...TAGS] })

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 60))
}
