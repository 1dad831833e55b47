import type { DatabasePlace } from './open-store.js'
import type {
  NotificationDependencies,
  NotificationListener,
  Notifications,
} from './postgres/postgres-notifications.js'

/**
 * How the control planes that share a database tell each other something; null where there is only one. The driver is
 * loaded when it is used.
 */
export async function openNotificationsOf(
  place: DatabasePlace,
  deps: NotificationDependencies,
): Promise<((listener: NotificationListener) => Notifications) | null> {
  if (place.kind === 'sqlite') return null
  const [{ openNotifications }, { postgresConfigOf }] = await Promise.all([
    import('./postgres/postgres-notifications.js'),
    import('./postgres/postgres-url.js'),
  ])
  const config = postgresConfigOf(place.url)
  return (listener) => openNotifications(config, listener, deps)
}
