/**
 * The contract number: both sides report it, equal numbers work together whatever the releases. It goes up when a
 * message, frame or rule changes in a way that the other side must know. Sides with other numbers are refused.
 */
export const CONTRACT = 1

/**
 * The newest contract that this release speaks. Each side tells it in `speaks` (in the hello and the welcome). Words that
 * come after `CONTRACT` are sent only to a side that speaks them. So different releases work together.
 */
export const NEWEST_CONTRACT = 1

/** Path of the runners' socket below the control plane's base URL. */
export const SOCKET_PATH = '/api/v2/rte/socket'

/** Path of the socket of an agent that the control plane dials (`RTE_MODE=inbound`). */
export const INBOUND_SOCKET_PATH = '/rte/v1/socket'

/** What the sub-protocol names of all contracts start with. */
export const SUBPROTOCOL_PREFIX = 'holdfast-runner.v'

/** WebSocket sub-protocol name, negotiated in the upgrade. */
export const SUBPROTOCOL = `${SUBPROTOCOL_PREFIX}${CONTRACT}`

/** Most payload bytes of one binary frame. */
export const MAX_PAYLOAD_BYTES = 256 * 1024

/** Most bytes of one control message (JSON text). An offer carries extra variables up to MAX_INLINE_BYTES of them. */
export const MAX_CONTROL_BYTES = 1024 * 1024

/** Most bytes that the WebSocket library accepts as one message, on either side. Nothing larger is sent, also when sealed. */
export const MAX_SOCKET_MESSAGE_BYTES = MAX_CONTROL_BYTES + 1024

/** Extra variables up to this many bytes of JSON travel inside the offer, larger ones as a blob. */
export const MAX_INLINE_BYTES = 256 * 1024

/** Most bytes of one event line, its newline included. */
export const MAX_EVENT_LINE_BYTES = 256 * 1024

/** Heartbeat in both directions, in milliseconds; two missed ones mean the connection is dead. */
export const HEARTBEAT_MS = 20_000

/** Most unacknowledged bytes of one job. */
export const WINDOW_PER_JOB_BYTES = 2 * 1024 * 1024
/** Most unacknowledged bytes of all jobs of one socket. */
export const WINDOW_PER_SOCKET_BYTES = 8 * 1024 * 1024
