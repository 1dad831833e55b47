import { computed } from '@preact/signals'
import { keptChoice } from './kept.js'

const chosen = keptChoice('holdfast.letter-keys')

/** Whether keys of one letter do something in the output. People who control their computer by speech turn them off. */
export const hasLetterKeys = computed(() => chosen.value !== 'off')

/** Turns the keys of one letter on or off, in every tab of this browser. */
export function setLetterKeys(isOn: boolean): void {
  chosen.value = isOn ? '' : 'off'
}
