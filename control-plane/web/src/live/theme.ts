import { computed, effect } from '@preact/signals'
import { keptChoice } from './kept.js'

/** The colours that somebody chose for this browser. */
export type Theme = 'system' | 'light' | 'dark'

const chosen = keptChoice('holdfast-theme')

/** The colours of now. */
export const theme = computed<Theme>(() =>
  chosen.value === 'light' || chosen.value === 'dark' ? chosen.value : 'system',
)

/** Shows the page in the chosen colours, also when they change. */
export function startTheme(): void {
  effect(() => {
    const { dataset } = document.documentElement
    if (theme.value === 'system') delete dataset.theme
    else dataset.theme = theme.value
  })
}

/** Changes the colours of every page of this browser. */
export function setTheme(next: Theme): void {
  chosen.value = next === 'system' ? '' : next
}
