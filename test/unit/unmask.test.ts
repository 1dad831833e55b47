import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MASK, maskValues } from '../../control-plane/src/jobs/masking.js'
import { unmask } from '../../control-plane/src/jobs/unmask.js'

/** What a client means that sends masks back. */
const keys = fc.constantFrom('name', 'token', 'rows', 'my_token')
const { value: json } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(fc.integer({ max: 3, min: 0 }), fc.constantFrom('a', 'b', ''), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
  ),
}))

function back(sent: unknown, kept: unknown): { value: unknown; lost: number } {
  let lost = 0
  const value = unmask(sent, kept, () => (lost += 1))
  return { value, lost }
}

test('what is sent back as it was shown means what was kept, whatever it is', () => {
  fc.assert(
    fc.property(json, (kept) => {
      expect(back(maskValues(kept, /token/, new Set()), kept)).toEqual({ value: kept, lost: 0 })
    }),
  )
})

test('no mask ever becomes a value, whatever is sent; a value without masks is left alone', () => {
  fc.assert(
    fc.property(json, json, (sent, kept) => {
      expect(back(sent, kept)).toEqual({ value: sent, lost: 0 })
      const { value } = back(maskValues(sent, /token/, new Set()), kept)
      expect(JSON.stringify(value) ?? '').not.toContain(MASK)
    }),
  )
})

describe('rows', () => {
  const kept = [
    { who: 'a', token: '1' },
    { who: 'b', token: '2' },
    { who: 'b', token: '3' },
  ]
  test('are known again by their place, or by what is not hidden in them', () => {
    const rows = [{ who: 'new' }, { who: 'b', token: MASK }, { who: 'b', token: MASK }, { who: 'a', token: MASK }]
    expect(back(rows, kept)).toEqual({ value: [{ who: 'new' }, kept[1], kept[2], kept[0]], lost: 0 })
  })

  test('that could be several, or none, lose what is hidden, and that is told', () => {
    const several = [{ who: 'b', token: MASK }]
    expect(back(several, kept)).toEqual({ value: [{ who: 'b' }], lost: 1 })
    expect(back([{ who: 'c', token: MASK }], kept)).toEqual({ value: [{ who: 'c' }], lost: 1 })
  })
})
