import * as v from 'valibot'

const storedSchema = v.object({ plan: v.optional(v.unknown()) })

/** The plan of a kind, in what is stored of a launch. What it holds only the kind knows. */
export function storedPlanOf({ plan }: { readonly plan: string }): unknown {
  return v.parse(storedSchema, JSON.parse(plan)).plan
}
