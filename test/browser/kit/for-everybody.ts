import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { accessFaults } from './axe.js'

/** The colours in which every page is tested. */
export const COLOR_SCHEMES = ['light', 'dark'] as const

/**
 * Expects that people with disabilities can use a page in these colours, and that nothing of it is wider than a small
 * screen. The page then has its usual size and colours again.
 * @param open opens the page and waits until it shows all
 */
export async function expectForEverybody(
  page: Page,
  colorScheme: (typeof COLOR_SCHEMES)[number],
  open: () => Promise<unknown>,
): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await open()
  expect(await accessFaults(page)).toEqual([])
  await page.setViewportSize({ width: 320, height: 640 })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  expect(await accessFaults(page)).toEqual([])
  await page.setViewportSize({ width: 1180, height: 720 })
  await page.emulateMedia({ colorScheme: 'light' })
}
