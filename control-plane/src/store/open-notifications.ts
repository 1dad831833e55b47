import type { DatabasePlace } from './open-store.js'
import type {
  NotificationDependencies,
  NotificationListener,
  Notifications,
} from './postgres/postgres-notifications.js'

/**
 * Opens the notifications between the control planes that share a database; null if there is only one. The driver is
 * loaded at its first use.
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
