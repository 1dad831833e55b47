/**
 * Every reason for which one side closes the socket on purpose. `retry: false` means that dialling again cannot help until a
 * person acts. Then the agent waits the longest back-off between its tries, and says why.
 */
export const CLOSE_REASONS = {
  going_away: { code: 1001, retry: true, meaning: 'the process stops or restarts' },
  internal_error: { code: 1011, retry: true, meaning: 'the other side failed over something; its log says what' },
  bad_frame: { code: 4000, retry: true, meaning: 'a binary frame that cannot be read' },
  bad_message: { code: 4001, retry: true, meaning: 'a control message that fails its schema' },
  too_large: { code: 4002, retry: true, meaning: 'a frame or message over its limit' },
  before_handshake: { code: 4003, retry: true, meaning: 'something other than the hello came first' },
  handshake_timeout: { code: 4004, retry: true, meaning: 'no hello within five seconds' },
  bad_signature: { code: 4005, retry: false, meaning: 'the signature over the challenge is wrong' },
  contract_mismatch: {
    code: 4006,
    retry: false,
    meaning: 'the two sides speak different contracts; the reason says which to update',
  },
  denied: { code: 4007, retry: false, meaning: 'the name is known with another key' },
  revoked: { code: 4008, retry: false, meaning: 'an admin revoked this runner' },
  rejected: { code: 4009, retry: true, meaning: 'an admin rejected the request; it may be made again' },
  removed: { code: 4010, retry: true, meaning: 'the runner was deleted' },
  too_many_waiting: {
    code: 4011,
    retry: true,
    meaning: 'too many requests wait for approval, or too many connections are in their handshake',
  },
  clone: { code: 4013, retry: false, meaning: 'another process continues this identity' },
  taken_over: { code: 4014, retry: true, meaning: 'a newer connection of the same runner took the socket over' },
  not_yours: { code: 4015, retry: true, meaning: 'a frame for a job that this runner does not hold' },
  heartbeat_lost: { code: 4016, retry: true, meaning: 'two heartbeats were missed' },
  not_approved: { code: 4017, retry: true, meaning: 'a waiting runner sent something that only an approved one may' },
  bad_seal: {
    code: 4018,
    retry: true,
    meaning: 'a message that is not sealed with the keys of this connection, or not the next one',
  },
  untrusted_service: {
    code: 4019,
    retry: true,
    meaning: 'the control plane does not have, or cannot prove, the key that this runner trusts',
  },
  too_many_messages: {
    code: 4020,
    retry: true,
    meaning: 'more messages came than a runner that is not approved may send',
  },
} as const satisfies Record<string, { code: number; retry: boolean; meaning: string }>

/** The name of a reason to close the socket. */
export type CloseReasonName = keyof typeof CLOSE_REASONS

/** The name of a close code, or null for one that is not ours (network loss, a proxy). */
export function closeReasonOf(code: number): CloseReasonName | null {
  for (const [name, reason] of Object.entries(CLOSE_REASONS)) {
    if (reason.code === code) return name as CloseReasonName
  }
  return null
}

/** Cuts a close text to the 123 bytes that a WebSocket close frame can carry. */
export function closeText(text: string): string {
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= 123) return text
  return new TextDecoder().decode(bytes.subarray(0, 120)).replace(/\uFFFD+$/, '') + '...'
}
