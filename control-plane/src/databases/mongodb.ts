import type { MongoClientOptions } from 'mongodb'
import type { AskLimits, Engine, Target } from './engine.js'
import { fillSearch } from './mongodb-search.js'

/** What the driver is told of a server, beside its address. Exported for its test. */
export function mongodbConfiguration(target: Target, limits: AskLimits): MongoClientOptions {
  const { database, user, password, tls } = target
  return {
    ...(user === null ? {} : { auth: { username: user, password }, authSource: database ?? 'admin' }),
    appName: 'holdfast',
    tls: tls !== null,
    ...(tls?.ca ? { ca: tls.ca } : {}),
    connectTimeoutMS: limits.connectMs,
    serverSelectionTimeoutMS: limits.connectMs,
    socketTimeoutMS: limits.statementMs + limits.connectMs,
    waitQueueTimeoutMS: limits.statementMs,
    maxPoolSize: limits.connections,
    maxIdleTimeMS: limits.idleMs,
    retryWrites: false,
    // The server that was named is the one that is asked: it does not send the driver to others.
    directConnection: true,
    readPreference: 'secondaryPreferred',
  }
}

/** Connections to a MongoDB server. The driver is loaded here, when the first form asks. It is only asked to find. */
export async function openMongodb(target: Target, limits: AskLimits): Promise<Engine> {
  const { MongoClient } = await import('mongodb')
  const { host, port } = target
  const place = `${host.includes(':') ? `[${host}]` : host}:${port ?? 27_017}`
  const client = new MongoClient(`mongodb://${place}/`, mongodbConfiguration(target, limits))
  return {
    async ask({ text, value, signal }, rows) {
      const { database, collection, filter } = fillSearch(text, value)
      signal.throwIfAborted()
      const found = client
        .db(database)
        .collection(collection)
        .find(filter, {
          maxTimeMS: Math.ceil(limits.statementMs),
          limit: limits.rows + 1,
          batchSize: 500,
          signal,
        })
      try {
        for await (const document of found) if (!rows.take(plainDocument(document))) break
      } finally {
        await found.close()
      }
    },
    close: () => client.close(true),
  }
}

function plainDocument(document: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(document).map(([name, value]) => [name, plainValue(value)]))
}

/** The kinds of values that only this database has become texts. */
function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return value.toISOString()
  if (!('_bsontype' in value)) return plainDocument(value)
  if (value._bsontype === 'Binary' && 'buffer' in value && value.buffer instanceof Uint8Array) {
    return Buffer.from(value.buffer).toString('base64')
  }
  return String(value)
}
