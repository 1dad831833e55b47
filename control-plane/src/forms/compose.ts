import type { Ground } from '../ground/ground.js'
import type { LiveEvents } from '../live/live-events.js'
import type { Sources } from '../sources/sources.js'
import type { Store } from '../store/store.js'
import { createDesignerLock, createLockExpiry } from './designer-lock.js'
import { type FormsDependencies, createForms } from './files/loader.js'
import { createOwnFunctions } from './files/own-functions.js'
import { createAskingChecks } from './sandbox/asking-checks.js'
import { createLaunchChecks } from './sandbox/launch-checks.js'

/** What forms need of the settings. */
export interface FormSettings {
  readonly formsPath: string
  readonly varsFilesPath: string
  /** The file with the functions of the installation. */
  readonly formFunctionsPath: string
  /** The locale for scripts that name none; null: the locale of the machine. */
  readonly formsLocale: string | null
}

/** What forms need of other rooms. */
export interface FormNeeds {
  readonly store: Store
  readonly live: LiveEvents
  /** The constants of config.yaml. */
  readonly constants: FormsDependencies['constants']
  readonly sources: Sources
}

/** The parts of this room, ready to use. */
export type FormParts = ReturnType<typeof composeForms>

/** Builds the forms, the threads that check launches, and the lock of the designer. */
export function composeForms(ground: Ground, settings: FormSettings, { store, live, constants, sources }: FormNeeds) {
  const { clock, timers, log, onClose } = ground
  const { formsPath: folder, varsFilesPath: varsFolder } = settings
  const checks = createLaunchChecks({ log, timers, locale: settings.formsLocale })
  onClose(() => checks.close())
  const ownFunctions = createOwnFunctions(settings.formFunctionsPath, clock, checks)
  const lockExpiry = createLockExpiry({ store, live, clock, timers, log })
  onClose(() => lockExpiry.close())
  return {
    forms: createForms({ folder, varsFolder, constants, ownFunctions, clock, log }),
    checks: createAskingChecks(checks, sources, timers),
    designerLock: createDesignerLock({ store, live, clock }),
  }
}
