import { createClient } from '@holdfast/client'
import { SERVER } from './address.js'

/**
 * Says that one of our own pages sends the request. A page of another site cannot send this header without a permission
 * (CORS).
 */
const PAGE_HEADERS = { 'x-holdfast-page': '1' } as const

/**
 * The REST interface, signed in by the cookie of this browser. The pages have only the operations that some page names
 * as `api.getJob`. The build leaves out the others.
 */
export const api = createClient({ server: SERVER, headers: PAGE_HEADERS })
