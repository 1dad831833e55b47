import * as v from 'valibot'

const storedSchema = v.object({ plan: v.optional(v.unknown()) })

/** The plan of a parent job, as it is stored with a launch. Only its kind knows the content. */
export function storedPlanOf({ plan }: { readonly plan: string }): unknown {
  return v.parse(storedSchema, JSON.parse(plan)).plan
}
