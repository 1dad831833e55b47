import * as v from 'valibot'
import { countSchema, runIdSchema, sha256Schema } from './parse.js'

/** Why a run on a runner ended (docs/job-folder.md). Only the exit status decides between success and failure. */
export const END_CAUSES = [
  'exited',
  'signaled',
  'spawn_failed',
  'aborted',
  'supervisor_lost',
  'host_rebooted',
  'not_started',
] as const

/** The end of a run: the third stream of a job, one record, written last. */
export const endRecordSchema = v.object({
  run_id: runIdSchema,
  cause: v.picklist(END_CAUSES),
  exit_code: v.nullable(v.pipe(v.number(), v.integer())),
  signal: v.nullable(v.pipe(v.string(), v.maxLength(20))),
  message: v.nullable(v.pipe(v.string(), v.maxLength(4000))),
  aborted: v.boolean(),
  started_at: v.nullable(v.pipe(v.string(), v.isoTimestamp())),
  ended_at: v.pipe(v.string(), v.isoTimestamp()),
  output: v.object({ length: countSchema, sha256: sha256Schema, dropped_bytes: countSchema }),
  events: v.object({
    length: countSchema,
    sha256: sha256Schema,
    dropped: countSchema,
    errors: countSchema,
    plugin_seen: v.boolean(),
    /** True when ansible refused its arguments before any play, so the callback was never loaded. Absent: not known. */
    before_play: v.optional(v.boolean()),
  }),
})

/** The end of a run. */
export type EndRecord = v.InferOutput<typeof endRecordSchema>
