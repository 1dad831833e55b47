import { narrowings } from '@holdfast/client'
import { text } from './options.js'

type Operation = keyof typeof narrowings
type Texts<Name extends Operation> = keyof (typeof narrowings)[Name]

/** Options that narrow what an operation answers, with the sentences of its document. */
export function narrowingOptions<Name extends Operation>(operation: Name) {
  const options = Object.entries(narrowings[operation]).map(([name, sentence]: [string, string]) => {
    return [name, { ...text(sentence), ...(name === 'q' ? { alias: 'search' } : {}) }]
  })
  return Object.fromEntries(options) as { readonly [Key in Texts<Name>]: ReturnType<typeof text> }
}

/** The texts of the options that were given, for the request. */
export function narrowedBy<Name extends Operation>(
  operation: Name,
  args: { readonly [Key in Texts<Name>]?: string | undefined },
): { readonly [Key in Texts<Name>]?: string } {
  const names = Object.keys(narrowings[operation]) as Texts<Name>[]
  const given = names.flatMap((name) => (args[name] === undefined ? [] : [[name, args[name]]]))
  return Object.fromEntries(given) as { readonly [Key in Texts<Name>]?: string }
}
