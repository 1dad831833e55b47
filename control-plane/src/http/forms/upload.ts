import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { ForbiddenError, InvalidInputError, UnavailableError } from '../../errors.js'
import type { Forms } from '../../forms/form.js'
import { mayUploadFiles } from '../../forms/visibility.js'
import type { Timers } from '../../time/timers.js'
import { FILE_PART, type UploadDescription } from '../../uploads/description.js'
import type { IncomingUpload, Uploads } from '../../uploads/uploads.js'
import { noteAudit } from '../route/audit-hook.js'
import { readFilePart } from './file-part.js'
import { callerOf } from '../route/guards.js'
import { answers } from '../route/schemas.js'

/**
 * A client that sends less than {@link SLOWEST_BYTES} in so many milliseconds is given up. Its upload has space on the disk
 * that nobody else gets, so it may not last for ever.
 */
const WINDOW_MS = 120_000
const SLOWEST_BYTES = 64 * 1024

const Description = Type.Object(
  {
    fieldname: Type.String({ description: 'Name of the part' }),
    originalname: Type.String({ description: 'Name of the uploaded file' }),
    encoding: Type.String(),
    mimetype: Type.String(),
    destination: Type.String({ description: 'Folder on the server' }),
    filename: Type.String({ description: 'Stored name' }),
    path: Type.String({ description: 'Destination and stored name' }),
    size: Type.Integer({ description: 'Bytes' }),
  },
  { title: 'Upload', description: 'Pass it unchanged in `files` of a launch, under the key of the file field' },
)

/**
 * The route that uploads a file for a file field. The body goes to the disk as it arrives, so it is never completely in
 * memory.
 */
export function uploadRoutes(deps: {
  readonly uploads: Uploads
  readonly forms: Pick<Forms, 'all'>
  readonly timers: Timers
}): FastifyPluginAsyncTypebox {
  const { uploads, forms, timers } = deps

  /** Before the body is read. */
  async function requireFileForm(request: FastifyRequest): Promise<void> {
    if (mayUploadFiles(callerOf(request), await forms.all())) return
    throw new ForbiddenError('no_file_form', 'There is no form with a file field that your roles allow')
  }

  return async (app) => {
    const running = new Set<AbortController>()
    app.addContentTypeParser('multipart/form-data', (_request, body, done) => done(null, body))
    app.addHook('preClose', async () => {
      for (const upload of running) upload.abort(new UnavailableError('stopping', 'The service is stopping'))
    })

    app.post(
      '/job/upload',
      {
        onRequest: requireFileForm,
        schema: {
          tags: ['job'],
          summary: 'Upload the file of a file field',
          description:
            'Only for users who may use a form with a file field. 413: larger than UPLOAD_MAX_GB, or over the quota of the ' +
            'user (upload_quota). 503: over the quota of all users (upload_quota_of_all), or not enough free space on the ' +
            'disk (upload_disk_full). Uploads that are under way count with their announced size.',
          operationId: 'uploadFile',
          consumes: ['multipart/form-data'],
          body: Type.Object({ [FILE_PART]: Type.Unsafe({ type: 'string', format: 'binary' }) }),
          response: answers(Description, 400, 403, 413, 415),
        },
        config: { audit: { action: 'job.upload', kind: 'upload' } },
        // The schema of the body is for the document only, because here the body is a stream.
        validatorCompiler: () => () => true,
      },
      async (request): Promise<UploadDescription> => {
        const owner = callerOf(request)
        const body: unknown = request.body
        if (!(body instanceof Readable)) {
          throw new InvalidInputError('no_file', `Send a multipart form with one part named '${FILE_PART}'`)
        }
        const ending = new AbortController()
        running.add(ending)
        let incoming: IncomingUpload | null = null
        let arrived = SLOWEST_BYTES
        const stopWatching = timers.every(WINDOW_MS, () => {
          if (arrived < SLOWEST_BYTES) ending.abort(stalled())
          arrived = 0
        })
        try {
          const upload = (incoming = await uploads.begin(owner, sizeSaidBy(request)))
          const { headers } = request
          const names = await readFilePart({ headers, body, signal: ending.signal }, (bytes) => {
            arrived += bytes.length
            return upload.write(bytes)
          })
          const stored = await upload.finish(owner, names)
          noteAudit(request, { name: stored.originalname })
          return stored
        } catch (error) {
          await incoming?.discard()
          throw error
        } finally {
          stopWatching()
          running.delete(ending)
        }
      },
    )
  }
}

function stalled(): InvalidInputError {
  const [kib, seconds] = [SLOWEST_BYTES / 1024, WINDOW_MS / 1000]
  return new InvalidInputError('upload_stalled', `Less than ${kib} KiB of the file came in ${seconds} seconds`)
}

/** The size of the body if its sender says it, and the smallest size that the file can then have. */
function sizeSaidBy(request: FastifyRequest): { readonly file: number; readonly body: number } {
  const said = Number(request.headers['content-length'] ?? 0)
  const body = Number.isSafeInteger(said) ? said : 0
  return { file: Math.max(0, body - MAX_FRAMING_BYTES), body }
}

/** Most bytes of the boundaries and headers of a form with one part. */
const MAX_FRAMING_BYTES = 64 * 1024
