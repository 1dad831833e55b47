/** `1 job`, `1,204 jobs`. */
export const many = (count: number, one: string, more: string) =>
  `${count.toLocaleString('en')} ${count === 1 ? one : more}`

const ends = new Intl.PluralRules('en', { type: 'ordinal' })

/** `1st`, `2nd`, `3rd`, `4th`. */
export function ordinal(count: number): string {
  const end = { one: 'st', two: 'nd', few: 'rd' } as Readonly<Record<string, string>>
  return `${count}${end[ends.select(count)] ?? 'th'}`
}
