import type { TargetKind } from './kind.js'
import { webhook } from './webhook.js'

/** The kinds of targets. A new kind is a file beside `webhook.ts` and a word here. */
export const TARGET_KINDS = { webhook } as const satisfies Readonly<Record<string, TargetKind>>

/** The name of a kind, as the interface and the database have it. */
export type TargetKindName = keyof typeof TARGET_KINDS

/** The names of all kinds. The first one is that of a target for which nobody chose a kind. */
export const TARGET_KIND_NAMES = Object.keys(TARGET_KINDS) as [TargetKindName, ...TargetKindName[]]

/** The kind of a stored target. @throws Error for a kind that this release does not know */
export function kindOf({ kind }: { readonly kind: string }): TargetKind {
  if (Object.hasOwn(TARGET_KINDS, kind)) return TARGET_KINDS[kind as TargetKindName]
  throw new Error(`the kind ${kind} of a notification target is not known to this release`)
}
