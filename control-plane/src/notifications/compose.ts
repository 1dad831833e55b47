import type { Ages } from '../ages/age-limits.js'
import type { SecretBox } from '../credentials/encryption/secret-box.js'
import type { Ground } from '../ground/ground.js'
import type { Nodes } from '../nodes/nodes.js'
import type { AddressRules } from '../sources/address-rules.js'
import type { Store } from '../store/store.js'
import { startSweeps } from '../time/sweeps.js'
import { createDeliveries } from './deliveries.js'
import type { MailSettings } from './mail-settings.js'
import { createMails } from './mail.js'
import { type OutboxDependencies, createOutbox } from './outbox.js'
import { createRunnerWatch } from './runner-watch.js'
import { createTargetRequests } from './target-requests.js'
import { createTargets } from './targets.js'
import { createTelling } from './telling.js'
import { createWords } from './words.js'

/** How often a node looks for events to tell and deliveries to send, in milliseconds. */
const LOOK_MS = 1000
const HOUR_MS = 3_600_000

/** What notifications need of the settings. */
export interface NotificationSettings {
  readonly publicUrl: string | null
  readonly webhookAddresses: AddressRules
  readonly mail: MailSettings | null
  /** How long a runner may be away before it counts as lost, in milliseconds. */
  readonly notificationRunnerLostMs: number
  /** How long deliveries are kept, in milliseconds; null: for ever. */
  readonly notificationRetentionMs: number | null
}

/** What notifications need of other rooms. */
export interface NotificationNeeds {
  readonly store: Store
  readonly ages: Ages
  readonly nodes: Pick<Nodes, 'isAlive'>
  readonly box: Pick<SecretBox, 'seal' | 'open'>
  readonly meter: OutboxDependencies['meter']
}

/** The parts of this room, ready to use. */
export type NotificationParts = ReturnType<typeof composeNotifications>

/** Builds the notifications, and sends them from now on. */
export function composeNotifications(ground: Ground, settings: NotificationSettings, needs: NotificationNeeds) {
  const { clock, steady, timers, random, log, onClose } = ground
  const { store, ages, nodes, box, meter } = needs
  const { webhookAddresses: addresses, mail } = settings
  const newUid = () => random(16).toString('hex')
  const outbox = createOutbox({
    store,
    clock,
    timers,
    random,
    log,
    meter,
    webhook: createTargetRequests({ store, box, addresses }),
    mail: createMails(mail),
  })
  const telling = createTelling({ store, clock, words: createWords(settings.publicUrl), newUid })
  const watch = createRunnerWatch({ store, clock, steady, nodes, lostMs: settings.notificationRunnerLostMs })
  const targets = createTargets({ store, clock, random, box, addresses })
  const deliveries = createDeliveries({ store, clock, ages, outbox, newUid, keepMs: settings.notificationRetentionMs })
  const look = async (): Promise<void> => {
    await watch.look()
    await telling.look()
    await outbox.look()
  }
  const sending = startSweeps(
    { timers, log },
    { everyMs: LOOK_MS, failure: 'the notifications could not be looked at', sweep: look },
  )
  const cleaning = startSweeps(
    { timers, log },
    { everyMs: HOUR_MS, failure: 'old notifications could not be removed', sweep: () => deliveries.sweep() },
  )
  onClose(async () => {
    await sending.close()
    await cleaning.close()
    await outbox.close()
  })
  return { targets, deliveries, outbox, look, canMail: mail !== null }
}
