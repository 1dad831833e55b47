import { resource } from '../resource.js'
import { deliveryCommands, testMailCommand } from './deliveries.js'
import { targetCommands } from './targets.js'

/** `holdfast notification …` */
export const notificationCommands = resource('notifications', {
  ...deliveryCommands,
  ...targetCommands,
  'test-mail': testMailCommand,
})
