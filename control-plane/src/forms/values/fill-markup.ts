import { type FoundPlaceholder, type Resolve, findPlaceholders, resolvePlaceholder, textOf } from './placeholders.js'
import { type MarkupPlace, markupPlaces } from './markup-places.js'

/** Attributes with an address that a browser opens or loads. */
const ADDRESSES = new Set('href src action formaction cite background poster data longdesc xlink:href'.split(' '))
/** Attributes whose content is a program, a style or more markup. Handlers (`on…`) belong to them. */
const WITHOUT_VALUES = /^(?:on.*|style|srcdoc|srcset|ping|imagesrcset)$/
/** What an address may begin with, so that a value cannot choose its kind. */
const FIXED_START = /^\s*(?:https?:|mailto:|tel:|[/#?.])/i
const ALLOWED_KINDS = new Set(['http:', 'https:', 'mailto:'])
/** A link to nothing. */
const NO_ADDRESS = ''

/**
 * Replaces the placeholders of a text with markup, so that a value stays text wherever it stands. It never makes an
 * element, an attribute or a script. Where nothing can be text, such as in a comment, the value is left out. A
 * placeholder without a known value stays unchanged.
 * @param most all values together may take this many characters
 */
export function fillMarkup(markup: string, resolve: Resolve, most: number): string {
  const placeOf = markupPlaces(markup)
  const found = findPlaceholders(markup)
  const share = Math.floor(most / Math.max(1, found.length))
  let filled = ''
  let end = 0
  for (const [index, placeholder] of found.entries()) {
    // An address is filled with all its values at once.
    if (placeholder.start < end) continue
    const place = placeOf(placeholder.start)
    const part = isAddress(place) ? place : placeholder
    filled += markup.slice(end, part.start)
    const inside = isAddress(place)
      ? addressIn(markup, found.slice(index), place, { resolve, share })
      : valueText(placeholder, resolve, writerOf(place, share))
    // A letter after `<` would be the name of an element.
    filled += filled.endsWith('<') ? inside.replace(/^[^$&]/, reference) : inside
    end = part.end
  }
  return filled + markup.slice(end)
}

const TEXT_SIGNS = /[&<>"']/g
/** Also what ends a value without quotes. */
const ATTRIBUTE_SIGNS = /[&<>"'`=\s]/g
/** All but tabs and line ends. They would also be sent to terminals. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
const NAMES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const reference = (sign: string): string => NAMES[sign] ?? `&#${String(sign.codePointAt(0))};`

/** The beginning of a text that is not longer than `most` characters when it is escaped. */
function escapedPart(text: string, signs: RegExp, most: number): string {
  let escaped = ''
  for (const sign of text.slice(0, most)) {
    const next = sign.replace(signs, reference)
    if (escaped.length + next.length >= most) return `${escaped}…`
    escaped += next
  }
  return text.length > most ? `${escaped}…` : escaped
}

/** How a value is written at a place that is no address. */
function writerOf(place: MarkupPlace, share: number): (text: string) => string {
  if (place.kind === 'text') return (text) => escapedPart(text, TEXT_SIGNS, share)
  const isText = place.kind === 'attribute' && !WITHOUT_VALUES.test(place.name)
  return isText ? (text) => escapedPart(text, ATTRIBUTE_SIGNS, share) : () => ''
}

function valueText({ inside, whole }: FoundPlaceholder, resolve: Resolve, write: (text: string) => string): string {
  const { known, value } = resolvePlaceholder(inside, resolve)
  return known ? write(textOf(value).replace(CONTROLS, ' ')) : whole
}

type AttributePlace = Extract<MarkupPlace, { kind: 'attribute' }>

const isAddress = (place: MarkupPlace): place is AttributePlace =>
  place.kind === 'attribute' && ADDRESSES.has(place.name)

/**
 * An address with its values. Values are words of the address: they add no further part to it. A value may be the whole
 * address, or its beginning, if this makes an address of the web or of mail.
 */
function addressIn(
  markup: string,
  found: readonly FoundPlaceholder[],
  { start, end }: AttributePlace,
  { resolve, share }: { readonly resolve: Resolve; readonly share: number },
): string {
  const inside = found.filter((one) => one.start < end)
  const isFixed = FIXED_START.test(markup.slice(start, inside[0]?.start))
  let before = start
  let address = ''
  for (const placeholder of inside) {
    address += markup.slice(before, placeholder.start)
    const encode = /[?#]/.test(address) ? encoded : encodedPath
    address += valueText(placeholder, resolve, (text) =>
      isFixed ? escapedPart(encode(text), ATTRIBUTE_SIGNS, share) : text,
    )
    before = placeholder.end
  }
  address += markup.slice(before, end)
  return isFixed ? address : escapedPart(allowed(address), ATTRIBUTE_SIGNS, share)
}

function encoded(text: string): string {
  // Half of a pair cannot be encoded.
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
}

/** No value goes up in a path. `:` may come before a port. */
function encodedPath(text: string): string {
  const parts = text.split('/').filter((part) => part !== '.' && part !== '..')
  return parts.map((part) => encoded(part).replaceAll('%3A', ':')).join('/')
}

function allowed(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null
  return url !== null && ALLOWED_KINDS.has(url.protocol) ? url.href : NO_ADDRESS
}
